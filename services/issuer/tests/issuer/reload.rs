//! Events that come, go and change while it runs.

use crate::stage::{Stage, event, name, toml};
use anteroom_testkit::Receiver;

#[tokio::test]
async fn events_are_served_as_the_file_names_them() {
    let stage = Stage::new("stock = 5\n").await;
    let issuer = stage.deployment.issuer().await;
    stage.apply(0..5).await;
    stage.until_all_ended().await;
    stage.deployment.write(&format!("{}[events.other]\nstock = 5\n", toml("stock = 5\n")));
    let other = event(&stage.deployment, "other").await;
    other.apply(&name(1)).await.expect("an answer");
    let issued = "anteroom_event_attempts_total{event=\"other\",outcome=\"issued\"}";
    issuer.until_metric(issued, |it| it == Some(1.0)).await;
    stage.deployment.write(&toml("stock = 5\n"));
    issuer.until_metric("anteroom_event_stock{event=\"other\"}", |it| it.is_none()).await;
    other.apply(&name(2)).await.expect("an answer");
    // What left the file is not served, and the rest is.
    stage.event.add_stock("more", 5).await.expect("an answer");
    stage.apply(5..10).await;
    stage.until("those are issued", |it| it.issued == 10).await;
    assert_eq!(other.snapshot().await.expect("a snapshot").pending, 1);
    issuer.end().await;
}

/// The secret is wrong, so each call is refused; then the file is right.
#[tokio::test]
async fn another_secret_is_taken_over() {
    let receiver = Receiver::start().await;
    let stage = Stage::with_webhook(&receiver, "/issue", "stock = 5\n").await;
    let secret = receiver.folder.path().join("secret");
    std::fs::write(&secret, "a-secret-that-only-this-test-knows").unwrap();
    let issuer = stage.deployment.issuer().await;
    stage.apply(0..1).await;
    stage.until("it is refused", |it| it.dead == 1).await;
    std::fs::write(&secret, Receiver::SECRET).unwrap();
    let accepted = "anteroom_config_reloads_total{outcome=\"accepted\"}";
    issuer.until_metric(accepted, |it| it > Some(0.0)).await;
    stage.apply(1..2).await;
    stage.until("it is issued", |it| it.issued == 1).await;
    issuer.end().await;
}
