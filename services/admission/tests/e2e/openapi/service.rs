//! What backends and operators call.

use reqwest::Method;
use serde_json::{Value, json};

use super::{
    ADMIN, Client, NAMED, NARROW, NO_HOLD, OPS, QUEUE, SCREEN, SHOP, TOKENS, events, limits,
    methods, pools, start, targets, well_formed,
};
use crate::{answer::Answer, room::Call, schema::Book};

const SESSION: &str = "/v1/console/session";

#[tokio::test]
async fn the_service_port_answers_as_documented() {
    let room = start().await;
    let client = Client { book: Book::of(&room, "service").await, room: &room, port: "service" };
    let ops = |call: Call| call.key(OPS);
    let (renew, place) =
        ("/v1/queues/{queue}/places/{place}/renew", "/v1/queues/{queue}/places/{place}");
    let (reset, places) = (format!("{ADMIN}/reset"), format!("{ADMIN}/places"));
    let ticket = format!("{places}/{{ticket}}");

    let ana = json!({ "visitor_id": "ana" });
    let joined = client.send("POST", TOKENS, ana.clone(), |call| call.key(SHOP)).await;
    let token = joined.is(201).token();
    client.send("POST", TOKENS, ana, |call| call.key(SHOP)).await.is(200);
    let empty = |call: Call| call.key(SHOP).json(json!({ "visitor_id": "" }));
    client.call("POST", TOKENS, &[], empty).await.is(422);
    client.call("POST", TOKENS, &[], |call| call.key(SHOP).json(json!({}))).await.is(400);
    client.call("POST", TOKENS, &[], |call| call.key(SHOP).body("text/plain", "x")).await.is(415);
    let later = |call: Call| call.key(SHOP).json(json!({ "visitor_id": "bob" }));
    client.call("POST", TOKENS, &[("{queue}", "later")], later).await.is(503);

    let gate = room.authorize(&token).await;
    let handle = [("{place}", gate.is(200).header("x-anteroom-place"))];
    client.call("POST", renew, &handle, |call| call.key(SHOP)).await.is(200);
    client.call("POST", renew, &[("{place}", "x")], ops).await.is(400);
    client.call("DELETE", place, &[("{place}", "x")], ops).await.is(400);
    client.call("GET", QUEUE, &[], ops).await.is(200);
    client.call("GET", ADMIN, &[], ops).await.is(200);
    client.call("GET", &format!("{ADMIN}/preview"), &[], ops).await.is(200);
    client.call("GET", &format!("{ADMIN}/history"), &[], |call| call.key(SCREEN)).await.is(200);

    let all = json!({
        "state": "paused", "reason": "a test", "capacity": 5, "batch": 10, "interval_ms": 1_000,
        "pace": "batch", "claim_ttl_ms": 5_000, "session_ttl_ms": 5_000, "session_max_ms": 5_000,
        "unproven_ttl_ms": 1_000, "places_per_address": 0,
        "idle_ttl_ms": 60_000, "keep_ttl_ms": 60_000, "first_poll_ttl_ms": 30_000,
        "max_waiting": 5, "joins_at": "2020-01-01T00:00:00Z", "opens_at": "2020-01-02T00:00:00Z",
        "closes_at": "2199-01-03T00:00:00+09:00", "local_answers": true, "until": "2199-01-01T00:00:00Z",
    });
    let none: Value = all
        .as_object()
        .expect("an object")
        .keys()
        .filter(|name| *name != "until")
        .map(|name| (name.clone(), Value::Null))
        .collect::<serde_json::Map<_, _>>()
        .into();
    for body in [all, none] {
        client.send("PATCH", ADMIN, body, ops).await.is(200);
        client.call("GET", ADMIN, &[], ops).await.is(200);
    }
    client.call("PATCH", ADMIN, &[], |call| ops(call).json(json!({ "capacity": 0 }))).await.is(422);
    client.call("PATCH", ADMIN, &[], |call| ops(call).json(json!({ "x": 0 }))).await.is(400);

    let other =
        |call: Call| ops(call).header("if-match", "\"1-2-0\"").json(json!({ "capacity": 1 }));
    client.call("PATCH", ADMIN, &[], other).await.refuses(412, "revision_changed");

    let find = format!("{places}/find");
    let viewer = |call: Call| call.key(SCREEN);
    let ticket_1 = json!({ "ticket": 1 });
    client.send("POST", &find, ticket_1.clone(), viewer).await.is(200);
    client.send("POST", &find, json!({ "visitor_id": "eve" }), ops).await.is(404);
    client.call("POST", &find, &[], |call| ops(call).json(json!({ "x": 1 }))).await.is(400);
    client.call("POST", &find, &[], |call| ops(call).json(json!({}))).await.is(422);
    client.call("POST", &find, &[], |call| ops(call).body("text/plain", "x")).await.is(415);
    client.send("POST", &find, ticket_1, |call| call.key(SHOP)).await.refuses(403, "key_forbidden");

    for (number, status) in [("1", 200), ("9", 404), ("0", 400)] {
        client.call("GET", &ticket, &[("{ticket}", number)], ops).await.is(status);
    }
    client.call("GET", &places, &[], ops).await.is(200);
    let page = room.call("service", Method::GET, "/v1/admin/queues/concert/places?limit=0");
    client.book.note("GET", &places, page.key(OPS).send().await.is(400));
    client.call("DELETE", &ticket, &[("{ticket}", "1")], ops).await.is(204);
    client.call("GET", &ticket, &[("{ticket}", "1")], ops).await.is(200);
    client.call("POST", renew, &handle, ops).await.is(410);
    client.call("DELETE", place, &handle, ops).await.is(204);
    client.call("POST", &reset, &[], ops).await.is(202);
    for (name, status) in [("concert", 409), ("old", 204), ("Old", 400)] {
        client.call("DELETE", ADMIN, &[("{queue}", name)], ops).await.is(status);
    }

    client.call("POST", SESSION, &[], viewer).await.is(204);
    client.call("POST", SESSION, &[], |call| call.key(SHOP)).await.refuses(403, "key_forbidden");
    client.call("DELETE", SESSION, &[], viewer).await.is(204);

    live(&client).await;
    let log = "/v1/admin/changes";
    for (query, status) in [
        ("entity=queues:concert", 200),
        ("entity=queues:concert&limit=1&before=9007199254740991", 200),
        ("entity=targets:shop", 200),
        ("entity=queues:none", 404),
        ("entity=concert", 400),
        ("", 400),
    ] {
        let page = room.call("service", Method::GET, &format!("{log}?{query}"));
        client.book.note("GET", log, page.key(SCREEN).send().await.is(status));
    }

    limits::all(&client).await;
    targets::all(&client).await;
    events::all(&client).await;
    pools::all(&client).await;

    let operations: Vec<_> =
        client.book.operations().map(|(path, method, _)| (path, method)).collect();
    for (path, method) in operations.into_iter().filter(|(path, _)| path.starts_with("/v1/")) {
        let other = [("{hold_id}", NO_HOLD), ("{visitor_id}", "ann")];
        let parts = [("{ticket}", "1"), handle[0], other[0], other[1]];
        let method = method.to_uppercase();
        // A sign-out needs no session.
        if (&*method, path) == ("DELETE", SESSION) {
            continue;
        }
        let kind = NAMED.iter().find(|(part, ..)| path.contains(part));
        client.call(&method, path, &parts, |call| call).await.refuses(401, "key_missing");
        client.call(&method, path, &parts, |call| call.key("x")).await.refuses(401, "key_invalid");
        // Else the body names the entity.
        let Some((part, _, unknown)) = kind else { continue };
        client
            .call(&method, path, &parts, |call| call.key(NARROW))
            .await
            .refuses(403, "key_forbidden");
        let none = [(*part, "none"), parts[0], parts[1], parts[2], parts[3]];
        if (&*method, path) != ("DELETE", ADMIN) {
            client.call(&method, path, &none, ops).await.refuses(404, unknown);
        }
    }
    client.book.is_complete();
    well_formed(&client.book);
    methods(&room, &client.book, "service").await;
}

/// A stream does not end, so only its head is read.
async fn live(client: &Client<'_>) {
    const LIVE: &str = "/v1/admin/live";
    let open = client.room.call("service", Method::GET, LIVE).key(SCREEN).open().await;
    let (status, headers) = (open.status().as_u16(), open.headers().clone());
    let head = Answer { status, headers, text: String::new() };
    client.book.note("GET", LIVE, head.is(200));
    client.call("GET", LIVE, &[], |call| call.key(SHOP)).await.refuses(403, "key_forbidden");
}
