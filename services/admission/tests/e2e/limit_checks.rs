//! Limits over HTTP.

use std::fmt::Write as _;

use anteroom_testkit::{PATIENCE, until, until_some};
use reqwest::Method;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::key::key;
use crate::room::{Call, Room};
use crate::shared::{OPS, SHOP};

pub const LIMITS: &str = "[limits.:name-login]\nlimit = 2\n\
    [limits.:name-search]\nlimit = 3\nwindow = \"2m\"\nalgorithm = \"gcra\"\n\
    [limits.:name-upload]\nlimit = 1_000_000\nwindow = \"24h\"\nalgorithm = \"counter\"\n\
    [limits.:name-quiet]\nlimit = 1\nshadow = true\n";

const LOGIN_ONLY: &str = "ark1.the-key-for-the-login";

/// What the tests with keys have in the configuration.
pub fn keyed() -> String {
    LIMITS.replace(":name", "checked")
        + &key("checked-login", LOGIN_ONLY, "operator", &["limits:checked-login"])
}

/// A call whose body may hold `:name`, too.
fn post(room: &Room, path: &str, body: &Value) -> Call {
    let body = room.text(&body.to_string());
    room.call("service", Method::POST, path).body("application/json", body)
}

async fn check(room: &Room, limit: &str, body: Value) -> Answer {
    post(room, &format!("/v1/limits/:name-{limit}/check"), &body).send().await
}

async fn check_all(room: &Room, body: Value) -> Answer {
    post(room, "/v1/limits/check", &body).send().await
}

/// How many units are left of a key.
async fn left(room: &Room, limit: &str, body: Value) -> Value {
    let mut body = body;
    body["cost"] = json!(0);
    check(room, limit, body).await.json()["remaining"].clone()
}

#[tokio::test]
async fn a_limit_allows_so_many_and_says_when_there_are_more() {
    let room = Room::shared(LIMITS).await;
    for remaining in [1, 0] {
        let answer = check(&room, "login", json!({ "key": "ann" })).await;
        assert_eq!(
            answer.is(200).json(),
            json!({
                "allowed": true, "limit": 2, "remaining": remaining, "reset_ms": 60_000,
                "retry_after_ms": 0,
            })
        );
        assert_eq!(answer.header("ratelimit-policy"), room.text("\":name-login\";q=2;w=60"));
        let left = format!("\":name-login\";r={remaining};t=60");
        assert_eq!(answer.header("ratelimit"), room.text(&left));
        assert_eq!(answer.header("retry-after"), "");
    }
    let refused = check(&room, "login", json!({ "key": "ann" })).await;
    let body = refused.is(429).json();
    assert_eq!((&body["allowed"], &body["remaining"]), (&json!(false), &json!(0)));
    let [retry, reset] =
        ["retry_after_ms", "reset_ms"].map(|name| body[name].as_u64().expect(name));
    assert!((1..=60_000).contains(&retry) && (retry..=60_000).contains(&reset), "{body}");
    let left = format!("\":name-login\";r=0;t={}", retry.div_ceil(1_000));
    assert_eq!(refused.header("ratelimit"), room.text(&left));
    check(&room, "login", json!({ "key": "bob" })).await.is(200);
    for (outcome, count) in [("allowed", 3), ("refused", 1), ("asked", 0)] {
        let series =
            format!("anteroom_limit_checks_total{{limit=\":name-login\",outcome=\"{outcome}\"}}");
        assert_eq!(room.count(&series).await, count, "{outcome}");
    }
}

/// What the process repeats without Redis is like what Redis answered, and counts as well.
#[tokio::test]
async fn a_key_over_its_limit_costs_redis_about_two_checks_a_second() {
    const CHECKS: u64 = 200;
    // Of its own, so that all checks are the test's.
    let room = Room::behind_own_admission(LIMITS, &[]).await;
    let one = json!({ "key": "ann" });
    while check(&room, "login", one.clone()).await.status == 200 {}
    let sent = async || room.count("anteroom_operations_total{operation=\"limit.check\"}").await;
    let (before, began) = (sent().await, std::time::Instant::now());
    for _ in 0..CHECKS {
        let refused = check(&room, "login", one.clone()).await;
        let mut body = refused.is(429).json();
        let [retry, reset] = ["retry_after_ms", "reset_ms"]
            .map(|name| body[name].take().as_u64().unwrap_or_default());
        assert!((1..=60_000).contains(&retry) && (retry..=60_000).contains(&reset), "{refused:?}");
        assert_eq!(
            body,
            json!({
                "allowed": false, "limit": 2, "remaining": 0, "reset_ms": null,
                "retry_after_ms": null,
            })
        );
        let seconds = retry.div_ceil(1_000);
        assert_eq!(refused.header("retry-after"), seconds.to_string());
        assert_eq!(refused.header("ratelimit-policy"), room.text("\":name-login\";q=2;w=60"));
        let left = format!("\":name-login\";r=0;t={seconds}");
        assert_eq!(refused.header("ratelimit"), room.text(&left));
        assert_eq!(refused.header("content-type"), "application/json");
    }
    let most = u64::try_from(began.elapsed().as_millis()).expect("a short time") / 600 + 1;
    let sent = sent().await - before;
    assert!(sent <= most, "{sent} of {CHECKS} checks reached Redis, {most} may");
    let refused = "anteroom_limit_checks_total{limit=\":name-login\",outcome=\"refused\"}";
    assert_eq!(room.count(refused).await, CHECKS + 1);
}

#[tokio::test]
async fn promise_07_a_refused_check_and_one_of_cost_0_take_nothing() {
    let room = Room::shared(LIMITS).await;
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
    let room = Room::shared(LIMITS).await;
    let both = |cost: u64| {
        json!({ "checks": [
        { "limit": ":name-login", "key": "ann", "group": "g" },
        { "limit": ":name-search", "key": "10.0.0.1", "group": "g", "cost": cost },
    ] })
    };
    let answer = check_all(&room, both(2)).await;
    let body = answer.is(200).json();
    assert_eq!(body["results"].as_array().map(Vec::len), Some(2));
    assert_eq!((&body["limit"], &body["remaining"]), (&json!(2), &json!(1)));
    for (header, value) in [
        ("ratelimit-policy", "\":name-login\";q=2;w=60, \":name-search\";q=3;w=120"),
        ("ratelimit", "\":name-login\";r=1;t=60, \":name-search\";r=1;t=80"),
    ] {
        assert_eq!(answer.header(header), room.text(value));
    }
    // Of the first there would be one more.
    let body = check_all(&room, both(2)).await.is(429).json();
    let allowed = body["results"].as_array().expect("results").iter().map(|it| &it["allowed"]);
    assert_eq!(allowed.collect::<Vec<_>>(), [&json!(true), &json!(false)]);
    assert_eq!(left(&room, "login", json!({ "key": "ann", "group": "g" })).await, 1);
    // The same key in a group of its own is another counter.
    assert_eq!(left(&room, "login", json!({ "key": "ann" })).await, 2);
    let withheld = "anteroom_limit_checks_total{limit=\":name-login\",outcome=\"withheld\"}";
    assert_eq!(room.count(withheld).await, 1);
}

#[tokio::test]
async fn a_limit_in_shadow_only_reports() {
    let room = Room::shared(LIMITS).await;
    let one = json!({ "key": "ann" });
    assert_eq!(check(&room, "quiet", one.clone()).await.is(200).json()["shadow"], Value::Null);
    let reply = check(&room, "quiet", one.clone()).await.is(200).json();
    assert_eq!((&reply["shadow"], &reply["allowed"]), (&json!(true), &json!(true)));
    let both = json!({ "checks": [
        { "limit": ":name-quiet", "key": "ann" }, { "limit": ":name-login", "key": "ann" },
    ] });
    let reply = check_all(&room, both).await.is(200).json();
    assert_eq!(reply["results"][0]["shadow"], true);
    assert_eq!(left(&room, "login", one).await, 1, "the other was taken");
    let series = "anteroom_limit_checks_total{limit=\":name-quiet\",outcome=\"shadow_refused\"}";
    assert_eq!(room.count(series).await, 2);
}

#[tokio::test]
async fn promise_11_a_repeat_gets_the_same_answer_and_takes_nothing() {
    let room = Room::shared(LIMITS).await;
    let named = |cost: u64, id: &str| json!({ "key": "ann", "cost": cost, "id": id });
    for remaining in [2, 2] {
        let reply = check(&room, "search", named(1, "a")).await.is(200).json();
        assert_eq!(reply["remaining"], remaining);
    }
    check(&room, "search", named(2, "a")).await.refuses(409, "operation_mismatch");
    check(&room, "search", named(2, "b")).await.is(200);
    // Also when there is nothing left; a refused one is decided afresh.
    check(&room, "search", named(2, "b")).await.is(200);
    check(&room, "search", named(1, "c")).await.is(429);
    let forget = post(&room, "/v1/admin/limits/:name-search/forget", &json!({ "key": "ann" }));
    forget.send().await.is(204);
    check(&room, "search", named(1, "c")).await.is(200);
    let several = |cost: u64| {
        json!({ "id": "a", "checks": [
        { "limit": ":name-search", "key": "bob", "cost": cost }, { "limit": ":name-login", "key": "bob" },
    ] })
    };
    for _ in 0..3 {
        check_all(&room, several(2)).await.is(200);
    }
    check_all(&room, several(3)).await.refuses(409, "operation_mismatch");
    assert_eq!(left(&room, "login", json!({ "key": "bob" })).await, 1);
    let repeated = "anteroom_limit_checks_total{limit=\":name-login\",outcome=\"repeated\"}";
    assert_eq!(room.count(repeated).await, 2);
}

#[tokio::test]
async fn bad_checks_are_refused_by_name_and_take_nothing() {
    let room = Room::start(LIMITS).await;
    let long = "x".repeat(129);
    for (body, status, part) in [
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
        assert!(detail.contains(part), "{body}: {detail}");
    }
    let of = |limit: &str, key: &str| json!({ "limit": limit, "key": key });
    let many: Vec<_> = (0..17).map(|_| of(":name-login", "a")).collect();
    for (checks, status, code, part) in [
        (json!([]), 422, "invalid_value", "checks must be 1 to 16"),
        (json!(many), 422, "invalid_value", "checks must be 1 to 16"),
        (json!([of(":name-login", "a"), of("none", "a")]), 404, "unknown_limit", "checks[1].limit"),
        (
            json!([of(":name-login", "a"), of(":name-search", "b")]),
            422,
            "groups_differ",
            "checks[1].group",
        ),
        (
            json!([of(":name-login", "a"), of(":name-login", "a")]),
            422,
            "invalid_value",
            "checks[1] must not name the same units as checks[0]",
        ),
        (json!([of(":name-login", "")]), 422, "invalid_value", "checks[0].key must be"),
        (
            json!([{ "limit": ":name-search", "key": "a", "cost": 4 }]),
            422,
            "invalid_value",
            "checks[0].cost must be at most 3",
        ),
        (
            json!([{ "limit": ":name-login" }]),
            400,
            "invalid_body",
            "checks[0]: missing field `key`",
        ),
    ] {
        let answer = check_all(&room, json!({ "checks": checks })).await;
        answer.refuses(status, code);
        let detail = answer.json()["detail"].as_str().unwrap_or_default().to_owned();
        assert!(detail.contains(part), "{checks}: {detail}");
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
    let room = Room::with_keys("checked").await;
    let one = json!({ "key": "ann" });
    let both = json!({ "checks": [
        { "limit": ":name-login", "key": "ann" }, { "limit": ":name-search", "key": "ann" },
    ] });
    let call =
        |key: &'static str, path: &str, body: &Value| post(&room, path, body).key(key).send();
    call(SHOP, "/v1/limits/:name-login/check", &one).await.is(200);
    call(LOGIN_ONLY, "/v1/limits/:name-login/check", &one).await.is(200);
    call(LOGIN_ONLY, "/v1/limits/:name-search/check", &one).await.refuses(403, "key_forbidden");
    call(SHOP, "/v1/limits/check", &both).await.is(429);
    call(LOGIN_ONLY, "/v1/limits/check", &both).await.refuses(403, "key_forbidden");
    post(&room, "/v1/limits/check", &both).send().await.refuses(401, "key_missing");
    call(SHOP, "/v1/admin/limits/:name-login/forget", &one).await.refuses(403, "key_forbidden");
    call(LOGIN_ONLY, "/v1/admin/limits/:name-search/forget", &one)
        .await
        .refuses(403, "key_forbidden");
    call(LOGIN_ONLY, "/v1/admin/limits/:name-login/forget", &one).await.is(204);
    call(OPS, "/v1/admin/limits/:name-login/forget", &one).await.is(204);
    let audit = until_some("4 lines of audit", PATIENCE, async || {
        let lines = room.audit();
        (lines.len() >= 4).then_some(lines)
    })
    .await;
    let mut written = String::new();
    for fields in &audit {
        let field = |name: &str| fields[name].as_str().unwrap_or("-").to_owned();
        let words = ["key", "operation", "limit", "outcome", "before"].map(field);
        let _ = writeln!(written, "{}", words.join(" "));
    }
    assert_eq!(
        written,
        "shop limit.forget checked-login key_forbidden null\n\
         checked-login limit.forget checked-search key_forbidden null\n\
         checked-login limit.forget checked-login done {\"found\":true}\n\
         ops limit.forget checked-login done {\"found\":false}\n"
    );
}

/// A rule that is changed judges what was counted under the old one.
#[tokio::test]
async fn a_changed_rule_is_in_force_after_a_reload() {
    let room = Room::start(LIMITS).await;
    let one = json!({ "key": "ann" });
    for status in [200, 200, 429] {
        check(&room, "login", one.clone()).await.is(status);
    }
    let more = LIMITS.replacen("limit = 2", "limit = 3", 1);
    room.reconfigure(&more);
    until("the limit is 3", PATIENCE, async || left(&room, "login", one.clone()).await == 1).await;
    check(&room, "login", one.clone()).await.is(200);
    check(&room, "login", one).await.is(429);
}
