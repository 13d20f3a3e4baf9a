//! Bad input gets its named error and changes nothing.

use anteroom_core::queue::MAX_TICKET;
use anteroom_testkit::Anteroom;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::{
    room::{Call, ONE, Room},
    shared,
    store_dump::{difference, dump},
};

const JSON: &str = "application/json";
const JOIN: &str = "/v1/queues/concert/tokens";
const ADMIN: &str = "/v1/admin/queues/concert";
const OUTCOMES: &str = "/v1/targets/shop/outcomes";
const PERMITS: &str = "/v1/targets/shop/permits";

/// A room of two visitors and no ticks, so that nothing but a request changes Redis; none of these
/// tests has one that does. With what Redis has.
async fn still() -> (Room, &'static [Vec<u8>]) {
    static STILL: OnceCell<(Anteroom, Vec<Vec<u8>>)> = OnceCell::const_new();
    let name = "concert";
    let start = async || {
        let sections = format!("{ONE}[targets.shop]\n").replace(":name", name);
        let anteroom = shared::start(&sections).await;
        for _ in 0..2 {
            anteroom.admission.join(name).await;
        }
        anteroom.scheduler.process.freeze();
        let before = dump(&anteroom.deployment.redis).await;
        (anteroom, before)
    };
    let (anteroom, before) = STILL.get_or_init(start).await;
    (Room::of(anteroom, name.to_owned()), before)
}

async fn nothing_changed(room: &Room, before: &[Vec<u8>]) {
    let changed = difference(before, &dump(&room.anteroom.deployment.redis).await);
    assert!(changed.is_empty(), "{changed:?}");
}

#[tokio::test]
async fn bodies_that_are_no_such_object_are_refused_by_name() {
    let (room, before) = still().await;
    let deep = "[".repeat(5_000);
    let nested = format!("{{\"assertion\":{deep}");
    let long_name = format!("{{\"{}\":1}}", "x".repeat(10_000));
    let shapes: [&[u8]; 14] = [
        b"{",
        b"[]",
        b"null",
        b"5",
        b"\"x\"",
        b"{} {}",
        b"nonsense",
        b"{\"a\":}",
        b"\xff\xfe",
        b"{\"\xff\":1}",
        b"{\"a\":\"\xc3\x28\"}",
        b"{'a':1}",
        nested.as_bytes(),
        long_name.as_bytes(),
    ];
    let targets = [
        ("public", Method::POST, JOIN),
        ("service", Method::POST, JOIN),
        ("service", Method::PATCH, ADMIN),
        ("service", Method::POST, OUTCOMES),
        ("service", Method::POST, PERMITS),
    ];
    for (port, method, path) in targets {
        let call = || room.call(port, method.clone(), path);
        for shape in shapes {
            let refused = call().body(JSON, shape.to_vec()).send().await;
            refused.refuses(400, "invalid_body");
            let detail = refused.json()["detail"].as_str().map(str::len);
            assert!(detail.is_some_and(|length| (5..300).contains(&length)), "{refused:?}");
        }
        let unknown = call().json(json!({ "nonsense": 1 })).send().await;
        unknown.refuses(400, "invalid_body");
        assert!(unknown.text.contains("`nonsense`"), "{unknown:?}");

        let huge = vec![b' '; 16 * 1024 + 1];
        call().body(JSON, huge.clone()).send().await.refuses(413, "body_too_large");
        for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""] {
            let refused = call().body(kind, "{}").send().await;
            refused.refuses(415, "unsupported_media_type");
        }
    }
    nothing_changed(&room, before).await;
}

#[tokio::test]
async fn fields_of_a_wrong_type_or_value_are_refused_by_name() {
    let (room, before) = still().await;
    let (long, wide) = ("x".repeat(129), "한".repeat(43));
    let join = |body: Value| room.call("service", Method::POST, JOIN).json(body).send();
    for value in [json!(5), json!(null), json!(["x"]), json!({}), json!(true)] {
        let refused = join(json!({ "visitor_id": value })).await;
        refused.refuses(400, "invalid_body");
        assert!(refused.text.contains("visitor_id"), "{refused:?}");
    }
    join(json!({})).await.refuses(400, "invalid_body");
    for value in ["", &long, &wide, "a\nb", "a\u{0}", "\u{85}", "\u{7f}"] {
        let refused = join(json!({ "visitor_id": value })).await;
        refused.refuses(422, "invalid_value");
        assert!(refused.text.contains("visitor_id"), "{refused:?}");
    }
    for value in [json!(5), json!(["x"]), json!({}), json!(true)] {
        let refused = room.post(JOIN).json(json!({ "assertion": value })).send().await;
        refused.refuses(400, "invalid_body");
        assert!(refused.text.contains("assertion"), "{refused:?}");
    }
    let huge = "x".repeat(15_000);
    for value in ["", "nonsense", "ara1...", &huge] {
        let refused = room.post(JOIN).json(json!({ "assertion": value })).send().await;
        refused.refuses(401, "assertion_invalid");
    }
    nothing_changed(&room, before).await;
}

/// The rules themselves are tested with the body.
#[tokio::test]
async fn outcomes_beyond_their_rules_are_refused_by_name() {
    let (room, before) = still().await;
    let long = "x".repeat(129);
    for (field, value) in [
        ("success", json!({ "success": true, "failures": 1 })),
        ("successes", json!({ "successes": 0 })),
        ("failures", json!({ "failures": 1_000_001 })),
        ("reporter", json!({ "success": true, "reporter": long })),
        ("id", json!({ "success": true, "id": "a\nb" })),
        ("latency_ms", json!({ "success": true, "latency_ms": 3_600_001 })),
        ("permit", json!({ "success": true, "permit": "forged" })),
    ] {
        let refused = room.post_json(OUTCOMES, value).await;
        let refused = refused.refuses(422, "invalid_value");
        assert!(refused.text.contains(field), "{refused:?}");
    }
    for value in [json!({ "success": 1 }), json!({ "successes": "7" }), json!({ "failures": -1 })] {
        let refused = room.post_json(OUTCOMES, value).await;
        refused.refuses(400, "invalid_body");
    }
    nothing_changed(&room, before).await;
}

#[tokio::test]
async fn overrides_beyond_their_rules_are_refused_by_name() {
    let (room, before) = still().await;
    let patch = |body: &str| {
        let call = room.call("service", Method::PATCH, ADMIN);
        call.body(JSON, body.to_owned()).send()
    };
    for (field, bad) in [
        ("capacity", "0"),
        ("capacity", "-1"),
        ("capacity", "1.5"),
        ("capacity", "1e30"),
        ("capacity", "1000000001"),
        ("capacity", "18446744073709551616"),
        ("batch", "0"),
        ("batch", "1000001"),
        ("interval_ms", "999"),
        ("interval_ms", "3600001"),
        ("claim_ttl_ms", "4999"),
        ("session_ttl_ms", "0"),
        ("session_max_ms", "604800001"),
        ("unproven_ttl_ms", "999"),
        ("idle_ttl_ms", "59999"),
        ("keep_ttl_ms", "1"),
        ("first_poll_ttl_ms", "29999"),
        ("max_waiting", "0"),
        ("max_waiting", "10000001"),
        ("places_per_address", "1000001"),
        ("places_per_address", "-1"),
        ("state", "\"openn\""),
        ("state", "\"\""),
        ("pace", "\"fast\""),
        ("reason", "\"\""),
        ("reason", "\"\\u0007\""),
        ("joins_at", "\"tomorrow\""),
        ("opens_at", "\"2027-01-15\""),
        ("closes_at", "\"\""),
        ("until", "\"2001-01-01T00:00:00Z\""),
        ("until", "\"soon\""),
        // Alone each would do; together with the rules in force they do not.
        ("first_poll_ttl_ms", "600001"),
        ("session_max_ms", "5000"),
        ("session_ttl_ms", "86400000"),
    ] {
        let refused = patch(&format!("{{\"{field}\":{bad}}}")).await;
        refused.refuses(422, "invalid_value");
        assert!(refused.text.contains(field), "{field} = {bad}: {refused:?}");
    }
    for (field, bad) in [
        ("capacity", "\"5\""),
        ("capacity", "true"),
        ("capacity", "1e999"),
        ("local_answers", "1"),
        ("state", "5"),
        ("reason", "{}"),
        ("opens_at", "1800000000"),
        ("until", "[]"),
        ("batch", "[5]"),
    ] {
        let refused = patch(&format!("{{\"{field}\":{bad}}}")).await;
        refused.refuses(400, "invalid_body");
    }
    let times = "{\"opens_at\":\"2199-01-02T00:00:00Z\",\"closes_at\":\"2199-01-01T00:00:00Z\"}";
    patch(times).await.refuses(422, "invalid_value");
    let endless = patch("{\"state\":\"bypass\"}").await;
    assert!(endless.refuses(422, "invalid_value").text.contains("until"));
    patch("{\"capacity\":5,\"batch\":0}").await.refuses(422, "invalid_value");
    patch("{\"capacity\":5,\"capacity\":6}").await.refuses(400, "invalid_body");
    nothing_changed(&room, before).await;
}

#[tokio::test]
async fn paths_and_methods_that_are_not_there() {
    let (room, before) = still().await;
    for path in [
        "/",
        "/v1",
        "/v1/queues",
        "/v1/queues/",
        "/v1/queues/concert/",
        "/v1/queues/concert/token/x",
        "/v1/queues/concert/authorizeX",
        "/queues",
        "/queues/concert/x",
        "/metrics",
        "/livez",
        "/v1/admin/queues/concert",
        "/v1/queues/concert/places/x",
        "//v1/queues/concert",
    ] {
        room.get(path).send().await.refuses(404, "not_found");
    }
    for name in ["opera", "Concert", "%FF", "con%63ert%00", "..%2Fconcert", "%20", "{queue}"] {
        for path in [
            format!("/v1/queues/{name}"),
            format!("/v1/queues/{name}/token"),
            format!("/queues/{name}"),
        ] {
            room.get(&path).send().await.refuses(404, "unknown_queue");
        }
        let path = format!("/v1/queues/{name}/tokens");
        room.post(&path).send().await.refuses(404, "unknown_queue");
        let path = format!("/v1/queues/{name}/authorize");
        room.get(&path).send().await.refuses(403, "unknown_queue");
        let path = format!("/v1/admin/queues/{name}/reset");
        room.call("service", Method::POST, &path).send().await.refuses(404, "unknown_queue");
    }
    let brew = Method::from_bytes(b"BREW").expect("a method");
    for (port, method, path, allow) in [
        ("public", Method::GET, JOIN, "POST"),
        ("public", Method::PUT, "/v1/queues/concert/token", "DELETE,GET,HEAD"),
        ("public", Method::GET, "/v1/queues/concert/token/claim", "POST"),
        ("public", Method::POST, "/v1/queues/concert", "GET,HEAD"),
        ("public", brew, "/v1/queues/concert/token", "DELETE,GET,HEAD"),
        ("public", Method::DELETE, "/queues/concert", "GET,HEAD,POST"),
        ("public", Method::OPTIONS, JOIN, "POST"),
        ("service", Method::PUT, ADMIN, "DELETE,GET,HEAD,PATCH"),
        ("service", Method::GET, "/v1/admin/queues/concert/reset", "POST"),
    ] {
        let refused = room.call(port, method, path).send().await;
        refused.refuses(405, "method_not_allowed");
        let mut allowed: Vec<_> = refused.header("allow").split(',').map(str::trim).collect();
        allowed.sort_unstable();
        assert_eq!(allowed.join(","), allow, "{path}");
    }
    nothing_changed(&room, before).await;
}

#[tokio::test]
async fn headers_handles_and_tickets_of_no_meaning() {
    let (room, before) = still().await;
    let unheard = "x".repeat(129);
    for key in [
        &b"short"[..],
        b"0123456789abcdefghijk",
        b"with space in it, long enough",
        b"\xf0\x9f\x8e\xab0123456789abcdefghij",
        b"",
        unheard.as_bytes(),
    ] {
        let refused = room.post(JOIN).header("idempotency-key", key).send().await;
        assert!(refused.refuses(400, "bad_request").text.contains("Idempotency-Key"));
    }
    for token in [&b""[..], b"\xff\xff", b"art1.", b"art1.\xe9", b"ark1.a-key"] {
        let place = room.get("/v1/queues/concert/token").header("x-anteroom-token", token);
        place.send().await.refuses(401, "token_invalid");
    }
    let none: Call = room.get("/v1/queues/concert/token");
    none.send().await.refuses(401, "token_missing");

    let long = "A".repeat(400);
    for handle in
        ["x", "%FF", &long, &"A".repeat(39), &"!".repeat(40), &"_".repeat(40), &"A".repeat(40)]
    {
        let path = format!("/v1/queues/concert/places/{handle}");
        let call = |method, path: &str| room.call("service", method, path).send();
        call(Method::DELETE, &path).await.refuses(400, "bad_request");
        call(Method::POST, &format!("{path}/renew")).await.refuses(400, "bad_request");
    }
    let beyond = (MAX_TICKET + 1).to_string();
    for (ticket, status, code) in [
        ("0", 400, "bad_request"),
        ("-1", 400, "bad_request"),
        ("1.5", 400, "bad_request"),
        ("1e3", 400, "bad_request"),
        ("x", 400, "bad_request"),
        ("%FF", 400, "bad_request"),
        (&beyond, 400, "bad_request"),
        ("99999999999999999999", 400, "bad_request"),
        ("3", 404, "not_found"),
        ("1099511627777", 404, "not_found"),
    ] {
        let path = format!("{ADMIN}/places/{ticket}");
        for method in [Method::GET, Method::DELETE] {
            room.call("service", method, &path).send().await.refuses(status, code);
        }
    }
    nothing_changed(&room, before).await;
}
