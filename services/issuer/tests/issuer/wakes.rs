//! How an idle issuer hears of an application.

use anteroom_testkit::{Deployment, PATIENCE, PERMISSIONS, Redis, until};

use crate::stage::{Stage, event, name};

/// Its own look comes later than the test is patient.
#[tokio::test]
async fn a_message_wakes_it() {
    let toml = "[events.coupon]\nstock = 100\nkick_interval = \"60s\"\n";
    let stage = Stage::of(Redis::start().await, toml).await;
    let issuer = stage.deployment.issuer().await;
    issuer.until_ready().await;
    for round in 0..5 {
        stage.apply(round..round + 1).await;
        stage.until("it is issued", |it| it.issued == round + 1).await;
    }
    issuer.end().await;
}

/// Without the permission to listen.
#[tokio::test]
async fn its_own_look_finds_what_no_message_announced() {
    let stage = Stage::new("stock = 100\n").await;
    let rules = PERMISSIONS.iter().filter(|rule| *rule != "+subscribe").cloned();
    stage.deployment.redis.user("ann", &rules.collect::<Vec<_>>()).await;
    let env = [("ANTEROOM_STORE__USERNAME", "ann"), ("ANTEROOM_STORE__PASSWORD", "pass")];
    let issuer = stage.deployment.issuer_with(&env).await;
    issuer.until_ready().await;
    for round in 0..5 {
        stage.apply(round..round + 1).await;
        stage.until("it is issued", |it| it.issued == round + 1).await;
    }
    assert_eq!(issuer.logged("cannot subscribe to a channel of Redis"), 1);
    issuer.end().await;
}

#[tokio::test]
async fn it_waits_for_the_store_and_goes_on_when_it_comes_back() {
    let mut redis = Redis::builder().durable().start().await;
    redis.kill();
    let toml = "[events.coupon]\nstock = 100\nkick_interval = \"60s\"\n";
    let mut deployment = Deployment::new(redis, toml, &[]);
    let issuer = deployment.issuer().await;
    assert_eq!(issuer.get("/readyz").await.0, 503);
    deployment.redis.restart().await;
    issuer.until_ready().await;
    let event = event(&deployment, "coupon").await;
    for round in 1..=3 {
        event.apply(&name(round)).await.expect("an answer");
        let issued = "anteroom_event_issued{event=\"coupon\"}";
        issuer.until_metric(issued, |it| it == Some(round as f64)).await;
        deployment.redis.restart().await;
        issuer.until_metric("anteroom_store_up", |it| it == Some(1.0)).await;
        until("the test is connected", PATIENCE, async || event.snapshot().await.is_ok()).await;
    }
    issuer.end().await;
}
