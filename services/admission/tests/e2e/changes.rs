//! The log of changes: what operators changed of an entity, by whom, from what to what.

use anteroom_testkit::{PATIENCE, until};
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::events::issuer;
use crate::key::key;
use crate::room::{PATIENT, Room};
use crate::shared::{OPS, SHOP};

const SCREEN: &str = "ark1.the-key-of-a-viewer";
const NARROW: &str = "ark1.the-key-for-the-pool-alone";

const QUEUE: &str = "[queues.concert]\ncapacity = 1\n";
const OTHERS: &str = "[events.coupon]\nstock = 3\n\
    [pools.reward]\nfunds = 10\non_failover = \"hold\"\n\
    [limits.login]\nlimit = 5\nalgorithm = \"gcra\"\n[targets.shop]\n";

fn sections() -> String {
    let keys = key("ops", OPS, "operator", &[])
        + &key("shop", SHOP, "backend", &[])
        + &key("screen", SCREEN, "viewer", &[])
        + &key("narrow", NARROW, "operator", &["pools:reward"]);
    format!("{OTHERS}{keys}")
}

async fn start() -> Room {
    Room::start_with(&format!("{QUEUE}{}", sections()), &PATIENT).await
}

/// A call of the service port.
async fn call(room: &Room, key: &str, method: Method, path: &str, body: Value) -> Answer {
    let call = room.call("service", method, path).key(key);
    if body.is_null() { call.send().await } else { call.json(body).send().await }
}

/// An operator's call.
async fn ops(room: &Room, method: Method, path: &str, body: Value) -> Answer {
    call(room, OPS, method, &format!("/v1/admin/{path}"), body).await
}

/// A page of the log.
async fn page(room: &Room, key: &str, query: &str) -> Answer {
    call(room, key, Method::GET, &format!("/v1/admin/changes{query}"), Value::Null).await
}

/// All changes of an entity, newest first; each was made by this key not long ago.
async fn changes(room: &Room, entity: &str) -> Vec<Value> {
    let page = page(room, SCREEN, &format!("?entity={entity}&limit=200")).await.is(200).json();
    assert_eq!(page["next"], Value::Null, "{page}");
    let mut changes = page["changes"].as_array().expect("a list").clone();
    assert!(changes.is_sorted_by(|one, two| one["id"].as_u64() > two["id"].as_u64()), "{page}");
    for change in &mut changes {
        let at: jiff::Timestamp = change["at"].as_str().expect("a time").parse().expect("one");
        let age = jiff::Timestamp::now().duration_since(at).as_secs();
        assert!((-1..=600).contains(&age), "{change}");
        let change = change.as_object_mut().expect("an object");
        change.remove("at");
        change.remove("id");
        assert_eq!(change.remove("key"), Some(json!("ops")));
    }
    changes
}

/// The entries of these keys, as Redis has them.
async fn entries(room: &Room, keys: &str) -> Vec<String> {
    let redis = &room.anteroom.deployment.redis;
    let mut entries = Vec::new();
    for key in redis.run::<Vec<String>>(&["KEYS", keys]).await {
        entries.extend(redis.run::<Vec<Vec<u8>>>(&["ZRANGE", &key, "0", "-1"]).await);
    }
    entries.iter().map(|entry| String::from_utf8_lossy(entry).into_owned()).collect()
}

#[tokio::test]
async fn each_change_of_a_queue_has_one_entry_with_its_values() {
    let room = start().await;
    for visitor in ["ann@shop.example", "ben@shop.example"] {
        let body = json!({ "visitor_id": visitor });
        call(&room, SHOP, Method::POST, "/v1/queues/concert/tokens", body).await.is(201);
    }
    let until = "2199-01-01T00:00:00Z";
    let concert = "queues/concert";
    for body in [
        json!({ "state": "paused", "reason": "a fault <b>in the hall</b>" }),
        json!({ "state": "paused", "reason": "a fault <b>in the hall</b>" }),
        json!({ "capacity": 2, "interval_ms": 5_000, "local_answers": false, "until": until }),
        json!({ "opens_at": "2027-01-15T20:00:00+09:00", "capacity": 2, "until": until }),
        json!({ "state": "open", "capacity": null }),
        json!({ "batch": null }),
        json!({}),
    ] {
        ops(&room, Method::PATCH, concert, body).await.is(200);
    }
    let place = "queues/concert/places/2";
    ops(&room, Method::DELETE, place, Value::Null).await.is(204);
    ops(&room, Method::DELETE, place, Value::Null).await.is(204);
    ops(&room, Method::POST, "queues/concert/reset", Value::Null).await.is(202);
    let reason = json!({ "value": "a fault <b>in the hall</b>" });
    let none = json!({ "waiting": 0, "away": 0, "ready": 0, "active": 0, "last_ticket": 0 });
    let expected = [
        json!({
            "operation": "queue.reset", "after": none,
            "before": { "waiting": 0, "away": 0, "ready": 1, "active": 0, "last_ticket": 2 },
        }),
        json!({
            "operation": "queue.evict", "ticket": 2, "before": { "status": "waiting" },
            "after": { "evicted": true },
        }),
        json!({
            "operation": "queue.override_rules", "after": { "state": { "value": "open" } },
            "before": {
                "state": { "value": "paused" }, "reason": reason,
                "capacity": { "value": 2, "until": until },
            },
        }),
        json!({
            "operation": "queue.override_rules",
            "after": { "opens_at": { "value": "2027-01-15T11:00:00Z", "until": until } },
        }),
        json!({
            "operation": "queue.override_rules",
            "after": {
                "capacity": { "value": 2, "until": until },
                "interval_ms": { "value": 5_000, "until": until },
                "local_answers": { "value": false, "until": until },
            },
        }),
        json!({
            "operation": "queue.override_rules", "reason": "a fault <b>in the hall</b>",
            "after": { "state": { "value": "paused" }, "reason": reason },
        }),
    ];
    assert_eq!(changes(&room, "queues:concert").await, expected);
    let entries = entries(&room, "*:changes").await;
    assert_eq!(entries.len(), expected.len());
    assert!(entries.iter().all(|entry| !entry.contains("@shop.example")), "{entries:?}");
}

#[tokio::test]
async fn each_change_of_an_event_a_pool_and_a_limit_has_one_entry() {
    let room = start().await;
    let applicants = ["ann", "ben", "eve"];
    for visitor in applicants {
        let body = json!({ "visitor_id": visitor });
        call(&room, SHOP, Method::POST, "/v1/events/coupon/applications", body).await.is(202);
    }
    let event = issuer(&room, "coupon").await;
    let claimed = event.claim(9).await.expect("a claim");
    for work in &claimed.work {
        event.fail(claimed.fence, work.sequence, "no", None).await.expect("a failure");
    }
    for _ in 0..2 {
        let more = json!({ "add": 4, "operation_id": "a" });
        ops(&room, Method::POST, "events/coupon/stock", more).await.is(200);
        ops(&room, Method::POST, "events/coupon/dead/ann/retry", Value::Null).await.is(202);
        ops(&room, Method::DELETE, "events/coupon/dead/ben", Value::Null).await.is(204);
        ops(&room, Method::POST, "events/coupon/dead/retry", Value::Null).await.is(202);
    }
    let retried = |before: u64| {
        json!({
            "operation": "event.retry_dead", "before": { "dead": before },
            "after": { "retried": 1, "dead": before - 1 },
        })
    };
    let expected = [
        retried(1),
        json!({
            "operation": "event.give_up", "before": { "dead": 2 },
            "after": { "given_up": true, "dead": 1 },
        }),
        retried(3),
        json!({
            "operation": "event.add_stock", "before": { "stock": 3 },
            "after": { "stock": 7, "added": 4 },
        }),
    ];
    assert_eq!(changes(&room, "events:coupon").await, expected);

    for _ in 0..2 {
        let funds = json!({ "amount": 5, "operation_id": "a" });
        ops(&room, Method::POST, "pools/reward/funds", funds).await.is(200);
        ops(&room, Method::POST, "pools/reward/confirm", Value::Null).await.is(200);
    }
    // The primary has another replication id then.
    let redis = &room.anteroom.deployment.redis;
    redis.run::<()>(&["REPLICAOF", "127.0.0.1", "1"]).await;
    redis.run::<()>(&["REPLICAOF", "NO", "ONE"]).await;
    until("the pool is confirmed", PATIENCE, async || {
        let answer = ops(&room, Method::POST, "pools/reward/confirm", Value::Null).await;
        answer.status == 200
            && !changes(&room, "pools:reward").await[0]["before"]["unconfirmed"].is_null()
    })
    .await;
    let expected = [
        json!({
            "operation": "pool.confirm", "before": { "unconfirmed": true },
            "after": { "unconfirmed": false, "balance": 15 },
        }),
        json!({
            "operation": "pool.fund", "before": { "balance": 10 },
            "after": { "amount": 5, "balance": 15 },
        }),
    ];
    assert_eq!(changes(&room, "pools:reward").await, expected);

    const KEYS: usize = 40;
    let check = |n: usize| {
        let body = json!({ "key": format!("secret-{n}") });
        call(&room, SHOP, Method::POST, "/v1/limits/login/check", body)
    };
    let forget = |n: usize| {
        let body = json!({ "key": format!("secret-{n}") });
        ops(&room, Method::POST, "limits/login/forget", body)
    };
    for n in 0..KEYS {
        check(n).await.is(200);
    }
    for answer in join_all((0..KEYS).chain(0..KEYS).map(forget)).await {
        answer.is(204);
    }
    let forgotten = json!({ "operation": "limit.forget", "before": { "found": true } });
    assert_eq!(changes(&room, "limits:login").await, vec![forgotten; KEYS]);
    assert_eq!(changes(&room, "targets:shop").await, [Value::Null; 0]);
    let entries = entries(&room, "*:changes:login").await;
    assert_eq!(entries.len(), KEYS);
    assert!(entries.iter().all(|entry| !entry.contains("secret")), "{entries:?}");
}

/// Two operators in conflict, and all that is refused.
#[tokio::test]
async fn a_refused_call_has_no_entry() {
    let room = start().await;
    let concert = "/v1/admin/queues/concert";
    let get = async || call(&room, OPS, Method::GET, concert, Value::Null).await;
    until("the scheduler has written the rules", PATIENCE, async || {
        !get().await.is(200).header("etag").starts_with("\"0-")
    })
    .await;
    let read = get().await.header("etag").to_owned();
    let patch = async |capacity: u64| {
        let call = room.call("service", Method::PATCH, concert).key(OPS);
        call.header("if-match", &read).json(json!({ "capacity": capacity })).send().await
    };
    patch(5).await.is(200);
    patch(6).await.refuses(412, "revision_changed");
    for (key, body, status) in [
        (OPS, json!({ "capacity": 0 }), 422),
        (OPS, json!({ "x": 0 }), 400),
        (SHOP, json!({ "capacity": 9 }), 403),
        (SCREEN, json!({ "capacity": 9 }), 403),
        (NARROW, json!({ "capacity": 9 }), 403),
        ("ark1.x", json!({ "capacity": 9 }), 401),
    ] {
        call(&room, key, Method::PATCH, concert, body).await.is(status);
    }
    ops(&room, Method::DELETE, "queues/concert/places/9", Value::Null).await.is(404);
    ops(&room, Method::DELETE, "queues/concert", Value::Null).await.is(409);
    let change = json!({
        "operation": "queue.override_rules", "after": { "capacity": { "value": 5 } },
    });
    assert_eq!(changes(&room, "queues:concert").await, [change]);
    ops(&room, Method::DELETE, "events/coupon/dead/ann", Value::Null).await.is(404);
    let funds = json!({ "amount": (1_u64 << 53) - 1, "operation_id": "a" });
    ops(&room, Method::POST, "pools/reward/funds", funds).await.is(422);
    ops(&room, Method::POST, "limits/login/forget", json!({ "key": "ann" })).await.is(204);
    for entity in ["events:coupon", "pools:reward", "limits:login"] {
        assert_eq!(changes(&room, entity).await, [Value::Null; 0], "{entity}");
    }
}

#[tokio::test]
async fn operators_and_viewers_read_the_log_page_by_page() {
    let room = start().await;
    for add in 1..=7 {
        let body = json!({ "amount": add, "operation_id": add.to_string() });
        call(&room, NARROW, Method::POST, "/v1/admin/pools/reward/funds", body).await.is(200);
    }
    let (mut amounts, mut before) = (Vec::new(), String::new());
    loop {
        let query = format!("?entity=pools%3Areward&limit=3{before}");
        let page = page(&room, NARROW, &query).await.is(200).json();
        let changes = page["changes"].as_array().expect("a list");
        assert!(changes.iter().all(|change| change["key"] == "narrow"), "{page}");
        amounts.extend(changes.iter().map(|change| change["after"]["amount"].as_u64()));
        let Some(next) = page["next"].as_u64() else { break };
        assert_eq!(changes.last().expect("one")["id"], next);
        before = format!("&before={next}");
    }
    assert_eq!(amounts, (1..=7).rev().map(Some).collect::<Vec<_>>());

    for (key, query, status, code) in [
        (NARROW, "?entity=queues:concert", 403, "key_forbidden"),
        (SHOP, "?entity=queues:concert", 403, "key_forbidden"),
        (SHOP, "", 403, "key_forbidden"),
        ("ark1.x", "?entity=queues:none", 401, "key_invalid"),
        (SCREEN, "?entity=queues:none", 404, "unknown_queue"),
        (SCREEN, "?entity=events:none", 404, "unknown_event"),
        (SCREEN, "?entity=pools:none", 404, "unknown_pool"),
        (SCREEN, "?entity=limits:none", 404, "unknown_limit"),
        (SCREEN, "?entity=targets:none", 404, "unknown_target"),
        (SCREEN, "", 400, "bad_request"),
        (SCREEN, "?entity=concert", 400, "bad_request"),
        (SCREEN, "?entity=queue:concert", 400, "bad_request"),
        (SCREEN, "?entity=queues:concert&limit=0", 400, "bad_request"),
        (SCREEN, "?entity=queues:concert&limit=201", 400, "bad_request"),
        (SCREEN, "?entity=queues:concert&before=x", 400, "bad_request"),
        (SCREEN, "?entity=queues:concert&after=1", 400, "bad_request"),
    ] {
        page(&room, key, query).await.refuses(status, code);
    }
    let detail = page(&room, SCREEN, "").await.json()["detail"].clone();
    assert!(detail.as_str().is_some_and(|it| it.contains("SECTION:NAME")), "{detail}");
    let is_logged = |line: &Value| {
        (&line["operation"], &line["pool"], &line["outcome"])
            == (&json!("changes"), &json!("none"), &json!("unknown_pool"))
    };
    until("the refusal is logged", PATIENCE, async || {
        let log = room.anteroom.admission.process.stdout();
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).any(|line| is_logged(&line))
    })
    .await;
}

#[tokio::test]
async fn a_purge_deletes_the_log_with_the_queue_and_a_reset_keeps_it() {
    let room = start().await;
    ops(&room, Method::PATCH, "queues/concert", json!({ "capacity": 3 })).await.is(200);
    ops(&room, Method::POST, "queues/concert/reset", Value::Null).await.is(202);
    assert_eq!(changes(&room, "queues:concert").await.len(), 2);
    room.reconfigure(&format!("[queues.other]\ncapacity = 1\n{}", sections()));
    until("the queue is deleted", PATIENCE, async || {
        ops(&room, Method::DELETE, "queues/concert", Value::Null).await.status == 204
    })
    .await;
    page(&room, OPS, "?entity=queues:concert").await.refuses(404, "unknown_queue");
    until("no service writes its rules again", PATIENCE, async || {
        ops(&room, Method::DELETE, "queues/concert", Value::Null).await.is(204);
        let keys =
            room.anteroom.deployment.redis.run::<Vec<String>>(&["KEYS", "*{concert}*"]).await;
        // Those of the two calls end by themselves.
        keys.iter().all(|key| key.contains("{concert}:o"))
    })
    .await;
    room.reconfigure(&format!("{QUEUE}{}", sections()));
    until("the queue is back", PATIENCE, async || {
        page(&room, OPS, "?entity=queues:concert").await.status == 200
    })
    .await;
    assert_eq!(changes(&room, "queues:concert").await, [Value::Null; 0]);
}
