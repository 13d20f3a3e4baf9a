//! What backends and operators call about a pool.

use serde_json::{Value, json};

use super::{Client, OPS, SHOP};
use crate::room::Call;

pub const POOLS: &str = "[pools.reward]\nfunds = 100\noptions = { small = 5, large = 5000 }\n";

const POOL: &str = "/v1/pools/{pool}";
const HOLDS: &str = "/v1/pools/{pool}/holds";
const HOLD: &str = "/v1/pools/{pool}/holds/{hold_id}";
const EXTEND: &str = "/v1/pools/{pool}/holds/{hold_id}/extend";
const SETTLE: &str = "/v1/pools/{pool}/holds/{hold_id}/settle";
const DRAWS: &str = "/v1/pools/{pool}/draws";
const FUNDS: &str = "/v1/admin/pools/{pool}/funds";
const CONFIRM: &str = "/v1/admin/pools/{pool}/confirm";
const LEDGER: &str = "/v1/admin/pools/{pool}/ledger";
const AUDIT: &str = "/v1/admin/pools/{pool}/audit";

/// A hold that does not exist.
pub const NO_HOLD: &str = "AAAAAAAAAAAAAAAAAAAAAA";

/// Calls all of it.
pub async fn all(client: &Client<'_>) {
    let shop = |call: Call| call.key(SHOP);
    let ops = |call: Call| call.key(OPS);
    let refused = async |path, body: Value, status| {
        client.call("POST", path, &[], |call| ops(call).json(body)).await.is(status);
    };
    client.call("GET", POOL, &[], shop).await.is(200);
    let amount = |amount: u64, id: &str| json!({ "amount": amount, "operation_id": id });
    let option = |name: &str, id: &str| json!({ "option": name, "operation_id": id });
    let held = client.send("POST", HOLDS, amount(10, "a"), shop).await.is(201).json();
    client.send("POST", HOLDS, amount(10, "a"), shop).await.is(201);
    client.send("POST", DRAWS, option("small", "b"), shop).await.is(201);
    for path in [HOLDS, DRAWS] {
        refused(path, amount(11, if path == HOLDS { "a" } else { "b" }), 409).await;
        refused(path, option("large", "c"), 409).await;
        refused(path, option("none", "c"), 422).await;
        refused(path, json!({ "operation_id": "c" }), 422).await;
        refused(path, json!({}), 400).await;
        client.call("POST", path, &[], |call| shop(call).body("text/plain", "x")).await.is(415);
    }
    let id = held["hold_id"].as_str().expect("a hold");
    let (hold, none) = ([("{hold_id}", id)], [("{hold_id}", NO_HOLD)]);
    client.call("GET", HOLD, &hold, shop).await.is(200);
    client.call("POST", EXTEND, &hold, shop).await.is(200);
    let settle = async |parts: &[(&str, &str)], body: Value| {
        client.call("POST", SETTLE, parts, |call| shop(call).json(body)).await
    };
    client.book.takes("POST", SETTLE, &json!({ "amount": 4 }));
    settle(&hold, json!({ "amount": 11 })).await.refuses(422, "invalid_value");
    settle(&hold, json!({})).await.is(400);
    client.call("POST", SETTLE, &hold, |call| shop(call).body("text/plain", "x")).await.is(415);
    settle(&hold, json!({ "amount": 4 })).await.is(200);
    settle(&hold, json!({ "amount": 5 })).await.refuses(409, "hold_settled");
    client.call("GET", HOLD, &hold, shop).await.is(200);
    client.call("POST", EXTEND, &hold, shop).await.refuses(409, "hold_settled");
    client.call("DELETE", HOLD, &hold, shop).await.refuses(409, "hold_settled");
    let other = client.send("POST", HOLDS, option("small", "d"), shop).await.is(201).json();
    let other = [("{hold_id}", other["hold_id"].as_str().expect("a hold"))];
    client.call("DELETE", HOLD, &other, shop).await.is(204);
    settle(&other, json!({ "amount": 1 })).await.refuses(409, "hold_cancelled");
    client.call("GET", HOLD, &none, shop).await.refuses(404, "unknown_hold");
    client.call("DELETE", HOLD, &none, shop).await.refuses(404, "unknown_hold");
    client.call("POST", EXTEND, &none, shop).await.refuses(404, "unknown_hold");
    settle(&[("{hold_id}", "x")], json!({ "amount": 1 })).await.refuses(404, "unknown_hold");

    client.send("POST", FUNDS, amount(50, "f"), ops).await.is(200);
    refused(FUNDS, amount(51, "f"), 409).await;
    refused(FUNDS, amount(9_007_199_254_740_991, "g"), 422).await;
    refused(FUNDS, json!({}), 400).await;
    client.call("POST", FUNDS, &[], |call| ops(call).body("text/plain", "x")).await.is(415);
    client.call("POST", CONFIRM, &[], ops).await.is(200);
    client.call("GET", LEDGER, &[], ops).await.is(200);
    for (query, status) in [("limit=0", 400), ("after=1&before=2", 422), ("before=3&limit=1", 200)]
    {
        let path = format!("/v1/admin/pools/reward/ledger?{query}");
        let page = client.room.call("service", reqwest::Method::GET, &path);
        client.book.note("GET", LEDGER, page.key(OPS).send().await.is(status));
    }
    let audit = client.call("POST", AUDIT, &[], ops).await.is(200).json();
    assert_eq!(audit["holds"], true, "{audit}");
}
