//! What backends and operators call about an event.

use reqwest::Method;
use serde_json::json;

use super::{Client, OPS, SHOP};
use crate::{events::issuer, room::Call};

pub const EVENTS: &str = "[events.coupon]\nstock = 1\n[events.opens]\nstock = 1\n\
    opens_at = \"2199-01-01T00:00:00Z\"\n";

pub const STOCK: &str = "/v1/admin/events/{event}/stock";
const EVENT: &str = "/v1/events/{event}";
pub const APPLICATIONS: &str = "/v1/events/{event}/applications";
const APPLICATION: &str = "/v1/events/{event}/applications/{visitor_id}";
const DEAD: &str = "/v1/admin/events/{event}/dead";

/// Calls all of it.
pub async fn all(client: &Client<'_>) {
    let (shop, ops) = (|call: Call| call.key(SHOP), |call: Call| call.key(OPS));
    let ann = json!({ "visitor_id": "ann" });
    client.send("POST", APPLICATIONS, ann.clone(), shop).await.is(202);
    client.send("POST", APPLICATIONS, ann.clone(), shop).await.is(200);
    let bob = json!({ "visitor_id": "bob" });
    client.send("POST", APPLICATIONS, bob, shop).await.is(409);
    let other = [("{event}", "opens")];
    client.call("POST", APPLICATIONS, &other, |call| shop(call).json(ann.clone())).await.is(503);
    client.call("POST", APPLICATIONS, &[], |call| shop(call).json(json!({}))).await.is(400);
    // No client could poll the last two by their path.
    for visitor_id in ["", ".", ".."] {
        let refused = json!({ "visitor_id": visitor_id });
        client.call("POST", APPLICATIONS, &[], |call| shop(call).json(refused)).await.is(422);
    }
    client.call("POST", APPLICATIONS, &[], |call| shop(call).body("text/plain", "x")).await.is(415);
    client.call("GET", APPLICATION, &[("{visitor_id}", "ann")], shop).await.is(200);
    client.call("GET", APPLICATION, &[("{visitor_id}", "eve")], shop).await.is(404);
    client.call("GET", APPLICATION, &[("{visitor_id}", "%01")], shop).await.is(422);
    client.call("GET", EVENT, &[], shop).await.is(200);
    client.call("GET", EVENT, &other, shop).await.is(200);
    let one = json!({ "add": 1, "operation_id": "one" });
    client.send("POST", STOCK, one, ops).await.is(200);
    let two = json!({ "add": 2, "operation_id": "one" });
    client.send("POST", STOCK, two, ops).await.is(409);
    let none = json!({ "add": 0, "operation_id": "one" });
    client.call("POST", STOCK, &[], |call| ops(call).json(none)).await.is(422);
    client.call("POST", STOCK, &[], |call| ops(call).json(json!({ "add": 1 }))).await.is(400);
    client.call("POST", STOCK, &[], |call| ops(call).body("text/plain", "x")).await.is(415);
    client.call("GET", DEAD, &[], ops).await.is(200);
    let path = "/v1/admin/events/coupon/dead?limit=0";
    let wrong = ops(client.room.call(client.port, Method::GET, path)).send().await;
    client.book.note("GET", DEAD, wrong.is(400));
    let letter = format!("{DEAD}/{{visitor_id}}");
    let (retry, ann) = (format!("{letter}/retry"), [("{visitor_id}", "ann")]);
    client.call("POST", &retry, &ann, ops).await.is(404);
    client.call("DELETE", &letter, &ann, ops).await.is(404);
    let issuer = issuer(client.room, "coupon").await;
    let dies = async || {
        let claimed = issuer.claim(1).await.expect("a claim");
        issuer.fail(claimed.fence, 1, "no", None).await.expect("an answer");
    };
    dies().await;
    client.call("GET", DEAD, &[], ops).await.is(200);
    client.call("POST", &retry, &ann, ops).await.is(202);
    dies().await;
    let all = format!("{DEAD}/retry");
    client.call("POST", &all, &[], ops).await.is(202);
    dies().await;
    client.call("DELETE", &letter, &ann, ops).await.is(204);
}
