//! A primary and its replica: Sentinel switches over, or the replica fails, while visitors go
//! through.

use anteroom_testkit::{
    Redis, Sentinel,
    witness::{Call, Shown},
};

use crate::stage::Stage;

#[tokio::test]
async fn promise_05_sentinel_promotes_a_replica_and_the_whole_journey_goes_on() {
    let primary = Redis::start().await;
    let replica = Redis::builder().replica_of(&primary).start().await;
    let sentinel = Sentinel::start("room", &primary, 1).await;
    let env = [
        ("ANTEROOM_STORE__MODE", "sentinel"),
        ("ANTEROOM_STORE__SENTINEL_MASTER", "room"),
        ("ANTEROOM_STORE__URL", &sentinel.url()),
    ];
    let mut stage = Stage::open_with(primary, &env).await;
    stage.fills().await;
    let mut visitor = stage.caller();
    visitor.ask_until(Call::Join, |shown| *shown != Shown::Nothing).await;

    stage.site.redis.hands_over_to(&replica).await;
    let killed = stage.record.now();
    stage.site.redis.kill();
    let refused = visitor.ask(Call::Authorize).await;
    assert_eq!((refused.status, &*refused.code), (Some(403), "store_unavailable"));
    replica.takes_over().await;
    let back = stage.record.now();
    sentinel.names(&replica).await;
    stage.recovers(back).await;
    assert!(stage.refused_since(killed) > 0, "visitors noticed");
    stage.until_each_call_works().await;
    stage.ends_well().await;
    stage.no_ticket_is_missing();
}

#[tokio::test]
async fn promise_05_a_primary_that_wants_a_replica_refuses_while_there_is_none() {
    let primary = Redis::builder().arg("--min-replicas-to-write", "1");
    let primary = primary.arg("--min-replicas-max-lag", "2").start().await;
    let replica = Redis::builder().replica_of(&primary).start().await;
    replica.follows().await;
    let mut stage = Stage::open(primary).await;
    // Until the primary misses its replica, turns are given for seconds.
    stage.fills_with(400).await;
    let from = stage.record.now();
    replica.freeze();
    stage.until_refused_since(from).await;
    replica.thaw();
    let back = stage.record.now();
    stage.recovers(back).await;
    stage.ends_well().await;
    stage.no_ticket_is_missing();
}
