//! Targets (circuit breakers) over HTTP: what backends report, and what they get, also while Redis
//! is down.

use std::time::{Duration, Instant};

use anteroom_testkit::{PATIENCE, Redis, until};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{answer::Answer, key::key, room::Room};

const SHOP: &str = "ark1.the-key-for-one-target";
const NARROW: &str = "ark1.the-key-for-another-target";

/// A few outcomes decide; it is half open after a second.
pub const TARGET: &str = "[targets.:name]\nmin_samples = 4\nopen_for = \"1s\"\n";

/// What the tests with keys have in the configuration.
pub fn keyed() -> String {
    TARGET.replace(":name", "scoped")
        + "[targets.other]\n"
        + &key("scoped-shop", SHOP, "backend", &["targets:scoped"])
        + &key("scoped-narrow", NARROW, "backend", &["targets:other", "queues:scoped"])
}

/// The reply to a report, of the admission at this address.
async fn report(room: &Room, base: &str, body: Value) -> Answer {
    let path = "/v1/targets/:name/outcomes";
    room.call_at(base, Method::POST, path).json(body).send().await
}

pub const ITS_TARGET: &str = "/v1/targets/:name";

/// Waits until Redis answers.
pub async fn ready(room: Room) -> Room {
    until("the store answers", PATIENCE, async || look(&room).await["degraded"].is_null()).await;
    room
}

pub async fn record(room: &Room, body: Value) -> Value {
    report(room, &room.url("service"), body).await.is(200).json()
}

pub async fn look(room: &Room) -> Value {
    room.service("/v1/targets/:name").await.is(200).json()
}

/// How many such outcomes were reported.
async fn counted(room: &Room, outcome: &str) -> u64 {
    let label = format!("{{outcome=\"{outcome}\",target=\":name\"}}");
    room.count(&format!("anteroom_target_outcomes_total{label}")).await
}

async fn permit(room: &Room, base: &str) -> Value {
    let path = "/v1/targets/:name/permits";
    room.call_at(base, Method::POST, path).send().await.is(200).json()
}

#[tokio::test]
async fn promise_08_a_target_over_http_from_closed_to_closed() {
    let room = ready(Room::shared(TARGET).await).await;
    let service = room.url("service");
    let nothing = json!({
        "success_rate": null, "successes": 0, "failures": 0, "window_ms": 300_000,
        "fallback": false, "state": "closed", "latency_p50_ms": null, "latency_p95_ms": null,
        "reporters": 0,
    });
    room.shows(ITS_TARGET, |shown| *shown == nothing).await;
    assert_eq!(permit(&room, &service).await, json!({ "allowed": true, "state": "closed" }));
    let reply = record(&room, json!({ "success": true, "latency_ms": 70, "reporter": "a" })).await;
    assert_eq!(
        reply,
        json!({
            "success_rate": 1.0, "successes": 1, "failures": 0, "window_ms": 300_000,
            "fallback": false, "state": "closed",
        })
    );
    let reply = record(&room, json!({ "successes": 1, "failures": 2, "reporter": "a" })).await;
    assert_eq!(reply["success_rate"], 0.5, "exactly the threshold is healthy");
    assert_eq!((&reply["fallback"], &reply["state"]), (&json!(false), &json!("closed")));
    record(&room, json!({ "success": true, "latency_ms": 400 })).await;
    let reply = record(&room, json!({ "failures": 2, "reporter": "a" })).await;
    assert_eq!(reply["state"], "closed", "one reporter of two alone opens nothing");
    // GET may be a second behind, so it is read while nothing changes by itself.
    let shown = room.shows(ITS_TARGET, |shown| shown["failures"] == 4).await;
    assert_eq!(shown["reporters"], 2);
    assert_eq!((&shown["latency_p50_ms"], &shown["latency_p95_ms"]), (&json!(100), &json!(500)));
    let reply = record(&room, json!({ "success": false })).await;
    assert_eq!((&reply["success_rate"], &reply["fallback"]), (&json!(0.375), &json!(true)));
    assert_eq!(reply["failures"], 5);

    let refused = permit(&room, &service).await;
    assert_eq!((&refused["allowed"], &refused["permit"]), (&json!(false), &json!(null)));
    let retry_after_ms = refused["retry_after_ms"].as_u64();
    assert!(retry_after_ms.is_some_and(|ms| (1..=1_000).contains(&ms)), "{refused}");
    until("it is half open", PATIENCE, async || look(&room).await["state"] == "half_open").await;
    let half_open = look(&room).await;
    assert_eq!((&half_open["fallback"], &half_open["permits"]), (&json!(true), &json!(0)));
    for n in 1..=5 {
        let permit = permit(&room, &service).await;
        assert_eq!((&permit["allowed"], &permit["state"]), (&json!(true), &json!("half_open")));
        let reply = record(&room, json!({ "success": true, "permit": permit["permit"] })).await;
        assert_eq!(reply["successes"], n);
        assert_eq!(reply["state"], if n < 5 { "half_open" } else { "closed" });
    }
    assert_eq!((counted(&room, "success").await, counted(&room, "failure").await), (8, 5));
    for (metric, value) in [("success_ratio", 1.0), ("fallback", 0.0)] {
        let metric = room.text(&format!("anteroom_target_{metric}{{target=\":name\"}}"));
        room.anteroom.admission.until_metric(&metric, |it| it == Some(value)).await;
    }
}

#[tokio::test]
async fn promise_11_a_report_with_an_id_counts_once() {
    let room = ready(Room::shared(TARGET).await).await;
    for _ in 0..2 {
        let reply = record(&room, json!({ "successes": 3, "id": "batch-7" })).await;
        assert_eq!(reply["successes"], 3);
    }
    let service = room.url("service");
    let other = report(&room, &service, json!({ "successes": 4, "id": "batch-7" })).await;
    other.refuses(409, "operation_mismatch");
    room.shows(ITS_TARGET, |shown| shown["successes"] == 3).await;
    for n in 4..6 {
        assert_eq!(record(&room, json!({ "success": true })).await["successes"], n);
    }
    assert_eq!(counted(&room, "success").await, 5);
}

#[tokio::test]
async fn promise_08_half_open_lets_exactly_probes_through_at_three_admissions() {
    // It does not become half open between two reports, however slow the machine is.
    let room = ready(Room::start(LONG).await).await;
    let more =
        [room.anteroom.deployment.admission().await, room.anteroom.deployment.admission().await];
    // Without Redis they answer from what they know, and nothing counts.
    for admission in &more {
        admission.until_ready().await;
    }
    let mut bases = vec![room.url("service")];
    bases.extend(more.iter().map(|admission| admission.url("service")));
    for base in &bases {
        report(&room, base, json!({ "failures": 2, "reporter": base })).await.is(200);
    }
    for base in &bases {
        let reply = report(&room, base, json!({ "success": true, "reporter": base })).await;
        assert_eq!(reply.is(200).json()["fallback"], true, "each gets it with its next reply");
    }
    room.reconfigure(&LONG.replace("1h", "1s"));
    until("it is half open", PATIENCE, async || look(&room).await["state"] == "half_open").await;
    // A permit lasts for 10 s: all are requested within less.
    until("all come in time", PATIENCE, async || {
        let began = Instant::now();
        let requests = (0..60).map(|n| permit(&room, &bases[n % 3]));
        let permits = futures_util::future::join_all(requests).await;
        let given: Vec<_> = permits.iter().filter(|permit| permit["allowed"] == true).collect();
        assert!(given.iter().all(|permit| permit["permit"].is_string()), "{given:?}");
        let in_time = began.elapsed() < Duration::from_secs(9);
        assert!(!in_time || given.len() <= 5, "{given:?}");
        in_time && given.len() == 5
    })
    .await;
}

#[tokio::test]
async fn a_key_reaches_the_targets_of_its_scopes() {
    let room = Room::with_keys("scoped").await;
    let get = async |key: &str, target: &str| {
        let path = format!("/v1/targets/{target}");
        room.call("service", Method::GET, &path).key(key).send().await
    };
    get(SHOP, ":name").await.is(200);
    get(SHOP, "other").await.refuses(403, "key_forbidden");
    get(NARROW, ":name").await.refuses(403, "key_forbidden");
    get(SHOP, "none").await.refuses(404, "unknown_target");
    get("ark1.unknown", ":name").await.refuses(401, "key_invalid");
    room.call("service", Method::POST, "/v1/targets/:name/outcomes")
        .key(NARROW)
        .json(json!({ "success": true }))
        .send()
        .await
        .refuses(403, "key_forbidden");
    room.get("/v1/targets/:name").send().await.refuses(404, "not_found");
}

#[tokio::test]
async fn a_changed_file_changes_the_rules_and_what_left_it_is_gone() {
    let room = ready(Room::start(TARGET).await).await;
    let admission = &room.anteroom.admission;
    record(&room, json!({ "failures": 3 })).await;
    let fallback = &*room.text("anteroom_target_fallback{target=\":name\"}");
    admission.until_metric(fallback, |it| it == Some(0.0)).await;
    let changed = TARGET.replace("min_samples = 4", "min_samples = 3");
    room.reconfigure(&changed);
    // The next poll finds what is unhealthy under the new rule.
    admission.until_metric(fallback, |it| it == Some(1.0)).await;
    room.reconfigure("[targets.other]\n");
    until("it is gone", PATIENCE, async || {
        let get = room.service("/v1/targets/:name").await;
        get.code() == "unknown_target"
    })
    .await;
    admission.until_metric(fallback, |it| it.is_none()).await;
}

/// What callers get from the moment in which Redis fails.
pub async fn degrades(room: &Room) {
    let service = room.url("service");
    until("the store is missed", PATIENCE, async || {
        report(room, &service, json!({ "success": true })).await.is(200).json()["degraded"] == true
    })
    .await;
    let began = Instant::now();
    // What GET read in the last second is still shown.
    until("GET misses the store", PATIENCE, async || look(room).await["degraded"] == true).await;
    // What was known last is returned, …
    let (mut known, mut reply) = (false, look(room).await);
    while reply["state"] != "unknown" {
        assert_eq!(
            (&reply["degraded"], &reply["fallback"]),
            (&json!(true), &json!(true)),
            "{reply}"
        );
        assert_eq!((&reply["state"], &reply["failures"]), (&json!("open"), &json!(4)), "{reply}");
        let permit = permit(room, &service).await;
        if permit["state"] == "open" {
            assert_eq!((&permit["allowed"], &permit["degraded"]), (&json!(false), &json!(true)));
            assert!(permit["retry_after_ms"].as_u64() > Some(0), "{permit}");
        }
        (known, reply) = (true, look(room).await);
        assert!(began.elapsed() < PATIENCE, "for ever");
    }
    // … for up to five seconds; then nothing is known.
    assert!(known, "it was known");
    let unknown = json!({
        "success_rate": null, "successes": 0, "failures": 0, "window_ms": 300_000,
        "fallback": false, "state": "unknown", "degraded": true,
    });
    assert_eq!(report(room, &service, json!({ "success": false })).await.is(200).json(), unknown);
    let allowed = json!({ "allowed": true, "state": "unknown", "degraded": true });
    assert_eq!(permit(room, &service).await, allowed);
    let degraded = room.text("anteroom_target_degraded_answers_total{target=\":name\"}");
    assert!(room.anteroom.admission.metric(&degraded).await > Some(2.0));
    // A faulty report is found without Redis.
    report(room, &service, json!({})).await.refuses(422, "invalid_value");
}

/// Opened for long: its state does not change by itself.
pub const LONG: &str = "[targets.:name]\nmin_samples = 4\nopen_for = \"1h\"\n";

async fn opened(redis: Redis) -> Room {
    let room = ready(Room::start_on(redis, LONG, &[]).await).await;
    assert_eq!(record(&room, json!({ "failures": 4 })).await["state"], "open");
    room
}

pub async fn recovers(room: &Room) {
    let service = room.url("service");
    until("the store is back", PATIENCE, async || {
        let reply = report(room, &service, json!({ "success": true })).await.is(200).json();
        reply["degraded"].is_null()
    })
    .await;
    assert_eq!(look(room).await["fallback"], true);
}

/// Frozen last: what was sent then may be counted later.
#[tokio::test]
async fn a_killed_read_only_or_frozen_store_degrades_the_answers_and_is_found_again() {
    let mut room = opened(Redis::builder().durable().start().await).await;
    room.anteroom.deployment.redis.kill();
    degrades(&room).await;
    room.anteroom.deployment.redis.restart().await;
    recovers(&room).await;

    let redis = &room.anteroom.deployment.redis;
    redis.run::<()>(&["REPLICAOF", "127.0.0.1", "1"]).await;
    degrades(&room).await;
    redis.run::<()>(&["REPLICAOF", "NO", "ONE"]).await;
    recovers(&room).await;

    redis.freeze();
    degrades(&room).await;
    redis.thaw();
    recovers(&room).await;
}

/// Reads need no memory; only reports are degraded, and return what is known.
#[tokio::test]
async fn a_full_store_degrades_reports_and_shows_the_state() {
    let room = opened(Redis::start().await).await;
    let redis = &room.anteroom.deployment.redis;
    redis.run::<()>(&["CONFIG", "SET", "maxmemory", "1"]).await;
    let reply = record(&room, json!({ "success": true })).await;
    assert_eq!((&reply["degraded"], &reply["state"]), (&json!(true), &json!("open")), "{reply}");
    let shown = look(&room).await;
    assert_eq!((&shown["degraded"], &shown["successes"]), (&json!(null), &json!(0)), "{shown}");
    redis.run::<()>(&["CONFIG", "SET", "maxmemory", "0"]).await;
    assert_eq!(record(&room, json!({ "success": true })).await["successes"], 1);
}

/// An empty store knows nothing, and begins with what is reported next.
#[tokio::test]
async fn a_store_that_comes_back_empty_begins_with_a_closed_target() {
    let mut room = opened(Redis::start().await).await;
    room.anteroom.deployment.redis.restart().await;
    let service = room.url("service");
    until("it is new", PATIENCE, async || {
        let reply = report(&room, &service, json!({ "success": true })).await.is(200).json();
        reply["degraded"].is_null() && reply["state"] == "closed"
    })
    .await;
}

/// Without a single queue the services are ready, and miss none.
#[tokio::test]
async fn a_configuration_of_targets_alone_is_whole() {
    let room = ready(Room::start(TARGET).await).await;
    room.anteroom.admission.until_ready().await;
    room.anteroom.scheduler.until_ready().await;
    for service in [&room.anteroom.admission, &room.anteroom.scheduler] {
        assert_eq!(service.logged("[queues.*]"), 0);
    }
}
