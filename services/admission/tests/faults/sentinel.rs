//! Sentinel makes a replica the primary while visitors go through.

use std::time::Duration;

use anteroom_testkit::{
    Redis, Sentinel,
    witness::{Call, Line, Told},
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
    visitor.until_told(Call::Join, |told| *told != Told::Nothing).await;

    stage.site.redis.hands_over_to(&replica).await;
    let killed = stage.record.now();
    stage.site.redis.kill();
    let refused = visitor.ask(Call::Authorize).await;
    assert_eq!((refused.status, &*refused.code), (Some(403), "store_unavailable"));
    replica.takes_over().await;
    let back = stage.record.now();
    eprintln!("a replica took over after {:?}", Duration::from_micros(back - killed));
    stage.recovers(back).await;
    let refused = |line: &Line| line.sent >= killed && line.status == Some(503);
    assert!(stage.record.count(refused) > 0, "visitors noticed");
    stage.until_each_call_works().await;
    stage.ends_well().await;
}
