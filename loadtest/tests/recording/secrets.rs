//! What is replayed of a request, and what is a value to fill in.

use proptest::prelude::*;

use super::*;

/// No kind of a body, but the path of a request.
const PATH: &str = "";
/// A number in JSON that is percent-encoded twice.
const TWICE: &str = "/?r=%2Fa%3Fj%3D%257B%2522cvc%2522%253A735%257D";

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
        (PATH, TWICE, "%253A{fill_in_cvc}%257D", "query r j /cvc"),
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
        PATH => (get(text), kept, place),
        kind => (post("/x", kind, text), kept, place),
    });
    let mut base64 = post("/x", FORM, "cGFzcz1h");
    base64["postData"]["encoding"] = "base64".into();
    let mut params = request("POST", "/x");
    let fields = json!([{ "name": "otp", "value": "hidden1" }, { "name": "seat", "value": "A1" }]);
    params["postData"] = json!({ "mimeType": FORM, "params": fields });
    let mut user = get("");
    user["url"] = "https://hidden1@shop.example/a?key=hidden1".into();
    let mut with_headers = get("/");
    with_headers["headers"] = json!([{ "name": ":authority", "value": "hidden1" },
        { "name": "Cookie", "value": "hidden1" }, { "name": "Accept", "value": "a/b" },
        { "name": "9f86d081884c7d659a2feaa0c55hidden1", "value": "hidden1" },
        { "name": "If-Match", "value": "\"9f86d081884c7d659a2feaa0c55ad015hidden1\"" },
        { "name": "ACCEPT", "value": "c/d" }]);
    let others = [
        (user, "/a?key=", "query key"),
        (base64, "{fill_in_body}", "the whole body"),
        (params, "&seat=A1", "body otp"),
        (with_headers, "headers.accept = \"a/b\"", "header if-match"),
    ];
    for (request, kept, place) in texts.into_iter().chain(others) {
        let text = of_requests([request]);
        assert!(!text.contains("hidden1") && !text.contains("cGFzcz1h"), "{text}");
        assert!(text.contains(kept), "{kept:?} is not in\n{text}");
        let note = text.lines().find(|note| note.starts_with("#   step 1: "));
        assert!(note.is_some_and(|note| note.contains(place)), "{place:?} is not in\n{text}");
        let error = parse(&text).unwrap_err();
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
    let made = of_requests([get(path), post("/x", JSON, &body)]);
    let calls = sent(&made);
    assert_eq!((calls[0].target.as_str(), &calls[1].body), (path, &body));
}

/// Its mark meanwhile is drawn once a process, and must not read as an escape.
#[test]
fn an_id_after_an_escape_is_one_value() {
    let id = "550e8400-e29b-41d4-a716-446655440004";
    let path = format!("/?a=%2Fa%3Fb%3D%252F{id}%253Fpin%253Dhidden1");
    let recording = recording(&[(get(&path), answer(200, ""))]);
    let path = r#"path = "/?a=%2Fa%3Fb%3D%2525{fill_in_a}%253Fpin%253D{fill_in_pin}""#;
    for _ in 0..60 {
        assert_eq!(lines(&from_har(&recording).0, "path"), [path]);
    }
}

#[test]
fn one_secret_is_one_value() {
    let login = |password: &str| post("/x", FORM, &format!("password={password}"));
    let made = of_requests(["a1", "b2", "a1"].map(login));
    let values: Vec<_> = made.lines().filter(|line| line.starts_with("body")).collect();
    let body = |name: &str| format!("body = \"password={{{name}}}\"");
    let one = body("fill_in_password");
    assert_eq!(values, [one.as_str(), &body("fill_in_password_2"), &one]);
}

proptest! {
    #[test]
    fn what_holds_no_secret_is_sent_as_it_was(text in "[{}a-zA_\u{1b}\n\"\\\\ \u{9b}]{0,30}") {
        let text = text.replace("{ra", "{user}").replace("}x", "{{random}}");
        let body = json!({ "t": text, "u": "{{user}} {user} {{{random}}}" }).to_string();
        let accept = "{user};{{user}}";
        let mut request = post("/x", JSON, &body);
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
        let kind = if form { FORM } else { "application/graphql" };
        let shown = answer(200, &format!("<a href='/{path}'>{body}"));
        let first = (get(""), shown);
        let made = made(&[first, (post(&format!("/{path}"), kind, &body), answer(200, ""))]);
        if let Err(error) = parse(&made) {
            prop_assert!(error.contains("{fill_in_"), "{error}");
        }
    }
}
