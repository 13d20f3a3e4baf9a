//! Targets over HTTP: what backends report, what they are told, and what they are told while the
//! store is away.

use std::time::{Duration, Instant};

use anteroom_testkit::{PATIENCE, Redis, Service, until};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{answer::Answer, key::key, room::Room};

const SHOP: &str = "ark1.the-key-of-a-backend";
const NARROW: &str = "ark1.the-key-for-another-target";

/// A few outcomes decide; it is tried again after a second.
const TARGET: &str = "[targets.shop]\nmin_samples = 4\nopen_for = \"1s\"\n";

/// What a target tells, of the admission at this address.
async fn tell(room: &Room, base: &str, body: Value) -> Answer {
    let path = "/v1/targets/shop/outcomes";
    room.call_at(base, Method::POST, path).json(body).send().await
}

pub const SHOP_TARGET: &str = "/v1/targets/shop";

/// Starts everything, and waits until the store answers.
async fn start(configuration: &str) -> Room {
    ready(Room::start(configuration).await).await
}

pub async fn ready(room: Room) -> Room {
    until("the store answers", PATIENCE, async || look(&room).await["degraded"].is_null()).await;
    room
}

pub async fn record(room: &Room, body: Value) -> Value {
    tell(room, &room.anteroom.url("service"), body).await.is(200).json()
}

pub async fn look(room: &Room) -> Value {
    room.call("service", Method::GET, "/v1/targets/shop").send().await.is(200).json()
}

async fn permit(room: &Room, base: &str) -> Value {
    let path = "/v1/targets/shop/permits";
    room.call_at(base, Method::POST, path).send().await.is(200).json()
}

#[tokio::test]
async fn promise_08_a_target_over_http_from_closed_to_closed() {
    let room = start(TARGET).await;
    let service = room.anteroom.url("service");
    let nothing = json!({
        "success_rate": null, "successes": 0, "failures": 0, "window_ms": 300_000,
        "fallback": false, "state": "closed", "latency_p50_ms": null, "latency_p95_ms": null,
        "reporters": 0,
    });
    room.shows(SHOP_TARGET, |shown| *shown == nothing).await;
    assert_eq!(permit(&room, &service).await, json!({ "allowed": true, "state": "closed" }));
    let told = record(&room, json!({ "success": true, "latency_ms": 70, "reporter": "a" })).await;
    assert_eq!(
        told,
        json!({
            "success_rate": 1.0, "successes": 1, "failures": 0, "window_ms": 300_000,
            "fallback": false, "state": "closed",
        })
    );
    let told = record(&room, json!({ "successes": 1, "failures": 2, "reporter": "a" })).await;
    assert_eq!(told["success_rate"], 0.5, "exactly the threshold is healthy");
    assert_eq!((&told["fallback"], &told["state"]), (&json!(false), &json!("closed")));
    record(&room, json!({ "success": true })).await;
    let told = record(&room, json!({ "failures": 2, "reporter": "a" })).await;
    assert_eq!(told["state"], "closed", "one reporter of two alone opens nothing");
    room.shows(SHOP_TARGET, |shown| shown["reporters"] == 2).await;
    let told = record(&room, json!({ "success": false, "latency_ms": 400 })).await;
    assert_eq!((&told["success_rate"], &told["fallback"]), (&json!(0.375), &json!(true)));
    let shown = room.shows(SHOP_TARGET, |shown| shown["failures"] == 5).await;
    assert_eq!((&shown["latency_p50_ms"], &shown["latency_p95_ms"]), (&json!(100), &json!(500)));

    let refused = permit(&room, &service).await;
    assert_eq!((&refused["allowed"], &refused["permit"]), (&json!(false), &json!(null)));
    let retry_after_ms = refused["retry_after_ms"].as_u64();
    assert!(retry_after_ms.is_some_and(|ms| (1..=1_000).contains(&ms)), "{refused}");
    until("it is half open", PATIENCE, async || look(&room).await["state"] == "half_open").await;
    assert_eq!(look(&room).await["fallback"], true);
    for n in 1..=5 {
        let permit = permit(&room, &service).await;
        assert_eq!((&permit["allowed"], &permit["state"]), (&json!(true), &json!("half_open")));
        let told = record(&room, json!({ "success": true, "permit": permit["permit"] })).await;
        assert_eq!(told["successes"], n);
        assert_eq!(told["state"], if n < 5 { "half_open" } else { "closed" });
    }
    let counted = async |outcome: &str| {
        let label = format!("{{outcome=\"{outcome}\",target=\"shop\"}}");
        room.count(&format!("anteroom_target_outcomes_total{label}")).await
    };
    assert_eq!((counted("success").await, counted("failure").await), (8, 5));
    let ratio = "anteroom_target_success_ratio{target=\"shop\"}";
    room.anteroom.admission.until_metric(ratio, |it| it == Some(1.0)).await;
    let fallback = "anteroom_target_fallback{target=\"shop\"}";
    room.anteroom.admission.until_metric(fallback, |it| it == Some(0.0)).await;
}

#[tokio::test]
async fn promise_11_a_report_with_an_id_counts_once() {
    let room = start(TARGET).await;
    for _ in 0..2 {
        let told = record(&room, json!({ "successes": 3, "id": "batch-7" })).await;
        assert_eq!(told["successes"], 3);
    }
    let service = room.anteroom.url("service");
    let other = tell(&room, &service, json!({ "successes": 4, "id": "batch-7" })).await;
    other.refuses(409, "operation_mismatch");
    room.shows(SHOP_TARGET, |shown| shown["successes"] == 3).await;
    for n in 4..6 {
        assert_eq!(record(&room, json!({ "success": true })).await["successes"], n);
    }
    assert_eq!(room.count("anteroom_target_outcomes_total{outcome=\"success\"}").await, 5);
}

#[tokio::test]
async fn promise_08_half_open_lets_exactly_probes_through_at_three_admissions() {
    // It must not become half open between the reports, however slow the machine is.
    let room = start(&TARGET.replace("1s", "10s")).await;
    let more =
        [room.anteroom.deployment.admission().await, room.anteroom.deployment.admission().await];
    // Without Redis they answer from what they know, and nothing counts.
    for admission in &more {
        admission.until_ready().await;
    }
    let mut bases = vec![room.anteroom.url("service")];
    bases.extend(more.iter().map(|admission| admission.url("service")));
    for base in &bases {
        tell(&room, base, json!({ "failures": 2, "reporter": base })).await.is(200);
    }
    for base in &bases {
        let told = tell(&room, base, json!({ "success": true, "reporter": base })).await;
        assert_eq!(told.is(200).json()["fallback"], true, "each hears it with its next answer");
    }
    until("it is half open", PATIENCE, async || look(&room).await["state"] == "half_open").await;
    // A permit lasts for 10 s: all are asked for within less.
    until("all ask in time", PATIENCE, async || {
        let began = Instant::now();
        let asked = (0..60).map(|n| permit(&room, &bases[n % 3]));
        let told = futures_util::future::join_all(asked).await;
        let given: Vec<_> = told.iter().filter(|permit| permit["allowed"] == true).collect();
        assert!(given.iter().all(|permit| permit["permit"].is_string()), "{given:?}");
        let in_time = began.elapsed() < Duration::from_secs(9);
        assert!(!in_time || given.len() <= 5, "{given:?}");
        in_time && given.len() == 5
    })
    .await;
}

#[tokio::test]
async fn a_key_reaches_the_targets_of_its_scopes() {
    let keys = key("shop", SHOP, "backend", &["targets:shop"])
        + &key("narrow", NARROW, "backend", &["targets:other", "queues:shop"]);
    let room = Room::start(&format!("{TARGET}[targets.other]\n{keys}")).await;
    let ask = async |key: &str, target: &str| {
        let path = format!("/v1/targets/{target}");
        room.call("service", Method::GET, &path).key(key).send().await
    };
    ask(SHOP, "shop").await.is(200);
    ask(SHOP, "other").await.refuses(403, "key_forbidden");
    ask(NARROW, "shop").await.refuses(403, "key_forbidden");
    ask(SHOP, "none").await.refuses(404, "unknown_target");
    ask("ark1.nobody", "shop").await.refuses(401, "key_invalid");
    let call = room.call("service", Method::POST, "/v1/targets/shop/outcomes").key(NARROW);
    call.json(json!({ "success": true })).send().await.refuses(403, "key_forbidden");
    room.get("/v1/targets/shop").send().await.refuses(404, "not_found");
}

#[tokio::test]
async fn a_changed_file_changes_the_rules_and_what_left_it_is_gone() {
    let room = start(TARGET).await;
    let admission = &room.anteroom.admission;
    record(&room, json!({ "failures": 3 })).await;
    let fallback = "anteroom_target_fallback{target=\"shop\"}";
    admission.until_metric(fallback, |it| it == Some(0.0)).await;
    let changed = TARGET.replace("min_samples = 4", "min_samples = 3");
    room.anteroom.deployment.write(&changed);
    // The next look finds what is unhealthy by the new rule.
    admission.until_metric(fallback, |it| it == Some(1.0)).await;
    room.anteroom.deployment.write("[targets.other]\n");
    until("it is gone", PATIENCE, async || {
        let look = room.call("service", Method::GET, "/v1/targets/shop").send().await;
        look.code() == "unknown_target"
    })
    .await;
    admission.until_metric(fallback, |it| it.is_none()).await;
}

/// What callers are told from the moment on in which the store fails.
pub async fn degrades(room: &Room, admission: &Service) {
    let service = room.anteroom.url("service");
    until("the store is missed", PATIENCE, async || {
        tell(room, &service, json!({ "success": true })).await.is(200).json()["degraded"] == true
    })
    .await;
    let began = Instant::now();
    // What GET read in the last second is still shown.
    until("GET misses the store", PATIENCE, async || look(room).await["degraded"] == true).await;
    // What was known last is told, …
    let (mut known, mut told) = (false, look(room).await);
    while told["state"] != "unknown" {
        assert_eq!((&told["degraded"], &told["fallback"]), (&json!(true), &json!(true)), "{told}");
        assert_eq!((&told["state"], &told["failures"]), (&json!("open"), &json!(4)), "{told}");
        let permit = permit(room, &service).await;
        if permit["state"] == "open" {
            assert_eq!((&permit["allowed"], &permit["degraded"]), (&json!(false), &json!(true)));
            assert!(permit["retry_after_ms"].as_u64() > Some(0), "{permit}");
        }
        (known, told) = (true, look(room).await);
        assert!(began.elapsed() < PATIENCE, "for ever");
    }
    // … for up to five seconds; then nothing is known.
    assert!(known, "it was known");
    let unknown = json!({
        "success_rate": null, "successes": 0, "failures": 0, "window_ms": 300_000,
        "fallback": false, "state": "unknown", "degraded": true,
    });
    assert_eq!(tell(room, &service, json!({ "success": false })).await.is(200).json(), unknown);
    let allowed = json!({ "allowed": true, "state": "unknown", "degraded": true });
    assert_eq!(permit(room, &service).await, allowed);
    let counted = "anteroom_target_degraded_answers_total{target=\"shop\"}";
    assert!(admission.metric(counted).await > Some(2.0));
    // Whatever is wrong with a report is found without the store.
    tell(room, &service, json!({})).await.refuses(422, "invalid_value");
}

/// Opened for long: what is told of it does not change by itself.
pub const LONG: &str = "[targets.shop]\nmin_samples = 4\nopen_for = \"1h\"\n";

async fn opened(redis: Redis) -> Room {
    let room = ready(Room::start_on(redis, LONG, &[]).await).await;
    assert_eq!(record(&room, json!({ "failures": 4 })).await["state"], "open");
    room
}

pub async fn recovers(room: &Room) {
    let service = room.anteroom.url("service");
    until("the store is back", PATIENCE, async || {
        let told = tell(room, &service, json!({ "success": true })).await.is(200).json();
        told["degraded"].is_null()
    })
    .await;
    assert_eq!(look(room).await["fallback"], true);
}

#[tokio::test]
async fn a_killed_store_degrades_the_answers_and_is_found_again() {
    let mut room = opened(Redis::builder().durable().start().await).await;
    room.anteroom.deployment.redis.kill();
    degrades(&room, &room.anteroom.admission).await;
    room.anteroom.deployment.redis.restart().await;
    recovers(&room).await;
}

#[tokio::test]
async fn a_frozen_store_degrades_the_answers() {
    let room = opened(Redis::start().await).await;
    room.anteroom.deployment.redis.freeze();
    degrades(&room, &room.anteroom.admission).await;
    room.anteroom.deployment.redis.thaw();
    recovers(&room).await;
}

#[tokio::test]
async fn a_store_that_takes_no_writes_degrades_the_answers() {
    let room = opened(Redis::start().await).await;
    let redis = &room.anteroom.deployment.redis;
    redis.run::<()>(&["REPLICAOF", "127.0.0.1", "1"]).await;
    degrades(&room, &room.anteroom.admission).await;
    redis.run::<()>(&["REPLICAOF", "NO", "ONE"]).await;
    recovers(&room).await;
}

/// Looks need no memory; only reports are degraded, and say what is known.
#[tokio::test]
async fn a_full_store_degrades_reports_and_tells_the_state() {
    let room = opened(Redis::start().await).await;
    let redis = &room.anteroom.deployment.redis;
    redis.run::<()>(&["CONFIG", "SET", "maxmemory", "1"]).await;
    let told = record(&room, json!({ "success": true })).await;
    assert_eq!((&told["degraded"], &told["state"]), (&json!(true), &json!("open")), "{told}");
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
    let service = room.anteroom.url("service");
    until("it is new", PATIENCE, async || {
        let told = tell(&room, &service, json!({ "success": true })).await.is(200).json();
        told["degraded"].is_null() && told["state"] == "closed"
    })
    .await;
}

/// Without a single queue the services are ready, and miss none.
#[tokio::test]
async fn a_configuration_of_targets_alone_is_whole() {
    let room = start(TARGET).await;
    room.anteroom.admission.until_ready().await;
    room.anteroom.scheduler.until_ready().await;
    for service in [&room.anteroom.admission, &room.anteroom.scheduler] {
        assert_eq!(service.logged("[queues.*]"), 0);
    }
}
