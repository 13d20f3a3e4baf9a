use hyper::HeaderMap;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::scenario::{Call, Scenario, Visit};

/// An entry, with what is said of its request and its answer.
fn entry(second: usize, request: Value, response: Value) -> Value {
    let started = format!("2026-01-15T11:00:{second:02}Z");
    json!({ "startedDateTime": started, "time": 5, "request": request, "response": response })
}

fn get(url: &str) -> Value {
    json!({ "method": "GET", "url": url, "headers": [] })
}

fn post(kind: &str, text: &str) -> Value {
    post_data(json!({ "mimeType": kind, "text": text }))
}

fn post_data(data: Value) -> Value {
    json!({ "method": "POST", "url": "https://shop.test/x", "postData": data })
}

fn page() -> Value {
    json!({ "status": 200, "content": { "mimeType": "text/html" } })
}

fn recording(entries: &[Value]) -> String {
    json!({ "log": { "entries": entries } }).to_string()
}

fn of_requests(requests: impl IntoIterator<Item = Value>) -> Made {
    let entries = requests.into_iter().enumerate();
    let entries: Vec<_> = entries.map(|(second, it)| entry(second, it, page())).collect();
    scenario(&recording(&entries)).expect("it can be had")
}

/// What a visit of it sends.
fn sent(made: &Made) -> Vec<Call> {
    let scenario = Scenario::parse(&made.to_string(), "shop.toml").expect("it is a scenario");
    let mut visit = Visit::new(&scenario.into(), 1);
    let mut calls = Vec::new();
    while let Some(turn) = visit.turn().expect("its values are known") {
        calls.extend(turn.call);
        visit.answered(hyper::StatusCode::OK, &HeaderMap::new(), b"").expect("it is expected");
    }
    calls
}

const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json; charset=utf-8";

#[test]
fn secrets_are_taken_out_wherever_they_stand() {
    let base64 = json!({ "mimeType": FORM, "encoding": "base64", "text": "cGFzcz1h" });
    let params = json!([{ "name": "otp", "value": "hidden1" }, { "name": "seat", "value": "A1" }]);
    let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJoaWRkZW4iOjF9.hidden1";
    for (request, kept, place) in [
        (get("https://shop.test/?pass=hidden1&page=2"), "page=2", "query pass"),
        (get("https://shop.test/?code=hidden1&state=free"), "state=free", "query code"),
        (get("https://shop.test/?sig=hidden1&seat=A12"), "seat=A12", "query sig"),
        (get("https://shop.test/?SAMLResponse=hidden1"), "path = \"/?SAML", "query SAMLResponse"),
        (get("https://hidden1@shop.test/a?key=hidden1"), "/a?key=", "query key"),
        (get("https://shop.test/a?r=%2Freset%3Ftoken%3Dhidden1"), "r=%2Freset", "query r token"),
        (
            get("https://shop.test/a?r=https%253A%252F%252Fb%252F%253Fsid%253Dhidden1"),
            "r=h",
            "query r sid",
        ),
        (get("https://shop.test/a?j=%7B%22pin%22%3A%22hidden1%22%7D"), "j=%7B", "query j /pin"),
        (get(&format!("https://shop.test/in/{jwt}/a")), "/in/{removed_path}/a", "path"),
        (get("https://shop.test/reset/hidden1"), "GET /reset/{", "path after reset"),
        (get("https://shop.test/m;jsessionid=hidden1?a=b"), "/m;jsessionid={", "path jsessionid"),
        (get("https://shop.test/?x=aGlkZGVu1hiddenZ9f86d081884c7d6"), "/?x={removed_x}", "query x"),
        (post(FORM, "user=a&otp=hidden1"), "user=a&otp={", "body otp"),
        (post(FORM, "data=%5B%7B%22cvc%22%3A%22hidden1%22%7D%5D"), "data=%5B", "body data /0/cvc"),
        (post(JSON, r#"{"id":7,"pass":"hidden1"}"#), r#""id":7"#, "body /pass"),
        (
            post(JSON, r#"{"a":[{"name":"password","value":"hidden1"}]}"#),
            "password",
            "body /a/0/value",
        ),
        (post(JSON, r#"["pin","hidden1"]"#), r#"["pin","{"#, "body /1"),
        (post(JSON, r#"{"card":{"year":2031,"number":"hidden1"}}"#), "year", "body /card/number"),
        (post(JSON, r#"{"p":"{\"password\":\"hidden1\"}"}"#), "password", "body /p /password"),
        (
            post(JSON, r#"{"query":"mutation{login(user:\"a\",password:\"hidden1\"){id}}"}"#),
            "{{id}}",
            "body /query password",
        ),
        (post(JSON, r#"{"u":"https://ada:hidden1@a.test/"}"#), "https://ada:{", "body /u"),
        (post(JSON, r#"{"t":"Cookie: a=b; sid=hidden1"}"#), "a=b; sid={", "body /t sid"),
        (post(JSON, r#"{"t":"as Bearer hidden12"}"#), "as Bearer {", "body /t"),
        (post(JSON, &format!(r#"{{"t":"{{{{{jwt}}}}}"}}"#)), r#""t":"{removed_t}""#, "body /t"),
        (post("text/plain", &format!("\"{jwt}\"")), "body = '\"{removed_body}\"'", "body"),
        (post("application/graphql", r#"{a(otp:"hidden1")}"#), r#"{a(otp:"{"#, "body otp"),
        (
            post("multipart/form-data; boundary=b", "--b\r\n\r\nhidden1"),
            "body = \"{removed_body}\"",
            "the whole body",
        ),
        (post_data(base64.clone()), "{removed_body}", "the whole body"),
        (post_data(json!({ "mimeType": FORM, "params": params })), "&seat=A1", "body otp"),
        (
            json!({ "method": "GET", "url": "https://shop.test/", "headers": [
            { "name": ":authority", "value": "hidden1" }, { "name": "Cookie", "value": "hidden1" },
            { "name": "X-Api-Key", "value": "hidden1" }, { "name": "Accept", "value": "a/b" },
            { "name": "If-Match", "value": "\"9f86d081884c7d659a2feaa0c55ad015hidden1\"" },
            { "name": "ACCEPT", "value": "c/d" }] }),
            "headers.accept = \"a/b\"",
            "header if-match",
        ),
    ] {
        let made = of_requests([request.clone()]);
        let text = made.to_string();
        assert!(!text.contains("hidden1") && !text.contains("cGFzcz1h"), "{request}:\n{text}");
        assert!(text.contains(kept), "{kept:?} is not in\n{text}");
        let note = made.notes.iter().find(|note| note.contains("  step 1: "));
        assert!(note.is_some_and(|note| note.contains(place)), "{place:?} is not in\n{text}");
        let error = Scenario::parse(&text, "shop.toml").expect_err("it asks for a value").0;
        assert!(error.contains("{removed_"), "{error}");
    }
}

#[test]
fn what_a_shop_needs_stays() {
    let id = "550e8400-e29b-41d4-a716-446655440000";
    let path =
        format!("/api/shows/{id}/sessions/42/seats/A12?page=3&session=17&state=free&postcode=1");
    let query =
        "query($password: String!){ login(token: $t2, password: $password){ token: accessToken } }";
    let body = json!({ "query": query, "seats": [id, 4], "remember_password": true, "pin": null });
    let body = body.to_string();
    let made = of_requests([get(&format!("https://shop.test{path}")), post(JSON, &body)]);
    assert!(made.notes.iter().any(|note| note.starts_with("Nothing")), "{made}");
    let calls = sent(&made);
    assert_eq!((&calls[0].target, &calls[1].body), (&path, &body));
}

#[test]
fn one_secret_is_one_value() {
    let login = |password: &str| post(FORM, &format!("password={password}"));
    let made = of_requests(["a1", "b2", "a1"].map(login)).to_string();
    let values: Vec<_> = made.lines().filter(|line| line.starts_with("body")).collect();
    let body = |name: &str| format!("body = \"password={{{name}}}\"");
    let one = body("removed_password");
    assert_eq!(values, [one.as_str(), &body("removed_password_2"), &one]);
}

proptest! {
    #[test]
    fn what_holds_no_secret_is_sent_as_it_was(text in "[{}a-z_\u{1b}\n\"\\\\ \u{9b}]{0,30}") {
        let text = text.replace("{ra", "{user}").replace("}x", "{{random}}");
        let body = json!({ "t": text, "u": "{{user}} {user} {{{random}}}" }).to_string();
        let accept = "{user};{{user}}";
        let mut request = post(JSON, &body);
        request["headers"] = json!([{ "name": "accept", "value": accept }]);
        let call = sent(&of_requests([request])).remove(0);
        prop_assert_eq!(call.body, body);
        prop_assert_eq!(&call.headers["accept"], accept);
    }

    /// Whatever it holds, it becomes a scenario but for the values that it asks for.
    #[test]
    fn any_recording_can_be_read(
        path in "[a-z/;=%{}A-F0-9.?&+#-]{0,40}",
        body in "[a-z{}\\[\\]\"':=,;&%$ 0-9/?\\\\]{0,60}",
        form in any::<bool>(),
    ) {
        let mut request = post(if form { FORM } else { "application/graphql" }, &body);
        request["url"] = format!("https://shop.test/{path}").into();
        let made = of_requests([request]).to_string();
        if let Err(error) = Scenario::parse(&made, "shop.toml") {
            prop_assert!(error.0.contains("{removed_"), "{}", error.0);
        }
    }
}

#[test]
fn the_origin_is_that_of_the_pages() {
    let of = |status: u16, kind: &str| json!({ "status": status, "content": { "mimeType": kind } });
    let html = || of(200, "text/html");
    let options = json!({ "method": "OPTIONS", "url": "https://shop.test/buy" });
    let frame = json!({ "method": "GET", "url": "https://ads.test/2",
        "headers": [{ "name": "Sec-Fetch-Dest", "value": "iframe" }] });
    let mut entries = vec![
        entry(0, get("chrome-extension://abc/x"), of(200, "application/json")),
        entry(1, get("http://shop.test/"), of(307, "text/html")),
        entry(2, get("https://shop.test/"), html()),
        entry(3, get("https://ads.test/1"), html()),
        entry(4, frame, html()),
        entry(5, get("https://ads.test/3"), html()),
        entry(6, get("https://login.test/"), html()),
        entry(7, get("https://shop.test/back"), html()),
        entry(8, options, of(204, "")),
        entry(9, get("https://shop.test/buy"), of(304, "application/json")),
        entry(10, get("wss://shop.test/live"), of(101, "")),
        entry(11, get("https://shop.test/live"), of(101, "")),
        entry(12, get("https://shop.test/a.png"), of(200, "")),
        entry(13, get("https://shop.test/lost"), json!({ "status": -1 })),
        entry(14, get("no address"), html()),
    ];
    let mut lost = entry(15, get("https://shop.test/lost"), Value::Null);
    lost.as_object_mut().expect("it is an object").remove("response");
    entries.push(lost);
    entries.push(entry(16, get("https://shop.test/lost"), Value::Null));
    // Frames of a page belong to it.
    for (index, page) in [(2, "1"), (3, "1"), (5, "1"), (6, "2"), (7, "3")] {
        entries[index]["pageref"] = page.into();
    }
    for index in [3, 4, 3, 4] {
        entries.push(entries[index].clone());
    }
    // Windows' byte order mark.
    let made = scenario(&format!("\u{feff}{}", recording(&entries))).expect("it can be had");
    let targets: Vec<_> = sent(&made).into_iter().map(|call| call.target).collect();
    assert_eq!(targets, ["/", "/back", "/buy"]);
    assert_eq!(
        made.notes[..2],
        [
            "From a recording of https://shop.test; requests that are steps: 3.",
            "Left out: 1 for static files, 1 by other methods, 4 not over HTTP, 3 without an \
             answer, 7 of https://ads.test, 1 of http://shop.test, 1 of https://login.test.",
        ]
    );
}

#[test]
fn a_redirect_is_not_what_a_recording_is_of() {
    let redirect = json!({ "status": 307, "content": { "mimeType": "text/html" } });
    let first = entry(0, get("http://shop.test/"), redirect);
    for kind in ["text/html", "application/json"] {
        let then = json!({ "status": 200, "content": { "mimeType": kind } });
        let then = entry(1, get("https://shop.test/a"), then);
        let made = scenario(&recording(&[first.clone(), then])).expect("it can be had");
        assert_eq!(sent(&made)[0].target, "/a");
        assert_eq!(made.notes[1], "Left out: 1 of http://shop.test.");
    }
}

#[test]
fn notes_are_bounded_and_hold_no_control_characters() {
    let others = (0..20).map(|host| get(&format!("https://h{host}.test/")));
    let own = (0..2).map(|_| post(JSON, r#"{"\u001b\n token":"hidden"}"#));
    let made = of_requests(own.chain(others));
    assert!(made.notes[1].ends_with("1 of https://h15.test, 12 of 12 other origins."), "{made}");
    assert!(made.notes.iter().all(|note| !note.contains(char::is_control)), "{made}");
    assert!(made.to_string().contains(r"#   step 1: body /\u{1b}\n token"), "{made}");
}
