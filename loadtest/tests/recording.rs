//! Scenarios from a browser's recording, by the command on the real binary.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

use std::process::{Command, Output};
use std::sync::Arc;

use anteroom_loadtest::scenario::{Scenario, Visit};
use hyper::{HeaderMap, StatusCode};
use serde_json::{Value, json};

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_anteroom-loadtest")).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text, "shop.toml").map_err(|error| error.0)
}

/// What the command makes of a recording, and what it shows on the terminal.
fn from_har(recording: &Value) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.har");
    std::fs::write(&file, recording.to_string()).unwrap();
    let output = run(&["scenario", "from-har", file.to_str().unwrap()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
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

/// The paths and captures of a scenario whose first answer is this page.
fn of_page(page: &str, target: &str) -> String {
    let steps = [(get("/"), answer(200, page)), (get(target), answer(200, ""))];
    from_har(&recording(&steps)).0
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
    let (written, told) = from_har(&log);
    let note = "  step 6: {fill_in_idempotencykey}: body /idempotencyKey";
    assert!(told.lines().any(|line| line == note), "{told}");
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
        assert!(told.contains(note) && written.contains(note), "{note}: {told}");
    }
}

#[test]
fn a_step_expects_what_a_working_visitor_gets() {
    let statuses = [(200, None), (204, None), (304, None), (302, Some(())), (409, Some(()))];
    for (status, other) in statuses.into_iter().chain([(401, Some(())), (503, Some(()))]) {
        let steps = [(get("/"), answer(200, "")), (request("POST", "/a"), answer(status, ""))];
        let (written, told) = from_har(&recording(&steps));
        let expected = other.map(|()| "expect = [\"2xx\", \"3xx\"]");
        assert_eq!(lines(&written, "expect"), Vec::from_iter(expected), "{status}");
        let note = format!("Failed in the recording, expected to work: step 2 with {status}.\n");
        assert_eq!(told.contains(&note), status >= 400, "{told}");
    }
    // What is not there is asked for by mistake. Its path may have a secret.
    let lost = get("/.well-known/q83vEjRWeJA7s9Kd2LxQ0w.json");
    let steps = [(get("/"), answer(200, "")), (lost, answer(404, ""))];
    let (written, told) = from_har(&recording(&steps));
    assert_eq!(lines(&written, "path"), ["path = \"/\""]);
    assert!(
        told.contains("Left out: GET /.well-known/{fill_in_well_known} with 404 (1)."),
        "{told}"
    );
    assert!(!written.contains("fill_in_") || !lines(&written, "path")[0].contains("fill_in_"));
}

#[test]
fn ids_of_a_recording_become_captures_or_are_asked_for() {
    const SHOW: &str = "/api/shows/550e8400-e29b-41d4-a716-446655440000";
    let show =
        r#"{"venue":{"id":"507f1f77bcf86cd799439011"},"price":9,"seats":[{"id":"x"},{"id":7}]}"#;
    let mut created = redirect(201, "/api/holds/10482");
    created["headers"] = json!([{ "name": "location", "value": "/api/holds/10482" },
        { "name": "ETag", "value": "\"9f86d081\"" }]);
    created["redirectURL"] = "".into();
    let page = r#"<a href="/help">?</a><a href='https://shop.example/pay/V1StGXR8-x'>pay</a>"#;
    let mut confirm = post("/api/holds/10482/confirm", "application/json", r#"{"holdId":10482}"#);
    confirm["headers"] = json!([{ "name": "If-Match", "value": "\"9f86d081\"" }]);
    let (written, told) = from_har(&recording(&[
        (get(SHOW), answer(200, show)),
        (get("/api/venues/507f1f77bcf86cd799439011?page=9"), answer(200, "{}")),
        (request("POST", "/api/seats/7/hold"), created),
        (confirm, answer(200, page)),
        (get("/pay/V1StGXR8-x"), answer(200, "")),
        // What an error shows is no answer that a visitor gets.
        (request("POST", "/api/a"), answer(409, r#"{"id":"c0ffee0123"}"#)),
        (get("/api/tries/c0ffee0123/12"), answer(200, "")),
    ]));
    assert_eq!(
        lines(&written, "path"),
        [
            "path = \"/api/shows/{fill_in_show}\"",
            "path = \"/api/venues/{venue}?page=9\"",
            "path = \"/api/seats/{seat}/hold\"",
            "path = \"/api/holds/{hold}/confirm\"",
            "path = \"/pay/{pay}\"",
            "path = \"/api/a\"",
            "path = \"/api/tries/{fill_in_trie}/12\"",
        ]
    );
    let to_end = r#"([^"'<>&;,/?#\s]+)''' }"#;
    assert_eq!(
        lines(&written, "capture"),
        [
            r#"capture.venue = { json = "/venue/id" }"#,
            r#"capture.seat = { json = "/seats/1/id" }"#,
            &format!(r#"capture.hold = {{ header = "location", regex = '''/api/holds/{to_end}"#),
            r#"capture.etag = { header = "etag", regex = '''^([^'<>&;,/?#\s]+)''' }"#,
            &format!("capture.pay = {{ regex = '''/pay/{to_end}"),
        ]
    );
    assert_eq!(lines(&written, "headers.if-match"), ["headers.if-match = \"{etag}\""]);
    assert_eq!(lines(&written, "body"), ["body = '{\"holdId\":{hold}}'"]);
    for (step, name, place) in [(1, "show", "shows"), (7, "trie", "tries")] {
        let note = format!("  step {step}: {{fill_in_{name}}}: path after {place}\n");
        assert!(told.contains(&note) && written.contains(&format!("# {note}")), "{told}");
    }
}

#[test]
fn a_short_number_is_captured_from_a_link_alone() {
    let style = "<style>b { margin: 1 1 1 1 1 1 2 2 2 2 2 2; }</style>";
    let button = r#"<button formaction="/shows/1/seats/2/hold">2</button>"#;
    let page = format!(r#"{style}<a class="b" href="/shows/1/seats">100 of 100</a>{button}"#);
    let path = |target| lines(&of_page(&page, target), "path")[1].to_owned();
    assert_eq!(path("/shows/1/seats/2/hold"), "path = \"/shows/{show}/seats/{seat}/hold\"");
    assert_eq!(path("/rows/2/cells/1"), "path = \"/rows/2/cells/1\"");
    // A slash may be escaped in JSON.
    let token = r#"{"next/page":{"csrf":"Nz1f\/Q4D0t"}}"#;
    let target = "/?csrf=Nz1f%2FQ4D0t";
    let captured = [r#"capture.csrf = { json = "/next~1page/csrf" }"#];
    assert_eq!(lines(&of_page(token, target), "capture"), captured);
    // Of JSON only an id of the same thing counts.
    let json = r#"{"count":2,"shows":[{"id":1}],"rows":{"id":2}}"#;
    assert_eq!(lines(&of_page(json, "/shows/1/2"), "path")[1], "path = \"/shows/{show}/2\"");
    assert_eq!(lines(&of_page(json, "/seats/2"), "path")[1], "path = \"/seats/2\"");
}

#[test]
fn a_capture_shows_no_secret_of_the_answer() {
    const ID: &str = "550e8400-e29b-41d4-a716-446655440000";
    for body in [
        format!(r#"{{"id":"a"}},{{"password":"so hidden","id":"{ID}"}}"#),
        format!("id=a token=abc,hidden1 id={ID}"),
        format!("<a href='/a'></a><a title='Bearer hidden12' href='/a/{ID}'>"),
        format!(r#"{{"hidden-9f86d081884c7d659a2feaa0c55ad015":{{"id":"{ID}"}}}}"#),
    ] {
        let written = of_page(&body, &format!("/a/{ID}"));
        assert!(!written.contains("hidden"), "{written}");
        assert!(!written.contains(ID), "{written}");
    }
    // Nor another id, which is a new one in each visit.
    let written = of_page("<a href='/orders/10482/lines/9f86d081'>", "/lines/9f86d081");
    assert!(written.contains("/lines/{fill_in_line}") && !written.contains("10482"), "{written}");
}

#[test]
fn the_target_of_a_redirect_is_captured() {
    let target = "/done?order=1#end";
    for location in [target, "https://shop.example/done?order=1", "//shop.example/done?order=1"] {
        let (written, told) = from_har(&recording(&[
            (request("POST", "/buy"), redirect(303, location)),
            (get("/done?order=1"), answer(200, "")),
            (get("/done?order=1"), answer(200, "")),
        ]));
        assert!(told.contains("Captured: {location} from step 1."), "{told}");
        let mut visit = Visit::new(&Arc::new(parse(&written).unwrap()), 1);
        let mut targets = Vec::new();
        while let Some(turn) = visit.turn().unwrap() {
            targets.push(turn.call.unwrap().target);
            let own = location.replace("order=1", "order=2").parse().unwrap();
            let headers = HeaderMap::from_iter([(hyper::header::LOCATION, own)]);
            visit.answered(StatusCode::OK, &headers, b"").unwrap();
        }
        // The third is a click, as nothing led there.
        assert_eq!(targets, ["/buy", "/done?order=2", "/done?order=1"], "{location}");
    }
    // A path that does not begin with `/` and one of another origin cannot be captured.
    for location in ["done", "https://pay.example/done"] {
        let (written, _) = from_har(&recording(&[
            (request("POST", "/buy"), redirect(303, location)),
            (get("/done"), answer(200, "")),
        ]));
        assert_eq!(lines(&written, "path")[1], "path = \"/done\"");
    }
}

#[test]
fn a_body_has_the_type_that_the_recording_gives_it() {
    const FORM: &str = "application/x-www-form-urlencoded";
    let mut said_twice = post("/c", "text/plain", "a=1");
    said_twice["headers"] = json!([{ "name": "Content-Type", "value": FORM }]);
    let (written, _) = from_har(&recording(&[
        (post("/a", FORM, "seat=1"), answer(200, "")),
        (post("/b", "", "{}"), answer(200, "")),
        (said_twice, answer(200, "")),
    ]));
    let expected = format!("headers.content-type = \"{FORM}\"");
    assert_eq!(lines(&written, "headers.content-type"), [&expected, &expected]);
    let scenario = parse(&written.replace("{fill_in_body}", "x")).unwrap();
    assert_eq!(scenario.steps[0].ask.as_ref().unwrap().headers.len(), 1);
}

#[test]
fn a_recording_becomes_a_scenario_without_secrets() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recording.har");
    let output = run(&["scenario", "from-har", file]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let (written, told) = (text(&output.stdout), text(&output.stderr));
    // Whatever is secret in the recording is named so.
    assert!(!written.contains("hidden") && !told.contains("hidden"), "{written}{told}");
    for line in [
        "From a recording of https://shop.example, steps: 4.",
        "Headers left out: authorization (3), cookie (3), user-agent (3), x-api-key (1), \
         x-csrf-token (1).",
        "  step 2: {fill_in_access_token}: query access_token",
        "  step 3: {fill_in_password}: body /buyer/password",
        "like personal data: look through the file before you share it.",
    ] {
        assert!(told.lines().any(|it| it == line), "{line:?} is not in\n{told}");
        assert!(written.contains(&format!("# {line}\n")), "{line:?} is not in\n{written}");
    }
    // It is no scenario before values are put in the place of the secrets.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.toml");
    std::fs::write(&file, &written).unwrap();
    let output = run(&["scenario", "check", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(64));
    let told = text(&output.stderr);
    let rule = "{fill_in_access_token} in step \"2 GET /api/seats\" is captured by no earlier \
                step: it was removed from a recording";
    assert!(told.contains(rule), "{told}");
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
    let body = scenario.steps[2].ask.as_ref().unwrap().body.as_ref().unwrap().source();
    assert_eq!(body, r#"{"buyer":{"name":"Kim","password":"mine"},"seat":"A1"}"#);
    let body = scenario.steps[3].ask.as_ref().unwrap().body.as_ref().unwrap().source();
    assert_eq!(body, "seat=A1&csrf_token=mine");
    assert_eq!(scenario.steps[3].expect.to_string(), "2xx, 3xx");
    let headers = &scenario.steps[2].ask.as_ref().unwrap().headers;
    let headers: Vec<_> = headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(headers, ["accept", "content-type"]);
}

#[test]
fn a_recording_of_nothing_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.har");
    let request = r#"{"method":"GET","url":"chrome-extension://abc/token=hidden"}"#;
    let entry = format!(r#"{{"startedDateTime":"2026-01-15T11:00:00Z","request":{request}}}"#);
    std::fs::write(&file, format!(r#"{{"log":{{"entries":[{entry}]}}}}"#)).unwrap();
    let output = run(&["scenario", "from-har", file.to_str().unwrap()]);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(64), ""));
    let told = text(&output.stderr);
    assert!(
        told.ends_with("no request to make a step of; left out: not over HTTP (1)\n"),
        "{told}"
    );
}
