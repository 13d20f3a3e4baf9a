//! What a later step sends of an earlier answer: ids, tokens, and where a redirect leads.

use super::*;

/// The paths and captures of a scenario whose first answer is this page.
fn of_page(page: &str, target: &str) -> String {
    let steps = [(get("/"), answer(200, page)), (get(target), answer(200, ""))];
    made(&steps)
}

#[test]
fn ids_of_a_recording_become_captures_or_values_to_fill_in() {
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
    let (written, notes) = from_har(&recording(&[
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
        assert!(notes.contains(&note) && written.contains(&format!("# {note}")), "{notes}");
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
        let (written, notes) = from_har(&recording(&[
            (request("POST", "/buy"), redirect(303, location)),
            (get("/done?order=1"), answer(200, "")),
            (get("/done?order=1"), answer(200, "")),
        ]));
        assert!(notes.contains("Captured: {location} from step 1."), "{notes}");
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
        let written = made(&[
            (request("POST", "/buy"), redirect(303, location)),
            (get("/done"), answer(200, "")),
        ]);
        assert_eq!(lines(&written, "path")[1], "path = \"/done\"");
    }
}

/// As recorders that do not know the type of an answer write it, and those that read forms.
#[test]
fn answers_in_base64_and_numbers_of_forms_are_read() {
    let mut shown = answer(200, "eyJob2xkIjp7ImlkIjo0ODIxM319");
    shown["content"]["encoding"] = "base64".into();
    let mut pay = post("/pay", FORM, "");
    pay["postData"] = json!({ "mimeType": FORM, "params": [{ "name": "holdId", "value": 48213 }] });
    pay["headers"] = Value::Null;
    let written = made(&[(get("/holds"), shown), (pay, answer(200, ""))]);
    assert_eq!(
        lines(&written, "capture"),
        [r#"capture.holdid = { json = "/hold/id" }"#],
        "{written}"
    );
    assert_eq!(lines(&written, "body"), ["body = \"holdId={holdid}\""], "{written}");
}
