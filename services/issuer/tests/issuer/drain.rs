//! SIGTERM: what is under way ends, the rest is given back.

use crate::stage::Stage;
use anteroom_testkit::Receiver;

#[tokio::test]
async fn calls_under_way_are_finished() {
    let receiver = Receiver::start().await;
    let stage = Stage::with_webhook(&receiver, "/slow", "stock = 5\n").await;
    stage.apply(0..5).await;
    let issuer = stage.deployment.issuer().await;
    stage.until("they are in hand", |it| it.claimed == 5).await;
    issuer.end().await;
    let snapshot = stage.snapshot().await;
    assert_eq!((snapshot.issued, snapshot.claimed, snapshot.pending), (5, 0, 0));
}

#[tokio::test]
async fn what_takes_too_long_is_given_back_and_no_attempt_is_burnt() {
    let receiver = Receiver::start().await;
    let rules = "stock = 5\nlease = \"1h\"\nmax_attempts = 1\ntimeout = \"60s\"\n";
    let stage = Stage::with_webhook(&receiver, "/hang", rules).await;
    stage.apply(0..5).await;
    let issuer = stage.deployment.issuer_with(&[("ANTEROOM_ISSUER__DRAIN_TIMEOUT", "100ms")]).await;
    stage.until("they are in hand", |it| it.claimed == 5).await;
    issuer.end().await;
    let snapshot = stage.snapshot().await;
    assert_eq!((snapshot.issued, snapshot.claimed, snapshot.pending), (0, 0, 5));
    assert_eq!((snapshot.dead, snapshot.failed), (0, 0));
}
