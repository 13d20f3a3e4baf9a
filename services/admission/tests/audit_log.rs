//! The audit log of the service port. Alone in its binary: what is logged is caught for the whole
//! process.

mod service_support;

use serde_json::{Value, json};
use service_support::{BACKEND, OPERATOR, World};

const TOKENS: &str = "/v1/queues/shop/tokens";
const ADMIN: &str = "/v1/admin/queues/shop";

#[tokio::test]
async fn every_operator_call_leaves_an_audit_line_and_no_secret_in_it() {
    let log = service_support::log();
    let world = World::start().await;
    let (_, joined) = world.call(BACKEND, "POST", TOKENS, json!({"visitor_id": "ana"})).await;
    world.call(OPERATOR, "PATCH", ADMIN, json!({"capacity": 7})).await;
    world.call(OPERATOR, "GET", ADMIN, Value::Null).await;
    world.call(OPERATOR, "GET", &format!("{ADMIN}/places/1"), Value::Null).await;
    world.call(OPERATOR, "DELETE", &format!("{ADMIN}/places/1"), Value::Null).await;
    world.call(OPERATOR, "POST", &format!("{ADMIN}/reset"), Value::Null).await;
    world.call(OPERATOR, "DELETE", ADMIN, Value::Null).await;
    world.call(OPERATOR, "DELETE", "/v1/admin/queues/old", Value::Null).await;
    let mut lines = log.audit();
    let of =
        |line: &Value, field: &str| line["fields"][field].as_str().unwrap_or_default().to_owned();
    let purges = lines.split_off(5);
    let purges: Vec<_> = ["operation", "queue", "outcome", "before"]
        .map(|field| purges.iter().map(|line| of(line, field)).collect::<Vec<_>>())
        .into();
    let nothing = r#"{"admitted":0,"in_line":0,"keys":0}"#;
    assert_eq!(
        purges,
        [
            ["queue.purge", "queue.purge"],
            ["shop", "old"],
            ["queue_configured", "done"],
            ["null", nothing],
        ]
    );
    let operations: Vec<_> = lines.iter().map(|line| of(line, "operation")).collect();
    assert_eq!(
        operations,
        ["queue.override_rules", "queue.snapshot", "queue.inspect", "queue.evict", "queue.reset"]
    );
    for line in &lines {
        assert_eq!((of(line, "key"), of(line, "queue")), ("ops".into(), "shop".into()), "{line}");
        assert_eq!(of(line, "outcome"), "done");
    }
    let capacity = |field| {
        serde_json::from_str::<Value>(&of(&lines[0], field)).expect("JSON")["rules"]["capacity"]
            .clone()
    };
    assert_eq!((capacity("before"), capacity("after")), (json!(100), json!(7)));
    assert!(of(&lines[3], "before").contains("\"ready\""), "{}", lines[3]);
    assert!(of(&lines[4], "before").contains("\"last_ticket\":1"), "{}", lines[4]);
    assert!(of(&lines[4], "after").contains("\"last_ticket\":0"), "{}", lines[4]);
    let token = joined["token"].as_str().expect("a token");
    for secret in [OPERATOR, BACKEND, token] {
        assert!(!log.text().contains(secret));
    }
}
