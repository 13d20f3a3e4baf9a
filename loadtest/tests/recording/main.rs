//! Scenarios from a browser's recording.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

mod captures;
#[path = "../common/mod.rs"]
mod common;
mod secrets;
mod steps;

use std::sync::Arc;

use anteroom_loadtest::scenario::{Call, Scenario, Visit, har};
use hyper::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use common::{program, stderr, text};

const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json; charset=utf-8";

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text, "shop.toml").map_err(|error| error.0)
}

/// What the command makes of a recording, and what it shows on the terminal.
fn from_har(recording: &Value) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.har");
    std::fs::write(&file, recording.to_string()).unwrap();
    let output = program("scenario from-har").arg(file).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    (text(&output.stdout), stderr(&output))
}

/// A recording of requests and answers, one a second.
fn recording(entries: &[(Value, Value)]) -> Value {
    let entry = |(second, (request, response)): (usize, &(Value, Value))| {
        let started = format!("2026-01-15T11:00:{second:02}.000+01:00");
        json!({ "startedDateTime": started, "time": 5, "request": request, "response": response })
    };
    let entries: Vec<_> = entries.iter().enumerate().map(entry).collect();
    json!({ "log": { "version": "1.2", "entries": entries } })
}

fn request(method: &str, target: &str) -> Value {
    json!({ "method": method, "url": format!("https://shop.example{target}"), "headers": [] })
}

fn get(target: &str) -> Value {
    request("GET", target)
}

fn post(target: &str, kind: &str, body: &str) -> Value {
    let mut request = request("POST", target);
    request["postData"] = json!({ "mimeType": kind, "text": body });
    request
}

/// An answer of JSON, as Chrome, Firefox and Safari write it.
fn answer(status: u16, body: &str) -> Value {
    let content = json!({ "size": body.len(), "mimeType": "application/json", "text": body });
    json!({ "status": status, "headers": [], "content": content, "redirectURL": "" })
}

fn redirect(status: u16, location: &str) -> Value {
    let mut answer = answer(status, "");
    answer["headers"] = json!([{ "name": "Location", "value": location }]);
    answer["redirectURL"] = location.into();
    answer
}

/// The scenario of a recording.
fn made(entries: &[(Value, Value)]) -> String {
    har::scenario(&recording(entries).to_string()).unwrap()
}

/// The scenario of requests that were answered without a body.
fn of_requests(requests: impl IntoIterator<Item = Value>) -> String {
    made(&requests.into_iter().map(|request| (request, answer(200, ""))).collect::<Vec<_>>())
}

/// What a visit sends.
fn sent(scenario: &str) -> Vec<Call> {
    let mut visit = Visit::new(&Arc::new(parse(scenario).unwrap()), 1);
    let mut calls = Vec::new();
    while let Some(turn) = visit.turn().unwrap() {
        calls.extend(turn.call);
        visit.answered(StatusCode::OK, &HeaderMap::new(), b"").unwrap();
    }
    calls
}

/// The lines of a scenario that begin so.
fn lines<'t>(scenario: &'t str, start: &str) -> Vec<&'t str> {
    scenario.lines().filter(|line| line.starts_with(start)).collect()
}

/// A shop whose shows, seats, orders, tickets and tokens are new for each visitor, recorded with
/// Chromium. A visit that gets other ones sends those.
#[test]
fn a_visit_of_a_recording_uses_its_own_ids() {
    let recorded = include_str!("chromium.har");
    let log: Value = serde_json::from_str(recorded).unwrap();
    let (written, notes) = from_har(&log);
    let note = "  step 6: {fill_in_idempotencykey}: body /idempotencyKey";
    assert!(notes.lines().any(|line| line == note), "{notes}");
    assert!(written.contains(&format!("# {note}\n")), "{written}");
    let key = "fb78d49a-d9fa-440e-b6d7-e57b9acc6d4f";
    let filled = written.replace("{fill_in_idempotencykey}", key);
    // Another visitor's; the token has characters that a form escapes.
    let own = |text: &str| {
        let new = [
            ("fa6d4b11-12e6-4e81-b306-62a7a142956e", "11111111-2222-4333-8444-555555555555"),
            ("05965f11-f7f7-4d93-bf8b-c4379554dd64", "66666666-7777-4888-8999-aaaaaaaaaaaa"),
            ("NPz16NC/Q4D0t+paljulrZ/qDa2D71Hd", "Q+/9z=kP3bV8mX+1sL0aT5/yR7wE2nU="),
            (
                "NPz16NC%2FQ4D0t%2BpaljulrZ%2FqDa2D71Hd",
                "Q%2B%2F9z%3DkP3bV8mX%2B1sL0aT5%2FyR7wE2nU%3D",
            ),
            ("10482", "777"),
            ("07a6a2e91802", "c0ffee"),
            ("tk_6a4c8ddc", "tk_b"),
        ];
        new.iter().fold(text.to_owned(), |text, (old, new)| text.replace(old, new))
    };
    let mut visit = Visit::new(&Arc::new(parse(&filled).unwrap()), 1);
    let entries = log["log"]["entries"].as_array().unwrap();
    for entry in entries.iter().filter(|entry| entry["response"]["status"] != 404) {
        let call = visit.turn().unwrap().unwrap().call.unwrap();
        let (request, response) = (&entry["request"], &entry["response"]);
        let url = own(request["url"].as_str().unwrap());
        assert_eq!(format!("http://shop.example{}", call.target), url);
        let body = own(request["postData"]["text"].as_str().unwrap_or_default());
        let json = |text: &str| serde_json::from_str::<Value>(text).ok();
        assert_eq!((json(&call.body), call.body.len()), (json(&body), body.len()), "{}", call.body);
        let mut headers = HeaderMap::new();
        if let Some(location) = response["redirectURL"].as_str().filter(|url| !url.is_empty()) {
            headers.insert("location", own(location).parse().unwrap());
        }
        let body = own(response["content"]["text"].as_str().unwrap_or_default());
        let status = if response["status"] == 303 { 303 } else { 200 };
        let status = StatusCode::from_u16(status).unwrap();
        visit.answered(status, &headers, body.as_bytes()).unwrap();
    }
    assert!(visit.turn().unwrap().is_none());
    for note in [
        "Left out: GET /lost.json with 404 (1).",
        "Failed in the recording, expected to work: step 10 with 409.",
        "{location} from step 4",
        "x-csrf-token (1)",
    ] {
        assert!(notes.contains(note) && written.contains(note), "{note}: {notes}");
    }
}

#[test]
fn a_recording_becomes_a_scenario_without_secrets() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recording/recording.har");
    let output = program("scenario from-har").arg(file).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let (written, notes) = (text(&output.stdout), stderr(&output));
    // Whatever is secret in the recording is named so.
    assert!(!written.contains("hidden") && !notes.contains("hidden"), "{written}{notes}");
    for line in [
        "From a recording of https://shop.example, steps: 4.",
        "Headers left out: authorization (3), cookie (3), user-agent (3), x-api-key (1), \
         x-csrf-token (1).",
        "  step 2: {fill_in_access_token}: query access_token",
        "  step 3: {fill_in_password}: body /buyer/password",
        "like personal data: look through the file before you share it.",
    ] {
        assert!(notes.lines().any(|it| it == line), "{line:?} is not in\n{notes}");
        assert!(written.contains(&format!("# {line}\n")), "{line:?} is not in\n{written}");
    }
    // It is no scenario before values are put in the place of the secrets.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.toml");
    std::fs::write(&file, &written).unwrap();
    let output = program("scenario check").arg(file).output().unwrap();
    assert_eq!(output.status.code(), Some(64));
    let notes = stderr(&output);
    let rule = "{fill_in_access_token} in step \"2 GET /api/seats\" is captured by no earlier \
                step: it was removed from a recording";
    assert!(notes.contains(rule), "{notes}");
    let names = ["access_token", "password", "csrf_token"];
    let filled = names
        .iter()
        .fold(written, |written, name| written.replace(&format!("{{fill_in_{name}}}"), "mine"));
    let scenario = parse(&filled).unwrap();
    let paths: Vec<_> = scenario
        .steps
        .iter()
        .map(|step| (step.ask.as_ref().unwrap().path.source().to_owned(), step.think.to_string()))
        .collect();
    let path = |path: &str, think: &str| (path.to_owned(), think.to_owned());
    assert_eq!(
        paths,
        [
            path("/", "0s"),
            path("/api/seats?show=1&access_token=mine", "0s"),
            path("/api/seats/A1?page={{x}}", "1s 900ms"),
            path("/done", "3s"),
        ]
    );
    let body = scenario.steps[2].ask.as_ref().unwrap().body.source();
    assert_eq!(body, r#"{"buyer":{"name":"Kim","password":"mine"},"seat":"A1"}"#);
    let body = scenario.steps[3].ask.as_ref().unwrap().body.source();
    assert_eq!(body, "seat=A1&csrf_token=mine");
    assert_eq!(scenario.steps[3].expect.to_string(), "2xx, 3xx");
    let headers = &scenario.steps[2].ask.as_ref().unwrap().headers;
    let headers: Vec<_> = headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(headers, ["accept", "content-type"]);
}

#[test]
fn a_recording_of_nothing_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.har");
    let request = r#"{"method":"GET","url":"chrome-extension://abc/token=hidden"}"#;
    let entry = format!(r#"{{"startedDateTime":"2026-01-15T11:00:00Z","request":{request}}}"#);
    std::fs::write(&file, format!(r#"{{"log":{{"entries":[{entry}]}}}}"#)).unwrap();
    let output = program("scenario from-har").arg(file).output().unwrap();
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(64), ""));
    let text = stderr(&output);
    let reason = "no request to make a step of; left out: not over HTTP (1)\n";
    assert!(text.ends_with(reason), "{text}");
}
