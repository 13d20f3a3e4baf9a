//! What backends and operators call.

use reqwest::Method;
use serde_json::{Value, json};

use super::{
    ADMIN, Asker, NAMED, NARROW, NO_HOLD, OPS, QUEUE, SHOP, TOKENS, events, limits, methods, pools,
    start, targets, well_formed,
};
use crate::{room::Call, schema::Book};

#[tokio::test]
async fn the_service_port_answers_as_documented() {
    let room = start().await;
    let asker = Asker { book: Book::of(&room, "service").await, room: &room, port: "service" };
    let ops = |call: Call| call.key(OPS);
    let (renew, place) =
        ("/v1/queues/{queue}/places/{place}/renew", "/v1/queues/{queue}/places/{place}");
    let (reset, places) = (format!("{ADMIN}/reset"), format!("{ADMIN}/places"));
    let ticket = format!("{places}/{{ticket}}");

    let ana = json!({ "visitor_id": "ana" });
    let joined = asker.tell("POST", TOKENS, ana.clone(), |call| call.key(SHOP)).await;
    let token = joined.is(201).token();
    asker.tell("POST", TOKENS, ana, |call| call.key(SHOP)).await.is(200);
    let empty = |call: Call| call.key(SHOP).json(json!({ "visitor_id": "" }));
    asker.ask("POST", TOKENS, &[], empty).await.is(422);
    asker.ask("POST", TOKENS, &[], |call| call.key(SHOP).json(json!({}))).await.is(400);
    asker.ask("POST", TOKENS, &[], |call| call.key(SHOP).body("text/plain", "x")).await.is(415);
    let later = |call: Call| call.key(SHOP).json(json!({ "visitor_id": "bob" }));
    asker.ask("POST", TOKENS, &[("{queue}", "later")], later).await.is(503);

    let gate = room.authorize(&token).await;
    let handle = [("{place}", gate.is(200).header("x-anteroom-place"))];
    asker.ask("POST", renew, &handle, |call| call.key(SHOP)).await.is(200);
    asker.ask("POST", renew, &[("{place}", "x")], ops).await.is(400);
    asker.ask("DELETE", place, &[("{place}", "x")], ops).await.is(400);
    asker.ask("GET", QUEUE, &[], ops).await.is(200);
    asker.ask("GET", ADMIN, &[], ops).await.is(200);

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
        asker.tell("PATCH", ADMIN, body, ops).await.is(200);
        asker.ask("GET", ADMIN, &[], ops).await.is(200);
    }
    asker.ask("PATCH", ADMIN, &[], |call| ops(call).json(json!({ "capacity": 0 }))).await.is(422);
    asker.ask("PATCH", ADMIN, &[], |call| ops(call).json(json!({ "x": 0 }))).await.is(400);

    for (number, status) in [("1", 200), ("9", 404), ("0", 400)] {
        asker.ask("GET", &ticket, &[("{ticket}", number)], ops).await.is(status);
    }
    asker.ask("GET", &places, &[], ops).await.is(200);
    let page = room.call("service", Method::GET, "/v1/admin/queues/concert/places?limit=0");
    asker.book.note("GET", &places, page.key(OPS).send().await.is(400));
    asker.ask("DELETE", &ticket, &[("{ticket}", "1")], ops).await.is(204);
    asker.ask("GET", &ticket, &[("{ticket}", "1")], ops).await.is(200);
    asker.ask("POST", renew, &handle, ops).await.is(410);
    asker.ask("DELETE", place, &handle, ops).await.is(204);
    asker.ask("POST", &reset, &[], ops).await.is(202);
    for (name, status) in [("concert", 409), ("old", 204), ("Old", 400)] {
        asker.ask("DELETE", ADMIN, &[("{queue}", name)], ops).await.is(status);
    }

    limits::all(&asker).await;
    targets::all(&asker).await;
    events::all(&asker).await;
    pools::all(&asker).await;

    let operations: Vec<_> =
        asker.book.operations().map(|(path, method, _)| (path, method)).collect();
    for (path, method) in operations.into_iter().filter(|(path, _)| path.starts_with("/v1/")) {
        let other = [("{hold_id}", NO_HOLD), ("{visitor_id}", "ann")];
        let parts = [("{ticket}", "1"), handle[0], other[0], other[1]];
        let method = method.to_uppercase();
        let kind = NAMED.iter().find(|(part, ..)| path.contains(part));
        asker.ask(&method, path, &parts, |call| call).await.refuses(401, "key_missing");
        asker.ask(&method, path, &parts, |call| call.key("x")).await.refuses(401, "key_invalid");
        // Else what it is about stands in the body.
        let Some((part, _, unknown)) = kind else { continue };
        asker
            .ask(&method, path, &parts, |call| call.key(NARROW))
            .await
            .refuses(403, "key_forbidden");
        let none = [(*part, "none"), parts[0], parts[1], parts[2], parts[3]];
        if (&*method, path) != ("DELETE", ADMIN) {
            asker.ask(&method, path, &none, ops).await.refuses(404, unknown);
        }
    }
    asker.book.is_complete();
    well_formed(&asker.book);
    methods(&room, &asker.book, "service").await;
}
