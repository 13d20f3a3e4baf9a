//! A Redis Cluster loses a primary, and moves a slot, while visitors go through.

use std::time::Duration;

use anteroom_testkit::{
    Cluster, Redis, SlotMove,
    witness::{Call, Ended, Record, Shown},
};
use tokio::task::JoinHandle;

use crate::stage::{Stage, rules};

/// A queue on the primary that has the stage's queue, in another slot.
const NEIGHBOUR: &str = "bar";
/// A queue on another primary.
const ELSEWHERE: &str = "park";
/// A key of the stage's queue.
const META: &str = "anteroom:v1:queue:{hall}:meta";

async fn open(cluster: &Cluster) -> Stage {
    let nodes = cluster.urls().join(",");
    let env = [("ANTEROOM_STORE__MODE", "cluster"), ("ANTEROOM_STORE__NODES", &nodes)];
    let stage = Stage::open_beside(&[NEIGHBOUR, ELSEWHERE], Redis::start().await, &env).await;
    let keys: u64 = stage.site.redis.run(&["DBSIZE"]).await;
    assert_eq!(keys, 0, "the cluster is used");
    assert_eq!(cluster.owner("hall").await, cluster.owner(NEIGHBOUR).await);
    assert_ne!(cluster.owner("hall").await, cluster.owner(ELSEWHERE).await);
    stage
}

/// Nothing happened there although many calls came from `from` to `to`.
async fn untouched(queue: (Record, JoinHandle<Ended>), from: u64, to: u64) {
    let (record, visit) = queue;
    let ended = visit.await.expect("visitors do not panic");
    let calls = record.count(|line| (from..to).contains(&line.sent));
    let refused = record.count(|line| line.status.is_none_or(|status| status >= 500));
    assert!(calls > 50, "{calls} calls meanwhile");
    // A machine that is stopped for a moment refuses a few by itself.
    assert!(refused * 10 <= calls, "{refused} refused");
    assert_eq!(ended.unfinished, 0, "every visit came to its end");
    record.hold_to(&rules());
}

#[tokio::test]
async fn promise_05_a_replica_takes_over_and_the_whole_journey_goes_on() {
    let mut cluster = Cluster::start(3, 1).await;
    let mut stage = open(&cluster).await;
    stage.fills().await;
    let mut visitor = stage.caller();
    visitor.ask_until(Call::Join, |shown| *shown != Shown::Nothing).await;

    let owner = cluster.owner("hall").await;
    cluster.primaries[owner].hands_over_to(&cluster.replicas[owner]).await;
    let killed = stage.record.now();
    cluster.primaries[owner].kill();
    let refused = visitor.ask(Call::Authorize).await;
    assert_eq!((refused.status, &*refused.code), (Some(403), "store_unavailable"));
    cluster.replicas[owner].takes_over().await;
    let back = stage.record.now();
    stage.recovers(back).await;
    assert!(stage.refused_since(killed) > 0, "visitors noticed");

    // The old primary comes back, as a replica; then it is made the primary again, on purpose.
    cluster.primaries[owner].restart().await;
    cluster.primaries[owner].follows().await;
    cluster.settles().await;
    cluster.primaries[owner].takes_over_in_order().await;
    let back = stage.record.now();
    stage.recovers(back).await;

    stage.until_each_call_works().await;
    stage.ends_well().await;
    stage.no_ticket_is_missing();
}

#[tokio::test]
async fn promise_05_without_full_coverage_only_the_queues_of_the_lost_primary_wait_for_its_replica()
{
    let mut cluster = Cluster::start(3, 1).await;
    cluster.set("cluster-require-full-coverage", "no").await;
    let mut stage = open(&cluster).await;
    stage.fills().await;
    let elsewhere = stage.visit(ELSEWHERE, 150, Duration::from_secs(8));

    let owner = cluster.owner("hall").await;
    cluster.primaries[owner].hands_over_to(&cluster.replicas[owner]).await;
    let killed = elsewhere.0.now();
    cluster.primaries[owner].kill();
    cluster.replicas[owner].takes_over().await;
    let (taken, back) = (elsewhere.0.now(), stage.record.now());
    stage.recovers(back).await;
    untouched(elsewhere, killed, taken).await;
    stage.ends_well().await;
}

#[tokio::test]
async fn promise_05_a_slot_moves_and_only_its_queue_waits() {
    let cluster = Cluster::start(3, 0).await;
    let mut stage = open(&cluster).await;
    stage.fills().await;
    let neighbour = stage.visit(NEIGHBOUR, 150, Duration::from_secs(8));

    let (begun, besides) = (stage.record.now(), neighbour.0.now());
    let to = cluster.owner(ELSEWHERE).await;
    let moving = SlotMove::begin(&cluster, "hall", to).await;
    let keys = moving.keys().await;
    let (early, late) = keys.split_at(keys.len() / 2);
    moving.step(early).await;
    // Some keys here, some there: no script can have them all.
    stage.until_refused_since(begun).await;
    moving.step(late).await;
    moving.end().await;
    let (back, moved) = (stage.record.now(), neighbour.0.now());
    stage.recovers(back).await;
    stage.until_each_call_works().await;
    untouched(neighbour, besides, moved).await;
    stage.ends_well().await;
    stage.no_ticket_is_missing();
    assert_eq!(cluster.primaries[to].run::<u64>(&["EXISTS", META]).await, 1, "it has moved");
}

#[tokio::test]
async fn promise_05_a_slot_that_moves_in_one_step_is_hardly_noticed() {
    let cluster = Cluster::start(3, 0).await;
    let mut stage = open(&cluster).await;
    stage.fills().await;
    let begun = stage.record.now();
    let to = cluster.owner(ELSEWHERE).await;
    let moving = SlotMove::begin(&cluster, "hall", to).await;
    // As redis-cli does it with `--cluster-pipeline 32`.
    let keys = moving.keys().await;
    assert!(keys.len() <= 21, "{keys:?}");
    moving.step(&keys).await;
    moving.end().await;
    let back = stage.record.now();
    stage.recovers(back).await;
    stage.until_each_call_works().await;
    stage.ends_well().await;
    stage.no_ticket_is_missing();
    let refused = stage.refused_since(begun);
    assert!(refused < 100, "{refused} refused");
    assert_eq!(cluster.primaries[to].run::<u64>(&["EXISTS", META]).await, 1, "it has moved");
}
