//! The audit log of the service port. Alone in its binary: what is logged is caught for the whole
//! process.

mod service_support;

use anteroom_testkit::{Log, PATIENCE, until};
use serde_json::{Value, json};
use service_support::{BACKEND, NARROW, OPERATOR, Ports};

const TOKENS: &str = "/v1/queues/shop/tokens";
const ADMIN: &str = "/v1/admin/queues/shop";

/// The lines of the audit log.
fn audit(log: &Log) -> Vec<Value> {
    let lines = log.text();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.filter(|line| line["target"] == "audit").collect()
}

/// The text of a field; empty when it is absent.
fn of(line: &Value, field: &str) -> String {
    line["fields"][field].as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn every_operator_call_leaves_one_audit_line_and_no_secret_in_it() {
    let log = Log::of_process();
    what_is_done(&log).await;
    what_is_refused(&log).await;
    what_no_caller_waits_for(&log).await;
    what_strangers_try(&log).await;
    what_a_known_key_is_refused_again_and_again(&log).await;
}

async fn what_is_done(log: &Log) {
    let world = Ports::start().await;
    let (_, joined) = world.call(BACKEND, "POST", TOKENS, json!({"visitor_id": "ana"})).await;
    world.call(OPERATOR, "PATCH", ADMIN, json!({"capacity": 7})).await;
    world.call(OPERATOR, "GET", ADMIN, Value::Null).await;
    world.call(OPERATOR, "GET", &format!("{ADMIN}/places/1"), Value::Null).await;
    world.call(OPERATOR, "DELETE", &format!("{ADMIN}/places/1"), Value::Null).await;
    world.call(OPERATOR, "POST", &format!("{ADMIN}/reset"), Value::Null).await;
    world.call(OPERATOR, "DELETE", ADMIN, Value::Null).await;
    world.call(OPERATOR, "DELETE", "/v1/admin/queues/old", Value::Null).await;
    let mut lines = audit(log);
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
    assert!(of(&lines[3], "before").contains("\"ticket\":1"), "{}", lines[3]);
    assert!(of(&lines[3], "after").contains("\"evicted\":true"), "{}", lines[3]);
    assert!(of(&lines[4], "before").contains("\"last_ticket\":1"), "{}", lines[4]);
    assert!(of(&lines[4], "after").contains("\"last_ticket\":0"), "{}", lines[4]);
    let token = joined["token"].as_str().expect("a token");
    for secret in [OPERATOR, BACKEND, token] {
        assert!(!log.text().contains(secret));
    }
}

/// Key, operation, queue, outcome and ticket of the lines since there were so many.
fn lines_since(log: &Log, count: usize) -> Vec<(String, String, String, String, Option<u64>)> {
    let read = |line: &Value| {
        let [key, operation, queue, outcome] =
            ["key", "operation", "queue", "outcome"].map(|field| of(line, field));
        (key, operation, queue, outcome, line["fields"]["ticket"].as_u64())
    };
    audit(log)[count..].iter().map(read).collect()
}

async fn what_is_refused(log: &Log) {
    let mut world = Ports::start().await;
    world.call(BACKEND, "POST", TOKENS, json!({"visitor_id": "ana"})).await;
    let far = "/v1/admin/queues/far";
    let at = |ticket: &str| format!("{ADMIN}/places/{ticket}");
    let (none, long) = (Value::Null, json!({"reason": "x".repeat(20_000)}));
    let narrow = json!({"capacity": 0});
    let cases = [
        (BACKEND, "GET", ADMIN, none.clone(), "back", "queue.snapshot", "shop", "key_forbidden"),
        (NARROW, "DELETE", ADMIN, none.clone(), "narrow", "queue.purge", "shop", "key_forbidden"),
        (NARROW, "GET", &at("1"), none.clone(), "narrow", "queue.inspect", "shop", "key_forbidden"),
        (OPERATOR, "PATCH", far, json!({}), "ops", "queue.override_rules", "far", "unknown_queue"),
        (OPERATOR, "DELETE", ADMIN, none.clone(), "ops", "queue.purge", "shop", "queue_configured"),
        (
            OPERATOR,
            "DELETE",
            "/v1/admin/queues/Ana-4711",
            none.clone(),
            "ops",
            "queue.purge",
            "",
            "bad_request",
        ),
        (OPERATOR, "GET", &at("one"), none.clone(), "ops", "queue.inspect", "shop", "bad_request"),
        (OPERATOR, "DELETE", &at("0"), none.clone(), "ops", "queue.evict", "shop", "bad_request"),
        (OPERATOR, "DELETE", &at("7"), none.clone(), "ops", "queue.evict", "shop", "not_found"),
        (
            OPERATOR,
            "PATCH",
            ADMIN,
            json!([]),
            "ops",
            "queue.override_rules",
            "shop",
            "invalid_body",
        ),
        (OPERATOR, "PATCH", ADMIN, long, "ops", "queue.override_rules", "shop", "body_too_large"),
        (OPERATOR, "PATCH", ADMIN, narrow, "ops", "queue.override_rules", "shop", "invalid_value"),
        ("", "GET", ADMIN, none.clone(), "(unknown)", "queue.snapshot", "shop", "key_missing"),
        ("ark1.x", "GET", far, none.clone(), "(unknown)", "queue.snapshot", "far", "key_invalid"),
    ];
    for (by, method, path, body, key, operation, queue, outcome) in cases {
        let before = audit(log).len();
        let (_, problem) = world.call(by, method, path, body).await;
        assert_eq!(problem["code"], outcome, "{method} {path}");
        let ticket = path.strip_suffix("/7").map(|_| 7).or(path.strip_suffix("/1").map(|_| 1));
        // A ticket is noted once the caller may know of it.
        let ticket = ticket.filter(|_| outcome != "key_forbidden");
        let line = [key, operation, queue, outcome].map(str::to_owned);
        let [key, operation, queue, outcome] = line;
        assert_eq!(
            lines_since(log, before),
            [(key, operation, queue, outcome, ticket)],
            "{method} {path}"
        );
    }
    assert!(of(&audit(log)[audit(log).len() - 3], "before").contains("\"capacity\":100"));
    assert!(!log.text().contains("Ana-4711"), "what is no queue's name is not logged");

    // Every route of an operator, whichever it is: a new one without its line would be found here.
    let (_, document) = world.call("", "GET", "/openapi.json", none.clone()).await;
    let mut operations = 0;
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("methods") {
            if operation["tags"] != json!(["operators"]) {
                continue;
            }
            operations += 1;
            let before = audit(log).len();
            let path = path.replace("{queue}", "shop").replace("{ticket}", "1");
            let (status, _) = world.call(BACKEND, &method.to_uppercase(), &path, json!({})).await;
            assert_eq!(status.as_u16(), 403, "{method} {path}");
            let lines = lines_since(log, before);
            assert_eq!(lines.len(), 1, "{method} {path}: {lines:?}");
            assert_eq!((&*lines[0].0, &*lines[0].3), ("back", "key_forbidden"), "{method} {path}");
        }
    }
    assert!(operations >= 6, "{operations} operations of operators");

    world.redis.kill();
    for _ in 0..3 {
        let before = audit(log).len();
        let (_, problem) =
            world.call(OPERATOR, "POST", &format!("{ADMIN}/reset"), none.clone()).await;
        let lines = lines_since(log, before);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert_eq!((&*lines[0].1, json!(lines[0].3)), ("queue.reset", problem["code"].clone()));
    }
}

async fn what_no_caller_waits_for(log: &Log) {
    let world = Ports::start().await;
    let before = audit(log).len();
    world.redis.freeze();
    let call = world.call(OPERATOR, "PATCH", ADMIN, json!({"capacity": 9}));
    let hung_up = tokio::time::timeout(std::time::Duration::from_millis(1), call).await;
    assert!(hung_up.is_err(), "Redis is frozen");
    world.redis.thaw();
    until("the call has run to its end", PATIENCE, async || audit(log).len() > before).await;
    assert_eq!(lines_since(log, before)[0].3, "done");
    assert!(of(&audit(log)[before], "after").contains("\"capacity\":9"));
}

async fn what_strangers_try(log: &Log) {
    let world = Ports::start().await;
    let (before, started) = (audit(log).len(), std::time::Instant::now());
    for _ in 0..300 {
        world.call("ark1.x", "GET", ADMIN, Value::Null).await;
    }
    let lines = audit(log).len() - before;
    let most = 60 + usize::try_from(started.elapsed().as_secs()).expect("a number") + 1;
    assert!((60..=most).contains(&lines), "{lines} lines for 300 calls, {most} may");
    // A known key has lines of its own nevertheless.
    let before = audit(log).len();
    world.call(BACKEND, "GET", ADMIN, Value::Null).await;
    let known = lines_since(log, before);
    assert_eq!(known.len(), 1);
    // It counts the calls without a line, unless a line of theirs could be written just before.
    let counted = |line: &Value| line["fields"]["left_out"].as_u64().unwrap_or(0);
    let left_out: u64 = audit(log)[before - lines..].iter().map(counted).sum();
    assert_eq!(left_out, 300 - lines as u64, "{known:?}");
}

async fn what_a_known_key_is_refused_again_and_again(log: &Log) {
    let world = Ports::start().await;
    let (before, started) = (audit(log).len(), std::time::Instant::now());
    for _ in 0..300 {
        world.call(BACKEND, "GET", ADMIN, Value::Null).await;
    }
    let lines = lines_since(log, before);
    let most = 60 + usize::try_from(started.elapsed().as_secs()).expect("a number") + 1;
    assert!((60..=most).contains(&lines.len()), "{} lines, {most} may", lines.len());
    assert!(lines.iter().all(|line| line.0 == "back" && line.3 == "key_forbidden"));

    // Another key has its own, and what is done is always written, also with a key that has none.
    let before = audit(log).len();
    world.call(NARROW, "DELETE", ADMIN, Value::Null).await;
    assert_eq!(lines_since(log, before)[0].0, "narrow");
    for _ in 0..200 {
        world.call(OPERATOR, "DELETE", &format!("{ADMIN}/places/0"), Value::Null).await;
    }
    let before = audit(log).len();
    for _ in 0..100 {
        world.call(OPERATOR, "GET", ADMIN, Value::Null).await;
    }
    let done = lines_since(log, before);
    assert_eq!(done.iter().filter(|line| line.0 == "ops" && line.3 == "done").count(), 100);
    let counted = |line: &Value| line["fields"]["left_out"].as_u64().unwrap_or(0);
    assert!(
        audit(log)[before..].iter().map(counted).sum::<u64>() > 0,
        "the lines left out are counted"
    );
}
