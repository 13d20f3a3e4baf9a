//! The store answers, and refuses or forgets what it is asked.

use anteroom_testkit::{
    PATIENCE, Redis, until,
    witness::{Call, Line},
};

use crate::stage::Stage;

#[tokio::test]
async fn scripts_that_are_flushed_again_and_again_are_noticed_by_nobody() {
    let mut stage = Stage::open(Redis::start().await).await;
    stage.fills().await;
    let from = stage.record.now();
    for round in 1..=30 {
        stage.site.redis.script_flush().await;
        until("calls go on", PATIENCE, async || {
            stage.record.count(|line| line.sent >= from) > 20 * round
        })
        .await;
    }
    stage.ends_well().await;
    // Before, the services may still have been starting.
    let failed = |line: &Line| {
        line.sent >= from && (line.status >= Some(500) || line.code == "store_unavailable")
    };
    assert_eq!(stage.record.count(failed), 0, "a script is loaded again within the call");
}

#[tokio::test]
async fn promise_05_switched_to_a_read_only_replica_and_back() {
    let mut stage = Stage::open(Redis::start().await).await;
    stage.fills().await;
    let from = stage.record.now();
    // Its primary is never reached, so it keeps what it has.
    stage.site.redis.run::<()>(&["REPLICAOF", "127.0.0.1", "1"]).await;
    stage.until_refused_since(from).await;
    stage.site.redis.run::<()>(&["REPLICAOF", "NO", "ONE"]).await;
    let back = stage.record.now();
    stage.recovers(back).await;
    stage.ends_well().await;
}

#[tokio::test]
async fn promise_05_out_of_memory_it_refuses_and_keeps_what_it_has() {
    let mut stage = Stage::open(Redis::start().await).await;
    stage.fills().await;
    // A long line: nobody joins it any more once the memory is full.
    stage.more_come().await;
    stage.until_joined(180).await;
    let from = stage.record.now();
    stage.site.redis.run::<()>(&["CONFIG", "SET", "maxmemory", "1"]).await;
    stage.until_joins_are_refused_since(from).await;
    let served = |line: &Line| line.call == Call::Leave && line.status == Some(204);
    let before = stage.record.count(served);
    until("those in line are served", PATIENCE, async || stage.record.count(served) > before + 25)
        .await;
    let refused = |line: &Line| line.sent >= from && line.code == "store_unavailable";
    assert_eq!(stage.record.count(|line| refused(line) && line.call != Call::Join), 0);
    stage.site.redis.run::<()>(&["CONFIG", "SET", "maxmemory", "0"]).await;
    let back = stage.record.now();
    stage.recovers(back).await;
    stage.ends_well().await;
}
