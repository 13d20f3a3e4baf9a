//! Limits over HTTP.

use std::fmt::Write as _;

use anteroom_testkit::{PATIENCE, until, until_some};
use reqwest::Method;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::key::key;
use crate::room::{Call, ONE, Room};

pub const LIMITS: &str = "[limits.login]\nlimit = 2\n\
    [limits.search]\nlimit = 3\nwindow = \"2m\"\nalgorithm = \"gcra\"\n\
    [limits.upload]\nlimit = 1_000_000\nwindow = \"24h\"\nalgorithm = \"counter\"\n\
    [limits.quiet]\nlimit = 1\nshadow = true\n";

const OPS: &str = "ark1.the-key-of-an-operator";
const SHOP: &str = "ark1.the-key-of-a-backend";
const LOGIN_ONLY: &str = "ark1.the-key-for-the-login";

async fn start() -> Room {
    Room::start(&format!("{ONE}{LIMITS}")).await
}

fn ask(room: &Room, path: &str, body: Value) -> Call {
    room.call("service", Method::POST, path).json(body)
}

async fn check(room: &Room, limit: &str, body: Value) -> Answer {
    ask(room, &format!("/v1/limits/{limit}/check"), body).send().await
}

async fn check_all(room: &Room, body: Value) -> Answer {
    ask(room, "/v1/limits/check", body).send().await
}

/// How many units are left of a key.
async fn left(room: &Room, limit: &str, body: Value) -> Value {
    let mut body = body;
    body["cost"] = json!(0);
    check(room, limit, body).await.json()["remaining"].clone()
}

#[tokio::test]
async fn a_limit_allows_so_many_and_says_when_there_are_more() {
    let room = start().await;
    for remaining in [1, 0] {
        let answer = check(&room, "login", json!({ "key": "ann" })).await;
        assert_eq!(
            answer.is(200).json(),
            json!({
                "allowed": true, "limit": 2, "remaining": remaining, "reset_ms": 60_000,
                "retry_after_ms": 0,
            })
        );
        assert_eq!(answer.header("ratelimit-policy"), "\"login\";q=2;w=60");
        assert_eq!(answer.header("ratelimit"), format!("\"login\";r={remaining};t=60"));
        assert_eq!(answer.header("retry-after"), "");
    }
    let refused = check(&room, "login", json!({ "key": "ann" })).await;
    let body = refused.is(429).json();
    assert_eq!((&body["allowed"], &body["remaining"]), (&json!(false), &json!(0)));
    let [retry, reset] =
        ["retry_after_ms", "reset_ms"].map(|name| body[name].as_u64().expect(name));
    assert!((1..=60_000).contains(&retry) && (retry..=60_000).contains(&reset), "{body}");
    assert_eq!(refused.header("ratelimit"), format!("\"login\";r=0;t={}", retry.div_ceil(1_000)));
    check(&room, "login", json!({ "key": "bob" })).await.is(200);
    for (outcome, count) in [("allowed", 3), ("refused", 1), ("asked", 0)] {
        let series =
            format!("anteroom_limit_checks_total{{limit=\"login\",outcome=\"{outcome}\"}}");
        assert_eq!(room.count(&series).await, count, "{outcome}");
    }
}

#[tokio::test]
async fn promise_07_a_refused_check_and_one_that_asks_take_nothing() {
    let room = start().await;
    for limit in ["search", "upload", "login"] {
        let all = check(&room, limit, json!({ "key": "ann", "cost": 0 })).await;
        let all = all.is(200).json()["remaining"].clone();
        assert_eq!(left(&room, limit, json!({ "key": "ann" })).await, all, "{limit}");
    }
    check(&room, "search", json!({ "key": "ann", "cost": 2 })).await.is(200);
    for _ in 0..3 {
        check(&room, "search", json!({ "key": "ann", "cost": 2 })).await.is(429);
    }
    check(&room, "search", json!({ "key": "ann" })).await.is(200);
    check(&room, "search", json!({ "key": "ann", "cost": 0 })).await.is(429);
}

#[tokio::test]
async fn several_checks_are_all_or_none() {
    let room = start().await;
    let both = |cost: u64| {
        json!({ "checks": [
        { "limit": "login", "key": "ann", "group": "g" },
        { "limit": "search", "key": "10.0.0.1", "group": "g", "cost": cost },
    ] })
    };
    let answer = check_all(&room, both(2)).await;
    let body = answer.is(200).json();
    assert_eq!(body["results"].as_array().map(Vec::len), Some(2));
    assert_eq!((&body["limit"], &body["remaining"]), (&json!(2), &json!(1)));
    assert_eq!(answer.header("ratelimit-policy"), "\"login\";q=2;w=60, \"search\";q=3;w=120");
    assert_eq!(answer.header("ratelimit"), "\"login\";r=1;t=60, \"search\";r=1;t=80");
    // Of the first there would be one more.
    let body = check_all(&room, both(2)).await.is(429).json();
    let allowed = body["results"].as_array().expect("results").iter().map(|it| &it["allowed"]);
    assert_eq!(allowed.collect::<Vec<_>>(), [&json!(true), &json!(false)]);
    assert_eq!(left(&room, "login", json!({ "key": "ann", "group": "g" })).await, 1);
    // The same key in a group of its own is another counter.
    assert_eq!(left(&room, "login", json!({ "key": "ann" })).await, 2);
    let withheld = "anteroom_limit_checks_total{limit=\"login\",outcome=\"withheld\"}";
    assert_eq!(room.count(withheld).await, 1);
}

#[tokio::test]
async fn a_limit_in_shadow_only_tells() {
    let room = start().await;
    let one = json!({ "key": "ann" });
    assert_eq!(check(&room, "quiet", one.clone()).await.is(200).json()["shadow"], Value::Null);
    let told = check(&room, "quiet", one.clone()).await.is(200).json();
    assert_eq!((&told["shadow"], &told["allowed"]), (&json!(true), &json!(true)));
    let both = json!({ "checks": [
        { "limit": "quiet", "key": "ann" }, { "limit": "login", "key": "ann" },
    ] });
    let told = check_all(&room, both).await.is(200).json();
    assert_eq!(told["results"][0]["shadow"], true);
    assert_eq!(left(&room, "login", one).await, 1, "the other was taken");
    let series = "anteroom_limit_checks_total{limit=\"quiet\",outcome=\"shadow_refused\"}";
    assert_eq!(room.count(series).await, 2);
}

#[tokio::test]
async fn promise_11_a_repeat_is_told_the_same_and_takes_nothing() {
    let room = start().await;
    let named = |cost: u64, id: &str| json!({ "key": "ann", "cost": cost, "id": id });
    for remaining in [2, 2] {
        let told = check(&room, "search", named(1, "a")).await.is(200).json();
        assert_eq!(told["remaining"], remaining);
    }
    check(&room, "search", named(2, "a")).await.refuses(409, "operation_mismatch");
    check(&room, "search", named(2, "b")).await.is(200);
    // Also when there is nothing left; a refused one is decided anew.
    check(&room, "search", named(2, "b")).await.is(200);
    check(&room, "search", named(1, "c")).await.is(429);
    let forget = ask(&room, "/v1/admin/limits/search/forget", json!({ "key": "ann" }));
    forget.send().await.is(204);
    check(&room, "search", named(1, "c")).await.is(200);
    let several = |cost: u64| {
        json!({ "id": "a", "checks": [
        { "limit": "search", "key": "bob", "cost": cost }, { "limit": "login", "key": "bob" },
    ] })
    };
    for _ in 0..3 {
        check_all(&room, several(2)).await.is(200);
    }
    check_all(&room, several(3)).await.refuses(409, "operation_mismatch");
    assert_eq!(left(&room, "login", json!({ "key": "bob" })).await, 1);
    let repeated = "anteroom_limit_checks_total{limit=\"login\",outcome=\"repeated\"}";
    assert_eq!(room.count(repeated).await, 2);
}

#[tokio::test]
async fn bad_checks_are_refused_by_name_and_take_nothing() {
    let room = start().await;
    let long = "x".repeat(129);
    for (body, status, said) in [
        (json!({}), 400, "missing field `key`"),
        (json!({ "key": 5 }), 400, "key: invalid type"),
        (json!({ "key": "a", "cost": -1 }), 400, "cost: must be a whole number"),
        (json!({ "key": "a", "cost": 1.5 }), 400, "cost: must be a whole number"),
        (json!({ "key": "a", "kost": 1 }), 400, "`kost`"),
        (json!({ "key": "" }), 422, "key must be 1 to 128 bytes"),
        (json!({ "key": long }), 422, "key must be 1 to 128 bytes"),
        (json!({ "key": "a\nb" }), 422, "key must be 1 to 128 bytes"),
        (json!({ "key": "a", "group": " " }), 422, "group must be 1 to 128 bytes"),
        (json!({ "key": "a", "id": "" }), 422, "id must be 1 to 128 bytes"),
        (json!({ "key": "a", "cost": 3 }), 422, "cost must be at most 2"),
    ] {
        let answer = check(&room, "login", body.clone()).await;
        assert_eq!(answer.status, status, "{body}: {answer:?}");
        let detail = answer.json()["detail"].as_str().unwrap_or_default().to_owned();
        assert!(detail.contains(said), "{body}: {detail}");
    }
    let of = |limit: &str, key: &str| json!({ "limit": limit, "key": key });
    let many: Vec<_> = (0..17).map(|_| of("login", "a")).collect();
    for (checks, status, code, said) in [
        (json!([]), 422, "invalid_value", "checks must be 1 to 16"),
        (json!(many), 422, "invalid_value", "checks must be 1 to 16"),
        (json!([of("login", "a"), of("none", "a")]), 404, "unknown_limit", "checks[1].limit"),
        (json!([of("login", "a"), of("search", "b")]), 422, "groups_differ", "checks[1].group"),
        (
            json!([of("login", "a"), of("login", "a")]),
            422,
            "invalid_value",
            "checks[1] must not name the same units as checks[0]",
        ),
        (json!([of("login", "")]), 422, "invalid_value", "checks[0].key must be"),
        (
            json!([{ "limit": "search", "key": "a", "cost": 4 }]),
            422,
            "invalid_value",
            "checks[0].cost must be at most 3",
        ),
        (json!([{ "limit": "login" }]), 400, "invalid_body", "checks[0]: missing field `key`"),
    ] {
        let answer = check_all(&room, json!({ "checks": checks })).await;
        answer.refuses(status, code);
        let detail = answer.json()["detail"].as_str().unwrap_or_default().to_owned();
        assert!(detail.contains(said), "{checks}: {detail}");
    }
    check(&room, "none", json!({ "key": "a" })).await.refuses(404, "unknown_limit");
    let keys: u64 = room
        .anteroom
        .deployment
        .redis
        .run(&["EVAL", "return #redis.call('KEYS', 'anteroom:v1:limit:*')", "0"])
        .await;
    assert_eq!(keys, 0);
}

#[tokio::test]
async fn keys_check_and_forget_what_their_scopes_name() {
    let keys = key("ops", OPS, "operator", &[])
        + &key("shop", SHOP, "backend", &[])
        + &key("login-only", LOGIN_ONLY, "operator", &["limits:login"]);
    let room = Room::start(&format!("{ONE}{LIMITS}{keys}")).await;
    let one = json!({ "key": "ann" });
    let both = json!({ "checks": [
        { "limit": "login", "key": "ann" }, { "limit": "search", "key": "ann" },
    ] });
    let call = |key: &'static str, path: &str, body: &Value| {
        ask(&room, path, body.clone()).key(key).send()
    };
    call(SHOP, "/v1/limits/login/check", &one).await.is(200);
    call(LOGIN_ONLY, "/v1/limits/login/check", &one).await.is(200);
    call(LOGIN_ONLY, "/v1/limits/search/check", &one).await.refuses(403, "key_forbidden");
    call(SHOP, "/v1/limits/check", &both).await.is(429);
    call(LOGIN_ONLY, "/v1/limits/check", &both).await.refuses(403, "key_forbidden");
    ask(&room, "/v1/limits/check", both.clone()).send().await.refuses(401, "key_missing");
    call(SHOP, "/v1/admin/limits/login/forget", &one).await.refuses(403, "key_forbidden");
    call(LOGIN_ONLY, "/v1/admin/limits/search/forget", &one).await.refuses(403, "key_forbidden");
    call(LOGIN_ONLY, "/v1/admin/limits/login/forget", &one).await.is(204);
    call(OPS, "/v1/admin/limits/login/forget", &one).await.is(204);
    let audit = until_some("4 lines of audit", PATIENCE, async || {
        let log = room.anteroom.admission.process.stdout();
        let lines = log.lines().filter_map(|line| serde_json::from_str(line).ok());
        let lines: Vec<Value> = lines.filter(|line: &Value| line["target"] == "audit").collect();
        (lines.len() >= 4).then_some(lines)
    })
    .await;
    let mut told = String::new();
    for fields in &audit {
        let field = |name: &str| fields[name].as_str().unwrap_or("-").to_owned();
        let words = ["key", "operation", "limit", "outcome", "before"].map(field);
        let _ = writeln!(told, "{}", words.join(" "));
    }
    assert_eq!(
        told,
        "shop limit.forget login key_forbidden null\n\
         login-only limit.forget search key_forbidden null\n\
         login-only limit.forget login done {\"found\":true}\n\
         ops limit.forget login done {\"found\":false}\n"
    );
}

/// A rule that is changed judges what was counted under the old one.
#[tokio::test]
async fn a_changed_rule_is_in_force_after_a_reload() {
    let room = start().await;
    let one = json!({ "key": "ann" });
    for status in [200, 200, 429] {
        check(&room, "login", one.clone()).await.is(status);
    }
    let more = LIMITS.replace("[limits.login]\nlimit = 2\n", "[limits.login]\nlimit = 3\n");
    room.anteroom.deployment.write(&format!("{ONE}{more}"));
    until("the limit is 3", PATIENCE, async || left(&room, "login", one.clone()).await == 1).await;
    check(&room, "login", one.clone()).await.is(200);
    check(&room, "login", one).await.is(429);
}
