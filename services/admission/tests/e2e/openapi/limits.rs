//! What backends and operators call about a limit.

use serde_json::{Value, json};

use super::{Client, NARROW, OPS, SHOP};
use crate::room::Call;

pub const CHECK: &str = "/v1/limits/{limit}/check";
const CHECKS: &str = "/v1/limits/check";
const FORGET: &str = "/v1/admin/limits/{limit}/forget";

/// Calls all of it.
pub async fn all(client: &Client<'_>) {
    let shop = |call: Call| call.key(SHOP);
    let one = json!({ "key": "ann", "cost": 1, "group": "ann", "id": "a" });
    let both = json!({ "id": "b", "checks": [
        { "limit": "login", "key": "ann", "cost": 1, "group": "ann" },
        { "limit": "quiet", "key": "ann" },
    ] });
    client.send("POST", CHECK, one, shop).await.is(200);
    client.send("POST", CHECKS, both.clone(), shop).await.is(200);
    client.send("POST", CHECK, json!({ "key": "ann" }), shop).await.is(429);
    let again = json!({ "checks": both["checks"] });
    client.send("POST", CHECKS, again, shop).await.is(429);
    let call = async |template, body: Value, status| {
        client.call("POST", template, &[], |call| shop(call).json(body)).await.is(status);
    };
    call(CHECK, json!({ "key": "ann", "cost": 2, "id": "a" }), 409).await;
    call(CHECK, json!({ "key": "ann", "cost": 3 }), 422).await;
    call(CHECK, json!({ "x": 1 }), 400).await;
    let of = |limit: &str, key: &str| json!({ "limit": limit, "key": key });
    let mut cheaper = both.clone();
    cheaper["checks"][1]["cost"] = json!(0);
    call(CHECKS, cheaper, 409).await;
    call(CHECKS, json!({ "checks": [of("login", "ann"), of("login", "bob")] }), 422).await;
    call(CHECKS, json!({ "checks": [of("none", "ann")] }), 404).await;
    call(CHECKS, json!({ "checks": 1 }), 400).await;
    let narrow = json!({ "checks": [of("login", "ann")] });
    let narrow = client.call("POST", CHECKS, &[], |call| call.key(NARROW).json(narrow)).await;
    narrow.refuses(403, "key_forbidden");
    let ops = |call: Call| call.key(OPS);
    client.send("POST", FORGET, json!({ "key": "ann", "group": "ann" }), ops).await.is(204);
    client.call("POST", FORGET, &[], |call| ops(call).json(json!({ "key": "" }))).await.is(422);
}
