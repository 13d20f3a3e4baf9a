//! What backends and operators call about an event.

use reqwest::Method;
use serde_json::json;

use super::{Asker, OPS, SHOP};
use crate::{events::issuer, room::Call};

pub const EVENTS: &str = "[events.coupon]\nstock = 1\n[events.opens]\nstock = 1\n\
    opens_at = \"2199-01-01T00:00:00Z\"\n";

pub const STOCK: &str = "/v1/admin/events/{event}/stock";
const EVENT: &str = "/v1/events/{event}";
pub const APPLICATIONS: &str = "/v1/events/{event}/applications";
const APPLICATION: &str = "/v1/events/{event}/applications/{visitor_id}";
const DEAD: &str = "/v1/admin/events/{event}/dead";

/// Calls all of it.
pub async fn all(asker: &Asker<'_>) {
    let (shop, ops) = (|call: Call| call.key(SHOP), |call: Call| call.key(OPS));
    let ann = json!({ "visitor_id": "ann" });
    asker.tell("POST", APPLICATIONS, ann.clone(), shop).await.is(202);
    asker.tell("POST", APPLICATIONS, ann.clone(), shop).await.is(200);
    let bob = json!({ "visitor_id": "bob" });
    asker.tell("POST", APPLICATIONS, bob, shop).await.is(409);
    let other = [("{event}", "opens")];
    asker.ask("POST", APPLICATIONS, &other, |call| shop(call).json(ann.clone())).await.is(503);
    asker.ask("POST", APPLICATIONS, &[], |call| shop(call).json(json!({}))).await.is(400);
    // No client could ask for the last two by their path.
    for visitor_id in ["", ".", ".."] {
        let refused = json!({ "visitor_id": visitor_id });
        asker.ask("POST", APPLICATIONS, &[], |call| shop(call).json(refused)).await.is(422);
    }
    asker.ask("POST", APPLICATIONS, &[], |call| shop(call).body("text/plain", "x")).await.is(415);
    asker.ask("GET", APPLICATION, &[("{visitor_id}", "ann")], shop).await.is(200);
    asker.ask("GET", APPLICATION, &[("{visitor_id}", "eve")], shop).await.is(404);
    asker.ask("GET", APPLICATION, &[("{visitor_id}", "%01")], shop).await.is(422);
    asker.ask("GET", EVENT, &[], shop).await.is(200);
    asker.ask("GET", EVENT, &other, shop).await.is(200);
    let one = json!({ "add": 1, "operation_id": "one" });
    asker.tell("POST", STOCK, one, ops).await.is(200);
    let two = json!({ "add": 2, "operation_id": "one" });
    asker.tell("POST", STOCK, two, ops).await.is(409);
    let none = json!({ "add": 0, "operation_id": "one" });
    asker.ask("POST", STOCK, &[], |call| ops(call).json(none)).await.is(422);
    asker.ask("POST", STOCK, &[], |call| ops(call).json(json!({ "add": 1 }))).await.is(400);
    asker.ask("POST", STOCK, &[], |call| ops(call).body("text/plain", "x")).await.is(415);
    asker.ask("GET", DEAD, &[], ops).await.is(200);
    let path = "/v1/admin/events/coupon/dead?limit=0";
    let wrong = ops(asker.room.call(asker.port, Method::GET, path)).send().await;
    asker.book.note("GET", DEAD, wrong.is(400));
    let letter = format!("{DEAD}/{{visitor_id}}");
    let (retry, ann) = (format!("{letter}/retry"), [("{visitor_id}", "ann")]);
    asker.ask("POST", &retry, &ann, ops).await.is(404);
    asker.ask("DELETE", &letter, &ann, ops).await.is(404);
    let issuer = issuer(asker.room).await;
    let dies = async || {
        let claimed = issuer.claim(1).await.expect("a claim");
        issuer.fail(claimed.fence, 1, "no", None).await.expect("an answer");
    };
    dies().await;
    asker.ask("GET", DEAD, &[], ops).await.is(200);
    asker.ask("POST", &retry, &ann, ops).await.is(202);
    dies().await;
    let all = format!("{DEAD}/retry");
    asker.ask("POST", &all, &[], ops).await.is(202);
    dies().await;
    asker.ask("DELETE", &letter, &ann, ops).await.is(204);
}
