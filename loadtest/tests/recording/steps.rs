//! Which requests of a recording become steps, and what the notes report of the others.

use super::*;

const HTML: &str = "text/html";

#[test]
fn a_step_expects_what_a_working_visitor_gets() {
    let statuses = [(200, None), (204, None), (304, None), (302, Some(())), (409, Some(()))];
    for (status, other) in statuses.into_iter().chain([(401, Some(())), (503, Some(()))]) {
        let steps = [(get("/"), answer(200, "")), (request("POST", "/a"), answer(status, ""))];
        let (written, notes) = from_har(&recording(&steps));
        let expected = other.map(|()| "expect = [\"2xx\", \"3xx\"]");
        assert_eq!(lines(&written, "expect"), Vec::from_iter(expected), "{status}");
        let note = format!("Failed in the recording, expected to work: step 2 with {status}.\n");
        assert_eq!(notes.contains(&note), status >= 400, "{notes}");
    }
    // What is not there is requested by mistake. Its path may have a secret.
    let lost = get("/.well-known/q83vEjRWeJA7s9Kd2LxQ0w.json");
    let steps = [(get("/"), answer(200, "")), (lost, answer(404, ""))];
    let (written, notes) = from_har(&recording(&steps));
    assert_eq!(lines(&written, "path"), ["path = \"/\""]);
    assert!(
        notes.contains("Left out: GET /.well-known/{fill_in_well_known} with 404 (1)."),
        "{notes}"
    );
    assert!(!written.contains("fill_in_") || !lines(&written, "path")[0].contains("fill_in_"));
}

#[test]
fn a_body_has_the_type_that_the_recording_gives_it() {
    let mut typed_twice = post("/c", "text/plain", "a=1");
    typed_twice["headers"] = json!([{ "name": "Content-Type", "value": FORM }]);
    let written = made(&[
        (post("/a", FORM, "seat=1"), answer(200, "")),
        (post("/b", "", "{}"), answer(200, "")),
        (typed_twice, answer(200, "")),
    ]);
    let expected = format!("headers.content-type = \"{FORM}\"");
    assert_eq!(lines(&written, "headers.content-type"), [&expected, &expected]);
    let scenario = parse(&written.replace("{fill_in_body}", "x")).unwrap();
    assert_eq!(scenario.steps[0].ask.as_ref().unwrap().headers.len(), 1);
}

/// A request of this address, answered without a body.
fn entry(method: &str, url: &str, status: i64, kind: &str) -> (Value, Value) {
    let answer = json!({ "status": status, "content": { "mimeType": kind } });
    (json!({ "method": method, "url": url, "headers": [] }), answer)
}

#[test]
fn the_origin_is_that_of_the_pages() {
    // Frames of a page belong to it.
    let requests = [
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
        ("GET", "https://shop.test/lost", 0, "", None),
        ("GET", "https://shop.test/lost", 0, "", None),
    ];
    let entries = requests.map(|(method, url, status, kind, _)| entry(method, url, status, kind));
    let mut recording = recording(&entries);
    for (entry, (_, url, .., page)) in
        recording["log"]["entries"].as_array_mut().unwrap().iter_mut().zip(requests)
    {
        let frame = if url.ends_with("frame") { "iframe" } else { "document" };
        entry["request"]["headers"] = json!([{ "name": "Sec-Fetch-Dest", "value": frame }]);
        entry["pageref"] = json!(page);
    }
    recording["log"]["entries"][16]["response"] = Value::Null;
    recording["log"]["entries"][17].as_object_mut().unwrap().remove("response");
    // Windows' byte order mark.
    let made = har::scenario(&format!("\u{feff}{recording}")).unwrap();
    let targets: Vec<_> = sent(&made).into_iter().map(|call| call.target).collect();
    assert_eq!(targets, ["/", "/back", "/buy"]);
    assert_eq!(
        lines(&made, "# ")[..2],
        [
            "# From a recording of https://shop.test, steps: 3.",
            "# Left out: http://shop.test (1), https://ads.test (4), https://login.test (1), \
             no answer (3), not over HTTP (4), other methods (1), static files (1).",
        ]
    );
}

#[test]
fn a_redirect_is_not_what_a_recording_is_of() {
    for kind in [HTML, JSON] {
        let first = entry("GET", "http://shop.test/", 307, HTML);
        let made = made(&[first, entry("GET", "https://shop.test/a", 200, kind)]);
        assert_eq!(sent(&made)[0].target, "/a");
        assert_eq!(made.lines().nth(1), Some("# Left out: http://shop.test (1)."));
    }
}

#[test]
fn notes_are_bounded_and_hold_no_control_characters() {
    let others =
        (0..55).map(|host| entry("GET", &format!("https://h{host:02}.test/"), 200, HTML).0);
    let own = (0..2).map(|_| post("/x", JSON, r#"{"\u001b\n token":"hidden"}"#));
    let text = of_requests(own.chain(others));
    let notes = lines(&text, "# ");
    assert!(notes[1].ends_with("https://h49.test (1), and 5 more."), "{text}");
    assert!(notes.iter().all(|note| !note.contains(char::is_control)), "{text}");
    assert!(text.contains(r"#   step 1: {fill_in_token}: body /\u{1b}\n token"), "{text}");
}
