//! Secrets are in no log, no metric and nowhere in Redis.

use anteroom_testkit::{PATIENCE, until};
use reqwest::Method;
use serde_json::json;

use crate::{
    joining::identity,
    journey::cookie_of,
    key::key,
    room::{Call, ONE, Room},
    store_dump::dump,
};

const IDENTITY: &str = "marked-identity-secret-MARK-0123456";
const SECRET: &str = "marked-signing-secret-MARK-01234567";
const OPS: &str = "ark1.marked-operator-key-MARK";
const SHOP: &str = "ark1.marked-backend-key-MARK";

/// What every planted text holds; whatever carries it must not come out.
const MARK: &str = "MARK";

#[tokio::test]
async fn promise_06_secrets_are_in_no_log_metric_or_key() {
    secrets_stay_secret("info").await;
}

#[tokio::test]
async fn promise_06_nor_in_the_most_talkative_log() {
    secrets_stay_secret("trace").await;
}

async fn secrets_stay_secret(level: &str) {
    let keys = key("ops", OPS, "operator", &[]) + &key("shop", SHOP, "backend", &[]);
    let env = [
        ("ANTEROOM_ADMISSION__IDENTITY_SECRETS", IDENTITY),
        ("ANTEROOM_ADMISSION__TOKEN_SECRETS", SECRET),
        ("ANTEROOM_LOG__LEVEL", level),
    ];
    let sections = format!("{ONE}[limits.login]\nlimit = 3\n[targets.shop]\n{keys}");
    let mut room = Room::start_with(&sections, &env).await;
    let mut tokens = successes(&room).await;
    failures(&room, &tokens[0]).await;
    search(&room, &tokens).await;

    // The store goes, and comes back with nothing.
    room.anteroom.deployment.redis.kill();
    until("the store is missed", PATIENCE, async || {
        room.get("/v1/queues/concert/token").token(&tokens[0]).send().await.status == 503
    })
    .await;
    failures(&room, &tokens[0]).await;
    room.anteroom.deployment.redis.restart().await;
    until("the store is back", PATIENCE, async || {
        room.get("/v1/queues/concert/token").token(&tokens[0]).send().await.status == 410
    })
    .await;
    tokens.extend(successes(&room).await);
    search(&room, &tokens).await;
    let says_more = room.anteroom.admission.process.stdout().contains("\"level\":\"DEBUG\"");
    assert_eq!(says_more, level == "trace", "the level is in force");
}

/// Everything that succeeds, each with marked texts; gives the tokens.
async fn successes(room: &Room) -> Vec<String> {
    let marked =
        |call: Call| call.header("user-agent", "agent-MARK").header("x-forwarded-for", "MARK");
    let join = "/v1/queues/concert/tokens?query=MARK";
    let first = marked(room.post(join).header("idempotency-key", "MARKED-key-0123456789abcdef"));
    let first = first.send().await.token();
    let assertion = json!({ "assertion": identity(IDENTITY, "concert", "visitor-MARK", 60) });
    let second = marked(room.post(join).json(assertion)).send().await.token();
    let backend = room.call("service", Method::POST, "/v1/queues/concert/tokens").key(SHOP);
    let third = backend.json(json!({ "visitor_id": "customer-MARK" })).send().await.token();
    let cookie = cookie_of(&room.post(join).browser().send().await);
    let fourth = cookie.split_once('=').expect("a cookie").1.to_owned();

    let passed = room.get("/v1/queues/concert/authorize/path-MARK?query=MARK").key(&first);
    let passed = passed.header("x-original-uri", "/MARK?x=MARK").send().await;
    let handle = passed.is(200).header("x-anteroom-place").to_owned();
    for (method, path) in [("POST", "/claim"), ("POST", "/renew"), ("GET", "")] {
        let path = format!("/v1/queues/concert/token{path}?query=MARK");
        let method = Method::from_bytes(method.as_bytes()).expect("a method");
        room.call("public", method, &path).token(&first).send().await.is(200);
    }
    room.get("/queues/concert?return_to=/MARK").cookie(&cookie).send().await.is(200);
    room.get("/v1/queues/concert/token/events").token(&fourth).open().await;
    let path = format!("/v1/queues/concert/places/{handle}/renew");
    room.call("service", Method::POST, &path).key(SHOP).send().await.is(200);
    let outcome = room.call("service", Method::POST, "/v1/targets/shop/outcomes").key(SHOP);
    let body = json!({ "success": true, "reporter": "replica-MARK", "id": "report-MARK" });
    outcome.json(body).send().await.is(200);
    room.call("service", Method::PATCH, "/v1/admin/queues/concert")
        .key(OPS)
        .json(json!({ "capacity": 1 }))
        .send()
        .await
        .is(200);
    let path = "/v1/admin/queues/concert/places/2?query=MARK";
    room.call("service", Method::DELETE, path).key(OPS).send().await.is(204);
    let check = |cost: u64| {
        let call = room.call("service", Method::POST, "/v1/limits/login/check").key(SHOP);
        call.json(json!({ "key": "key-MARK", "group": "MARK", "id": "id-MARK", "cost": cost }))
            .send()
    };
    check(2).await.is(200);
    check(1).await.refuses(409, "operation_mismatch");
    let several = room.call("service", Method::POST, "/v1/limits/check").key(SHOP);
    let checks = json!([{ "limit": "login", "key": "key-MARK", "cost": 3 }]);
    several.json(json!({ "checks": checks, "id": "MARK" })).send().await;
    room.call("service", Method::POST, "/v1/admin/limits/login/forget")
        .key(OPS)
        .json(json!({ "key": "key-MARK", "group": "MARK" }))
        .send()
        .await
        .is(204);
    check(2).await.is(200);
    vec![first, second, third, fourth, handle]
}

/// Everything that is refused, each with marked texts.
async fn failures(room: &Room, token: &str) {
    let forged = "art1.MARK-forged";
    let join = "/v1/queues/concert/tokens";
    for call in [
        room.get("/v1/queues/concert/token?query=MARK").token(forged),
        room.get("/v1/queues/concert/token").key(forged),
        room.get("/v1/queues/concert/token").cookie("__Host-anteroom_concert=art1.MARK"),
        room.get("/v1/queues/concert/authorize/MARK").key("MARK-of-the-service"),
        room.get("/v1/queues/MARK/token?token=MARK").token(token),
        room.get("/MARK?query=MARK"),
        room.post(join).header("idempotency-key", "MARK"),
        room.post(join).json(json!({ "MARK": 1 })),
        room.post(join).json(json!({ "assertion": "MARK" })),
        room.post(join).body("application/json", "{\"assertion\": MARK"),
        room.post(join).body("text/MARK", "MARK"),
        room.post(join).header("idempotency-key", "MARKED-key-of-another-visitor"),
        room.post("/v1/queues/concert/token/renew?query=MARK").token(token),
        room.call("service", Method::POST, join).key("ark1.MARK"),
        room.call("service", Method::POST, join).key(SHOP).json(json!({ "visitor_id": "MARK\n" })),
        room.call("service", Method::POST, join).key(SHOP).json(json!({ "visitor_id": "MARK" })),
        room.call("service", Method::DELETE, "/v1/queues/concert/places/MARK").key(SHOP),
        room.call("service", Method::POST, "/v1/targets/shop/outcomes").key(SHOP).json(json!({
            "success": true, "permit": "MARK", "reporter": "MARK\n", "id": "MARK"
        })),
        room.call("service", Method::POST, "/v1/targets/MARK/permits").key(SHOP),
        room.call("service", Method::GET, "/v1/admin/queues/concert/places/MARK").key(OPS),
        room.call("service", Method::POST, "/v1/admin/queues/concert/reset").key("MARK"),
        room.call("service", Method::POST, "/v1/limits/login/check").key(SHOP).json(json!("MARK")),
        room.call("service", Method::POST, "/v1/limits/login/check")
            .key(SHOP)
            .json(json!({ "key": "MARK", "cost": 1 })),
        room.call("service", Method::POST, "/v1/limits/MARK/check").key(SHOP).json(json!({})),
    ] {
        // Which status it is, others test.
        call.header("x-request-id", "not sane: MARK").send().await;
    }
}

/// Searches for the mark and for the tokens that were given.
async fn search(room: &Room, tokens: &[String]) {
    let anteroom = &room.anteroom;
    until("the log is there", PATIENCE, async || {
        anteroom.admission.process.stdout().contains("audit")
    })
    .await;
    let mut places = vec![
        ("admission's log", anteroom.admission.process.stdout()),
        ("admission's errors", anteroom.admission.process.stderr()),
        ("the scheduler's log", anteroom.scheduler.process.stdout()),
        ("the scheduler's errors", anteroom.scheduler.process.stderr()),
        ("admission's metrics", room.metrics("metrics").await),
        ("the scheduler's metrics", room.metrics("scheduler").await),
    ];
    for line in dump(&anteroom.deployment.redis).await {
        places.push(("the store", String::from_utf8_lossy(&line).into_owned()));
    }
    for (place, text) in &places {
        for line in text.lines() {
            assert!(!line.contains(MARK), "{place}: {line}");
            for token in tokens {
                assert!(!line.contains(&**token), "{place}: {line}");
                // The proof is the end of a token; the part before it names the place without
                // proving it.
                assert!(!line.contains(&token[token.len() - 16..]), "{place}: {line}");
            }
        }
    }
    assert!(places[4].1.contains("anteroom_http_request_seconds"), "the metrics are there");
}
