//! The store is gone, and comes back as it was.

use anteroom_testkit::Redis;

use crate::stage::Stage;

#[tokio::test]
async fn promise_05_killed_and_restarted_with_its_file_it_has_lost_nothing() {
    let mut stage = Stage::open(Redis::builder().durable().start().await).await;
    stage.fills().await;
    for _ in 0..2 {
        let killed = stage.record.now();
        stage.site.redis.kill();
        stage.until_refused_since(killed).await;
        stage.site.redis.restart().await;
        let back = stage.record.now();
        stage.recovers(back).await;
    }
    stage.ends_well().await;
}
