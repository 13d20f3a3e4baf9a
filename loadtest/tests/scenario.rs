//! Scenarios: what is refused, what a visit does, and the commands on the real binary.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

mod common;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anteroom_loadtest::client::Fault;
use anteroom_loadtest::scenario::{Scenario, Visit};
use hyper::{HeaderMap, StatusCode};

use common::{program, stderr, text};

fn parse(text: &str) -> Result<Scenario, String> {
    Scenario::parse(text, "shop.toml").map_err(|error| error.0)
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let step = "[[steps]]\npath = '/a'\n";
    for (rest, line, rule) in [
        ("colour = 1", 3, "unknown field `colour`"),
        ("path = '/b'", 3, "duplicate key"),
        ("method = 'FETCH'", 3, "\"FETCH\" is none of GET, HEAD"),
        ("think = 'long'", 3, "\"long\" is not a time"),
        ("think = '2s..1s'", 3, "ends before it begins"),
        ("expect = [20]", 3, "20 is not a status: use 100 to 599"),
        ("expect = ['6xx']", 3, "\"6xx\" is not a class of statuses"),
        ("expect = []", 3, "an empty list"),
        ("headers = { 'a b' = '1' }", 3, "\"a b\" is no header"),
        ("[steps.headers]\nx = '1'\n'a b' = '1'", 5, "\"a b\" is no header"),
        ("weight = 0", 3, "a weight is above 0, 0 is not"),
        ("capture.x = { json = 'a' }", 3, "a JSON pointer begins with '/'"),
        ("capture.x = {}", 3, "names json"),
        ("capture.x = { json = '/a', header = 'b' }", 3, "names json"),
        ("capture.x = { json = '/a', regex = 'b' }", 3, "names json"),
        ("capture.x = { header = 'a b' }", 3, "no header name"),
        ("capture.x = { regex = '(' }", 3, "unclosed group"),
        ("capture.x = { json = '/a', pick = 'last' }", 3, "unknown variant"),
        ("capture.x = { jsn = '/a' }", 3, "unknown field"),
        ("capture.user = { json = '/a' }", 1, "a capture cannot be named \"user\""),
        ("retry_max = 1", 1, "but not after what: add retry_on"),
        ("retry_on = [409]\nretry_from = 'b'", 4, "retry_from names this step"),
        ("expect = ['2xx']\nretry_on = [409, 202]", 1, "expects 202 and retries after it"),
        ("retry_max = -1", 3, "invalid value"),
        ("[[steps]]\npath = 'a'", 4, "a path begins with '/', \"a\" does not"),
        ("[[steps]]\npath = '/{seat}'", 3, "{seat} in step \"GET /{seat}\" is captured by no"),
        ("[[steps]]\npath = '/a'", 3, "two steps are named \"GET /a\""),
        ("[[steps]]\nname = 'p'\nexpect = [200]", 3, "step \"p\" has no path, so it only thinks"),
        ("[[steps", 3, "unclosed"),
    ] {
        let error = parse(&format!("{step}{rest}")).unwrap_err();
        let place = format!("shop.toml, line {line}: ");
        assert!(error.starts_with(&place) && error.contains(rule), "{rest:?}: {error}");
    }
    for nothing in ["", "[[steps]]\nthink = '1s'"] {
        assert_eq!(parse(nothing).unwrap_err(), "shop.toml, line 1: no step has a path");
    }
}

/// Walks a visit against answers (status and body) by the target of the request.
fn walk(
    scenario: &Arc<Scenario>,
    mut answer: impl FnMut(&str) -> (u16, &'static str),
) -> (Vec<(String, bool)>, Result<(), Fault>) {
    let mut visit = Visit::new(scenario, 3);
    let mut requests = Vec::new();
    let outcome = loop {
        match visit.turn() {
            Ok(None) => break Ok(()),
            Err(failure) => break Err(failure),
            Ok(Some(turn)) => {
                let Some(call) = turn.call else { continue };
                let (status, body) = answer(&call.target);
                requests.push((format!("{} {}", call.method, call.target), turn.again));
                let status = StatusCode::from_u16(status).unwrap();
                if let Err(failure) = visit.answered(status, &HeaderMap::new(), body.as_bytes()) {
                    break Err(failure);
                }
            }
        }
    };
    (requests, outcome)
}

fn shop() -> Arc<Scenario> {
    let text = "
        [[steps]]
        name = 'look'
        path = '/seats'
        capture.seat = { json = '/0' }
        [[steps]]
        name = 'take'
        method = 'POST'
        path = '/seats/{seat}?by={user}'
        expect = [201]
        retry_on = [409]
        retry_from = 'look'
        retry_max = 2";
    Arc::new(parse(text).unwrap())
}

#[test]
fn a_conflict_leads_back_and_what_is_repeated_is_known() {
    let mut takes = 0;
    let (requests, outcome) = walk(&shop(), |target| {
        takes += usize::from(target != "/seats");
        if target == "/seats" { (200, r#"["A \"1\"/ü"]"#) } else { ([409, 201][takes - 1], "") }
    });
    outcome.unwrap();
    let again: Vec<_> = requests.iter().map(|(_, again)| *again).collect();
    assert_eq!(again, [false, false, true, true]);
    assert_eq!(requests[3].0, "POST /seats/A%20%221%22%2F%C3%BC?by=3");
}

#[test]
fn a_visit_ends_where_an_answer_is_none() {
    let take = |status| {
        move |target: &str| if target == "/seats" { (200, r#"["a"]"#) } else { (status, "") }
    };
    let (requests, outcome) = walk(&shop(), take(409));
    assert_eq!((requests.len(), outcome), (6, Err(Fault::Retries)));
    let (requests, outcome) = walk(&shop(), take(500));
    assert_eq!((requests.len(), outcome), (2, Err(Fault::Status)));
    let (requests, outcome) = walk(&shop(), |_| (200, "[]"));
    assert_eq!((requests.len(), outcome), (1, Err(Fault::Value)));
}

#[test]
fn alternatives_are_drawn_by_their_weights() {
    let text = "
        [[steps]]
        path = '/start'
        [[steps]]
        path = '/a'
        weight = 3
        [[steps]]
        name = 'leave it'
        think = '1s'
        weight = 1
        [[steps]]
        path = '/end'
        think = '1s..3s'";
    let scenario = Arc::new(parse(text).unwrap());
    assert!((scenario.calls_per_visitor() - 2.75).abs() < 1e-9);
    assert_eq!(scenario.think_per_visitor(), Duration::from_millis(2_250));
    let mut ways: HashMap<usize, u32> = HashMap::new();
    for _ in 0..4_000 {
        let (requests, outcome) = walk(&scenario, |_| (200, ""));
        outcome.unwrap();
        *ways.entry(requests.len()).or_default() += 1;
    }
    // 3 000 are expected with a standard deviation of 27.
    assert_eq!(ways[&2] + ways[&3], 4_000);
    assert!((2_800..3_200).contains(&ways[&3]), "{ways:?}");
}

#[test]
fn a_body_of_json_is_sent_as_such_and_escapes_its_values() {
    let text = r#"
        headers.x-trace = "{user}"
        [[steps]]
        path = "/a"
        capture.name = { regex = "name=(.*)" }
        [[steps]]
        method = "POST"
        path = "/b"
        body = '{"name":"{name}"}'"#;
    let scenario = Arc::new(parse(text).unwrap());
    let mut visit = Visit::new(&scenario, 9);
    visit.turn().unwrap();
    visit.answered(StatusCode::OK, &HeaderMap::new(), "name=A \"1\"/ü".as_bytes()).unwrap();
    let call = visit.turn().unwrap().unwrap().call.unwrap();
    assert_eq!(call.body, r#"{"name":"A \"1\"/ü"}"#);
    assert_eq!(call.headers["content-type"], "application/json");
    assert_eq!(call.headers["x-trace"], "9");
}

#[test]
fn a_form_escapes_its_values() {
    let text = r#"
        [[steps]]
        path = "/a"
        capture.token = { header = "x-token" }
        [[steps]]
        method = "POST"
        path = "/b"
        headers.content-type = "application/x-www-form-urlencoded; charset=utf-8"
        headers.x-token = "{token}"
        body = 'token={token}&page=1'"#;
    let scenario = Arc::new(parse(text).unwrap());
    let mut visit = Visit::new(&scenario, 9);
    visit.turn().unwrap();
    let headers = HeaderMap::from_iter([("x-token".parse().unwrap(), "a+b/c=&d".parse().unwrap())]);
    visit.answered(StatusCode::OK, &headers, b"").unwrap();
    let call = visit.turn().unwrap().unwrap().call.unwrap();
    assert_eq!(call.body, "token=a%2Bb%2Fc%3D%26d&page=1");
    assert_eq!(call.headers["x-token"], "a+b/c=&d");
}

#[test]
fn a_visit_keeps_its_cookies() {
    let text = "[[steps]]\npath = '/a'\n[[steps]]\npath = '/b'\n[[steps]]\npath = '/c'";
    let scenario = Arc::new(parse(text).unwrap());
    let mut visit = Visit::new(&scenario, 1);
    let mut answer = |cookies: &[&str]| {
        let call = visit.turn().unwrap().unwrap().call.unwrap();
        let mut headers = HeaderMap::new();
        for cookie in cookies {
            headers.append("set-cookie", cookie.parse().unwrap());
        }
        visit.answered(StatusCode::OK, &headers, b"").unwrap();
        call.headers.get("cookie").map(|value| value.to_str().unwrap().to_owned())
    };
    assert_eq!(answer(&["sid=1=2; Path=/; HttpOnly", "b=2"]), None);
    assert_eq!(answer(&["b=; Max-Age=0", "c=3"]).as_deref(), Some("b=2; sid=1=2"));
    assert_eq!(answer(&[]).as_deref(), Some("c=3; sid=1=2"));
}

#[test]
fn check_prints_what_a_visitor_does() {
    let output = program("scenario check").output().unwrap();
    assert!(output.status.success());
    let shown = text(&output.stdout);
    for line in [
        "1. seats",
        "   GET /api/shows/1/seats?state=free",
        "   keeps {seat}",
        "   on 409 retries from \"seats\", at most 5 times",
        "2 requests and 0s of think time, without retries",
    ] {
        assert!(shown.lines().any(|it| it == line), "{line:?} is not in\n{shown}");
    }
}

#[test]
fn check_sends_a_terminal_nothing_but_text() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.toml");
    let evil = r#""/\u001b]0;owned\u0007\n9. no step\u009b31m""#;
    let step = format!("name = {evil}\n[[steps]]\nname = {evil}\npath = {evil}\n");
    std::fs::write(&file, step + &format!("body = {evil}\nheaders.x = {evil}")).unwrap();
    let output = program("scenario check").arg(file).output().unwrap();
    let shown = text(&output.stdout);
    assert!(shown.chars().all(|char| char == '\n' || !char.is_control()), "{shown:?}");
    assert_eq!(shown.matches(r"/\u{1b}]0;owned\u{7}\n9. no step\u{9b}31m").count(), 5, "{shown}");
    assert_eq!(shown.lines().count(), 7, "{shown}");
}

#[test]
fn a_wrong_file_ends_with_64_and_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.toml");
    std::fs::write(&file, "[[steps]]\npath = '/'\nwait = '1s'").unwrap();
    let output = program("scenario check").arg(&file).output().unwrap();
    assert_eq!(output.status.code(), Some(64));
    let text = stderr(&output);
    let rule = format!("{}, line 3: unknown field `wait`", file.display());
    assert!(text.contains(&rule), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    let output = program("scenario check /none.toml").output().unwrap();
    assert_eq!(output.status.code(), Some(64));
    assert!(stderr(&output).contains("/none.toml: "));
}
