//! Targets on a Redis Cluster that loses a primary: its replica goes on with all that was reported.

use std::time::Duration;

use anteroom_core::breaker::{Breaker, Rules, Snapshot, State};
use anteroom_core::store::{Config, Mode, Store};
use anteroom_testkit::{Cluster, PATIENCE, Redis, until};
use reqwest::Method;
use serde_json::{Value, json};

use crate::room::Room;
use crate::targets::{ITS_TARGET, LONG, degrades, look, ready, record, recovers};

const TARGET: &str = "concert";

/// The target of the room as the store has it, with the rules of the file.
struct Stored {
    target: Breaker,
    rules: Rules,
}

impl Stored {
    async fn on(cluster: &Cluster) -> Self {
        let config = Config { mode: Mode::Cluster, urls: cluster.urls(), ..Config::new("") };
        let registry = prometheus::Registry::new();
        let store = Store::open(&config, &anteroom_core::scripts(), &registry).expect("addresses");
        assert!(store.wait_up(PATIENCE).await, "the store is up");
        let open_for = Duration::from_secs(3_600);
        let rules = Rules { min_samples: 4, open_for, ..Rules::default() };
        Self { target: Breaker::open(&store, TARGET, 100), rules }
    }

    async fn snapshot(&self) -> Snapshot {
        let read = async || self.target.snapshot(&self.rules).await;
        until("Redis answers", PATIENCE, async || read().await.is_ok()).await;
        read().await.expect("a look")
    }
}

/// A replica takes over from the primary of this index only when it may.
async fn may_take_over(cluster: &Cluster, owner: usize, may: bool) {
    let replica = &cluster.replicas[owner];
    // However long it had to wait.
    replica.run::<()>(&["CONFIG", "SET", "cluster-replica-validity-factor", "0"]).await;
    let held = if may { "no" } else { "yes" };
    replica.run::<()>(&["CONFIG", "SET", "cluster-replica-no-failover", held]).await;
}

/// A name of a target whose keys another primary has.
async fn elsewhere(cluster: &Cluster) -> &'static str {
    let owner = cluster.owner(TARGET).await;
    for name in ["hall", "park", "mail", "search", "payment"] {
        if cluster.owner(name).await != owner {
            return name;
        }
    }
    panic!("all on one primary");
}

#[tokio::test]
async fn promise_05_a_replica_takes_over_a_target_with_its_window() {
    let mut cluster = Cluster::start(3, 1).await;
    cluster.set("cluster-require-full-coverage", "no").await;
    let nodes = cluster.urls().join(",");
    let env = [("ANTEROOM_STORE__MODE", "cluster"), ("ANTEROOM_STORE__NODES", &nodes)];
    let other = elsewhere(&cluster).await;
    let configuration = format!("{LONG}[targets.{other}]\n");
    let room = ready(Room::start_on(Redis::start().await, &configuration, &env).await).await;
    let stored = Stored::on(&cluster).await;
    let owner = cluster.owner(TARGET).await;
    may_take_over(&cluster, owner, false).await;

    assert_eq!(record(&room, json!({ "failures": 4, "reporter": "a" })).await["state"], "open");
    let named = json!({ "successes": 3, "latency_ms": 70, "reporter": "b", "id": "batch-7" });
    assert_eq!(record(&room, named.clone()).await["successes"], 3);
    let before = stored.snapshot().await;
    assert_eq!((before.state, before.successes, before.failures), (State::Open, 3, 4));

    // What is known last is of now.
    room.shows(ITS_TARGET, |shown| shown["successes"] == 3).await;
    cluster.primaries[owner].hands_over_to(&cluster.replicas[owner]).await;
    cluster.primaries[owner].kill();
    degrades(&room).await;
    until("the target of another primary is counted", PATIENCE, async || {
        let path = format!("/v1/targets/{other}/outcomes");
        let reply = room.call("service", Method::POST, &path).json(json!({ "success": true }));
        reply.send().await.is(200).json()["degraded"].is_null()
    })
    .await;
    assert_eq!(look(&room).await["state"], "unknown", "this one still waits");

    may_take_over(&cluster, owner, true).await;
    cluster.replicas[owner].takes_over().await;
    recovers(&room).await;
    let stored_now = stored.snapshot().await.successes;
    let shown = room.shows(ITS_TARGET, |shown| shown["successes"] == stored_now).await;
    // A report with a degraded reply may have been counted when its answer was lost, so at least;
    // none of those that failed could be.
    assert!(shown["successes"].as_u64() > Some(3), "{shown}");
    assert_eq!((&shown["failures"], &shown["state"]), (&json!(4), &json!("open")), "{shown}");
    assert_eq!(shown["latency_p50_ms"], 100, "{shown}");
    assert_eq!(shown["reporters"], 3, "a, b, and those without a name: {shown}");
    // Also the names of reports are there.
    assert_eq!(record(&room, named).await["successes"], shown["successes"]);
    let after = stored.snapshot().await;
    assert_eq!((after.state, after.version), (State::Open, before.version));

    // And it goes on: each change has a larger version than the one before.
    room.reconfigure(&configuration.replace("\"1h\"", "\"1s\""));
    until("it is half open", PATIENCE, async || look(&room).await["state"] == "half_open").await;
    assert!(stored.snapshot().await.version > before.version);
    let reply: Value = record(&room, json!({ "failures": 1 })).await;
    assert_eq!((&reply["failures"], &reply["degraded"]), (&json!(1), &json!(null)), "{reply}");
}
