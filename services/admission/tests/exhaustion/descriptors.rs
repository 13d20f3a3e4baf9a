//! More connections than the process may have descriptors: its own are kept.

use anteroom_testkit::{PATIENCE, until};

use crate::attack::Attack;
use crate::siege::Siege;

#[tokio::test]
async fn the_store_and_the_metrics_keep_their_descriptors() {
    let mut siege = Siege::new(128).await;
    siege.attack(80, Attack::Silence);
    until("others had to go", PATIENCE, async || siege.closed().await > 20.0).await;
    // A new connection to the store needs descriptors.
    siege.site.redis.run::<u64>(&["CLIENT", "KILL", "TYPE", "normal"]).await;
    siege.admission.until_metric("anteroom_store_up", |it| it == Some(1.0)).await;
    siege.visitors(3).await;
    let log = siege.admission.process.stdout();
    assert!(log.contains("the limit on open files is too low"), "{log}");
    assert!(!log.contains("cannot accept connections"), "{log}");
    siege.end("descriptors").await;
}

#[tokio::test]
async fn the_metrics_port_leaves_descriptors_to_visitors() {
    let mut siege = Siege::new(128).await;
    siege.attack_on("metrics", 60, Attack::Silence);
    until("they have come", PATIENCE, async || siege.attacks() > 60).await;
    for _ in 0..5 {
        siege.probe("/livez").await;
    }
    siege.visitors(3).await;
    let log = siege.admission.process.stdout();
    assert!(!log.contains("cannot accept"), "{log}");
    siege.end("descriptors of the metrics port").await;
}
