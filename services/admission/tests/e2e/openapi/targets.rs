//! What backends call about a target, in each of its states.

use anteroom_testkit::{PATIENCE, until};
use serde_json::{Value, json};

use super::{Client, SHOP};
use crate::room::Call;

pub const TARGETS: &str = "[targets.shop]\nmin_samples = 1\nopen_for = \"1s\"\n";

pub const OUTCOMES: &str = "/v1/targets/{target}/outcomes";
const PERMITS: &str = "/v1/targets/{target}/permits";
const TARGET: &str = "/v1/targets/{target}";

/// Calls all of it.
pub async fn all(client: &Client<'_>) {
    let shop = |call: Call| call.key(SHOP);
    let all = json!({
        "successes": 1, "failures": 2, "reporter": "a", "latency_ms": 70, "id": "one",
        "permit": "AAAAAAAAAAAAAAAAAAAAAA",
    });
    client.call("GET", TARGET, &[], shop).await.is(200);
    client.send("POST", PERMITS, json!({}), shop).await.is(200);
    client.send("POST", OUTCOMES, all, shop).await.is(200);
    client.call("GET", TARGET, &[], shop).await.is(200);
    client.call("POST", PERMITS, &[], shop).await.is(200);
    client.send("POST", OUTCOMES, json!({ "success": false }), shop).await.is(200);
    let refused = async |path, body: Value, status| {
        client.call("POST", path, &[], |call| shop(call).json(body)).await.is(status);
    };
    refused(OUTCOMES, json!({ "success": true, "id": "one" }), 409).await;
    refused(OUTCOMES, json!({}), 422).await;
    refused(OUTCOMES, json!({ "success": "yes" }), 400).await;
    refused(PERMITS, json!({ "x": 1 }), 400).await;
    for path in [OUTCOMES, PERMITS] {
        client.call("POST", path, &[], |call| shop(call).body("text/plain", "x")).await.is(415);
    }
    until("a permit", PATIENCE, async || {
        let answer = client.call("POST", PERMITS, &[], shop).await;
        answer.is(200).json()["permit"].is_string()
    })
    .await;
}
