//! The store answers, and has forgotten the scripts.

use anteroom_testkit::{PATIENCE, PATIENT, Redis, until, witness::Line};

use crate::stage::Stage;

#[tokio::test]
async fn scripts_that_are_flushed_again_and_again_are_noticed_by_no_visitor() {
    // A machine that is busy for a moment is no fault of the scripts.
    let mut stage = Stage::open_with(Redis::start().await, &PATIENT).await;
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
