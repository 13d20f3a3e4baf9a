//! Issuing by a webhook, through the whole binary.

use anteroom_core::event::Application;

use crate::stage::{Stage, name};
use anteroom_testkit::Receiver;

fn attempts(outcome: &str) -> String {
    format!("anteroom_event_attempts_total{{event=\"coupon\",outcome=\"{outcome}\"}}")
}

#[tokio::test]
async fn promise_09_a_receiver_that_fails_or_forgets_to_answer_issues_once_to_each() {
    for path in ["/fails/1", "/silent/1"] {
        let receiver = Receiver::start().await;
        let stage = Stage::with_webhook(&receiver, path, "stock = 20\n").await;
        stage.apply(0..20).await;
        let issuer = stage.deployment.issuer().await;
        stage.until_all_ended().await;
        assert_eq!(stage.issued(0..20).await.0, 20, "{path}");
        let mut keys = receiver.issued().await;
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 20, "{path}: to each once");
        issuer.until_metric(&attempts("issued"), |it| it == Some(20.0)).await;
        assert_eq!(issuer.metric(&attempts("retried")).await, Some(20.0), "{path}");
        let ratio = issuer.metric("anteroom_success_ratio{service=\"issuer\"}").await;
        assert_eq!(ratio, Some(0.5), "{path}");
        issuer.end().await;
    }
}

#[tokio::test]
async fn what_is_refused_is_a_dead_letter_at_once_and_holds_up_no_other() {
    // At the pace of a receiver in trouble they would take two minutes.
    const REFUSED: u32 = 600;
    let receiver = Receiver::start().await;
    let rules = format!("stock = {REFUSED}\n");
    let stage = Stage::with_webhook(&receiver, "/status/422", &rules).await;
    stage.apply(0..REFUSED.into()).await;
    let issuer = stage.deployment.issuer().await;
    stage.until("all are dead", |it| it.dead == u64::from(REFUSED)).await;
    let dead = stage.event.dead(0, 100).await.expect("an answer").letters;
    assert!(dead.iter().all(|it| it.attempts == 1 && it.error.contains("422")), "{dead:?}");
    assert_eq!(dead[0].visitor_id, name(0));
    issuer.until_metric(&attempts("dead"), |it| it == Some(REFUSED.into())).await;
    assert_eq!(issuer.logged("an application is a dead letter"), REFUSED as usize);
    assert_eq!(issuer.logged(&name(0)), 0, "no log line shows who");
    issuer.end().await;
}

#[tokio::test]
async fn after_max_attempts_it_is_a_dead_letter() {
    let receiver = Receiver::start().await;
    let rules = "stock = 1\nmax_attempts = 2\n";
    let stage = Stage::with_webhook(&receiver, "/status/500", rules).await;
    stage.apply(0..1).await;
    let issuer = stage.deployment.issuer().await;
    stage.until("it is dead", |it| it.dead == 1).await;
    let dead = stage.event.dead(0, 10).await.expect("an answer").letters;
    assert_eq!(dead[0].attempts, 2);
    issuer.until_metric(&attempts("retried"), |it| it == Some(1.0)).await;
    issuer.end().await;
}

/// The receiver takes twice as long as the lease.
#[tokio::test]
async fn the_lease_of_a_slow_call_is_renewed() {
    let receiver = Receiver::start().await;
    let stage = Stage::with_webhook(&receiver, "/slow", "stock = 5\nlease = \"1s\"\n").await;
    stage.apply(0..5).await;
    let (one, two) = tokio::join!(stage.deployment.issuer(), stage.deployment.issuer());
    stage.until_all_ended().await;
    let applications = stage.applications(0..5).await;
    assert!(applications.iter().all(|it| matches!(it, Application::Issued { .. })));
    assert_eq!(receiver.attempts().await, 5, "each was called for once");
    one.end().await;
    two.end().await;
}

#[tokio::test]
async fn with_one_at_a_time_the_order_of_calls_is_that_of_applications() {
    let receiver = Receiver::start().await;
    let stage = Stage::with_webhook(&receiver, "/issue", "stock = 10\n").await;
    stage.apply(0..10).await;
    let issuer = stage.deployment.issuer_with(&[("ANTEROOM_ISSUER__CONCURRENCY", "1")]).await;
    stage.until_all_ended().await;
    let bodies = receiver.bodies().await;
    let sequences: Vec<_> = bodies.iter().map(|body| body["sequence"].as_u64().unwrap()).collect();
    assert_eq!(sequences, (1..=10).collect::<Vec<_>>());
    issuer.end().await;
}
