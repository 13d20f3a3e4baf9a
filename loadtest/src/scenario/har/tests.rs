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

/// An answer without a body.
fn answer(status: i64, kind: &str) -> Value {
    json!({ "status": status, "content": { "mimeType": kind } })
}

fn made(entries: &[Value]) -> String {
    scenario(&json!({ "log": { "entries": entries } }).to_string()).expect("it can be had")
}

fn of_requests(requests: impl IntoIterator<Item = Value>) -> String {
    let entries = requests.into_iter().enumerate();
    made(&entries.map(|(at, it)| entry(at, it, answer(200, HTML))).collect::<Vec<_>>())
}

/// What a visit of it sends.
fn sent(made: &str) -> Vec<Call> {
    let scenario = Scenario::parse(made, "shop.toml").expect("it is a scenario");
    let mut visit = Visit::new(&scenario.into(), 1);
    let mut calls = Vec::new();
    while let Some(turn) = visit.turn().expect("its values are known") {
        calls.extend(turn.call);
        visit.answered(hyper::StatusCode::OK, &HeaderMap::new(), b"").expect("it is expected");
    }
    calls
}

const FORM: &str = "application/x-www-form-urlencoded";
const HTML: &str = "text/html";
const JSON: &str = "application/json; charset=utf-8";
/// No kind of a body, but the path of a request.
const PATH: &str = "";

#[test]
fn secrets_are_taken_out_wherever_they_stand() {
    let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJoaWRkZW4iOjF9.hidden1";
    let in_path = format!("/in/{jwt}/a");
    let in_braces = format!(r#"{{"t":"{{{{{jwt}}}}}"}}"#);
    let quoted = format!("\"{jwt}\"");
    let graphql = r#"{"query":"mutation{login(user:\"a\",password:\"hidden1\"){id}}"}"#;
    let texts = [
        (PATH, "/?pass=hidden1&page=2", "page=2", "query pass"),
        (PATH, "/?code=hidden1&state=free", "state=free", "query code"),
        (PATH, "/?sig=hidden1&seat=A12", "seat=A12", "query sig"),
        (PATH, "/?SAMLResponse=hidden1", "path = \"/?SAML", "query SAMLResponse"),
        (PATH, "/a?r=%2Freset%3Ftoken%3Dhidden1", "r=%2Freset", "query r token"),
        (PATH, "/a?r=https%253A%252F%252Fb%252F%253Fsid%253Dhidden1", "r=h", "query r sid"),
        (PATH, "/a?j=%7B%22pin%22%3A%22hidden1%22%7D", "j=%7B", "query j /pin"),
        (PATH, &in_path, "/in/{fill_in_in}/a", "path after in"),
        (PATH, "/reset/hidden1", "GET /reset/{", "path after reset"),
        (PATH, "/m;jsessionid=hidden1?a=b", "/m;jsessionid={", "path jsessionid"),
        (PATH, "/?x=aGlkZGVu1hiddenZ9f86d081884c7d6", "/?x={fill_in_x}", "query x"),
        (FORM, "user=a&otp=hidden1", "user=a&otp={", "body otp"),
        (FORM, "data=%5B%7B%22cvc%22%3A%22hidden1%22%7D%5D", "data=%5B", "body data /0/cvc"),
        (JSON, r#"{"id":7,"pass":"hidden1"}"#, r#""id":7"#, "body /pass"),
        (JSON, r#"{"a":[{"name":"pin","value":"hidden1"}]}"#, r#""pin""#, "body /a/0/value"),
        (JSON, r#"["pin","hidden1"]"#, r#"["pin","{"#, "body /1"),
        (JSON, r#"{"card":{"year":true,"number":"hidden1"}}"#, "true", "body /card/number"),
        (JSON, r#"{"p":"{\"password\":\"hidden1\"}"}"#, "password", "body /p /password"),
        (JSON, graphql, "{{id}}", "body /query password"),
        (JSON, r#"{"u":"https://ada:hidden1@a.test/"}"#, "https://ada:{", "body /u"),
        (JSON, r#"{"t":"Cookie: a=b; sid=hidden1"}"#, "a=b; sid={", "body /t sid"),
        (JSON, r#"{"t":"as Bearer hidden12"}"#, "as Bearer {", "body /t"),
        (JSON, &in_braces, r#""t":"{fill_in_t}""#, "body /t"),
        ("text/plain", &quoted, "body = '\"{fill_in_body}\"'", "body"),
        ("application/graphql", r#"{a(otp:"hidden1")}"#, r#"{a(otp:"{"#, "body otp"),
        ("multipart/form-data; boundary=b", "--b\r\n\r\nhidden1", "{fill_in_body}", "whole body"),
    ];
    let texts = texts.map(|(kind, text, kept, place)| match kind {
        PATH => (get(&format!("https://shop.test{text}")), kept, place),
        kind => (post(kind, text), kept, place),
    });
    let base64 = json!({ "mimeType": FORM, "encoding": "base64", "text": "cGFzcz1h" });
    let params = json!([{ "name": "otp", "value": "hidden1" }, { "name": "seat", "value": "A1" }]);
    let headers = json!([{ "name": ":authority", "value": "hidden1" },
        { "name": "Cookie", "value": "hidden1" }, { "name": "Accept", "value": "a/b" },
        { "name": "9f86d081884c7d659a2feaa0c55hidden1", "value": "hidden1" },
        { "name": "If-Match", "value": "\"9f86d081884c7d659a2feaa0c55ad015hidden1\"" },
        { "name": "ACCEPT", "value": "c/d" }]);
    let with_headers = json!({ "method": "GET", "url": "https://shop.test/", "headers": headers });
    let others = [
        (get("https://hidden1@shop.test/a?key=hidden1"), "/a?key=", "query key"),
        (post_data(base64), "{fill_in_body}", "the whole body"),
        (post_data(json!({ "mimeType": FORM, "params": params })), "&seat=A1", "body otp"),
        (with_headers, "headers.accept = \"a/b\"", "header if-match"),
    ];
    for (request, kept, place) in texts.into_iter().chain(others) {
        let text = of_requests([request]);
        assert!(!text.contains("hidden1") && !text.contains("cGFzcz1h"), "{text}");
        assert!(text.contains(kept), "{kept:?} is not in\n{text}");
        let note = text.lines().find(|note| note.starts_with("#   step 1: "));
        assert!(note.is_some_and(|note| note.contains(place)), "{place:?} is not in\n{text}");
        let error = Scenario::parse(&text, "shop.toml").expect_err("it asks for a value").0;
        assert!(error.contains("{fill_in_"), "{error}");
    }
}

#[test]
fn what_a_shop_needs_stays() {
    let path = "/api/shows/1/sessions/42/seats/A12?page=3&session=17&state=free&postcode=1";
    let query =
        "query($password: String!){ login(token: $t2, password: $password){ token: accessToken } }";
    let body =
        json!({ "query": query, "seats": ["A1", 4], "remember_password": true, "pin": null });
    let body = body.to_string();
    let made = of_requests([get(&format!("https://shop.test{path}")), post(JSON, &body)]);
    let calls = sent(&made);
    assert_eq!((calls[0].target.as_str(), &calls[1].body), (path, &body));
}

#[test]
fn one_secret_is_one_value() {
    let login = |password: &str| post(FORM, &format!("password={password}"));
    let made = of_requests(["a1", "b2", "a1"].map(login));
    let values: Vec<_> = made.lines().filter(|line| line.starts_with("body")).collect();
    let body = |name: &str| format!("body = \"password={{{name}}}\"");
    let one = body("fill_in_password");
    assert_eq!(values, [one.as_str(), &body("fill_in_password_2"), &one]);
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
        path in "([a-z/;=%{}A-F0-9.?&+#-]{0,20}|[0-9/]{0,20}|/[a-z]/[0-9a-f]{8}[/?]){0,3}",
        body in "[a-z{}\\[\\]\"':=,;&%$ 0-9/?\\\\]{0,60}",
        form in any::<bool>(),
    ) {
        let mut request = post(if form { FORM } else { "application/graphql" }, &body);
        request["url"] = format!("https://shop.test/{path}").into();
        let mut shown = answer(200, HTML);
        shown["content"]["text"] = format!("<a href='/{path}'>{body}").into();
        let first = entry(0, get("https://shop.test"), shown);
        let made = made(&[first, entry(1, request, answer(200, HTML))]);
        if let Err(error) = Scenario::parse(&made, "shop.toml") {
            prop_assert!(error.0.contains("{fill_in_"), "{}", error.0);
        }
    }
}

#[test]
fn the_origin_is_that_of_the_pages() {
    // Frames of a page belong to it.
    let entries = [
        ("GET", "chrome-extension://abc/x", 200, JSON, None),
        ("GET", "http://shop.test/", 307, HTML, None),
        ("GET", "https://shop.test/", 200, HTML, Some("1")),
        ("GET", "https://ads.test/1", 200, HTML, Some("1")),
        ("GET", "https://ads.test/frame", 200, HTML, None),
        ("GET", "https://ads.test/frame", 200, HTML, None),
        ("GET", "https://ads.test/3", 200, HTML, Some("1")),
        ("GET", "https://login.test/", 200, HTML, Some("2")),
        ("GET", "https://shop.test/back", 200, HTML, Some("3")),
        ("OPTIONS", "https://shop.test/buy", 204, "", None),
        ("GET", "https://shop.test/buy", 304, JSON, None),
        ("GET", "wss://shop.test/live", 101, "", None),
        ("GET", "https://shop.test/live", 101, "", None),
        ("GET", "https://shop.test/a.png", 200, "", None),
        ("GET", "https://shop.test/lost", -1, "", None),
        ("GET", "no address", 200, HTML, None),
    ];
    let entries = (0..).zip(entries).map(|(at, (method, url, status, kind, page))| {
        let frame = if url.ends_with("frame") { "iframe" } else { "document" };
        let headers = json!([{ "name": "Sec-Fetch-Dest", "value": frame }]);
        let request = json!({ "method": method, "url": url, "headers": headers });
        let mut entry = entry(at, request, answer(status, kind));
        entry["pageref"] = json!(page);
        entry
    });
    let lost = get("https://shop.test/lost");
    let without = json!({ "startedDateTime": "2026-01-15T11:01:00Z", "request": lost.clone() });
    let entries: Vec<_> = entries.chain([entry(59, lost, Value::Null), without]).collect();
    // Windows' byte order mark.
    let recording = format!("\u{feff}{}", json!({ "log": { "entries": entries } }));
    let made = scenario(&recording).expect("it can be had");
    let targets: Vec<_> = sent(&made).into_iter().map(|call| call.target).collect();
    assert_eq!(targets, ["/", "/back", "/buy"]);
    assert_eq!(
        made.lines().take(2).collect::<Vec<_>>(),
        [
            "# From a recording of https://shop.test, steps: 3.",
            "# Left out: http://shop.test (1), https://ads.test (4), https://login.test (1), \
             no answer (3), not over HTTP (4), other methods (1), static files (1).",
        ]
    );
}

#[test]
fn a_redirect_is_not_what_a_recording_is_of() {
    let first = entry(0, get("http://shop.test/"), answer(307, HTML));
    for kind in [HTML, JSON] {
        let then = entry(1, get("https://shop.test/a"), answer(200, kind));
        let made = made(&[first.clone(), then]);
        assert_eq!(sent(&made)[0].target, "/a");
        assert_eq!(made.lines().nth(1), Some("# Left out: http://shop.test (1)."));
    }
}

#[test]
fn notes_are_bounded_and_hold_no_control_characters() {
    let others = (0..55).map(|host| get(&format!("https://h{host:02}.test/")));
    let own = (0..2).map(|_| post(JSON, r#"{"\u001b\n token":"hidden"}"#));
    let text = of_requests(own.chain(others));
    let notes: Vec<_> = text.lines().take_while(|line| line.starts_with("# ")).collect();
    assert!(notes[1].ends_with("https://h49.test (1), and 5 more."), "{text}");
    assert!(notes.iter().all(|note| !note.contains(char::is_control)), "{text}");
    assert!(text.contains(r"#   step 1: {fill_in_token}: body /\u{1b}\n token"), "{text}");
}
