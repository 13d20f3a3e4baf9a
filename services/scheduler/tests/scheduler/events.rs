//! Events: their rules reach the store, claims of issuers that died come back, and issuers are
//! woken though every message was lost.

use std::time::Duration;

use anteroom_core::event::{Event, Rules};
use anteroom_testkit::{Deployment, PATIENCE, Service, until, until_some};

use crate::support::{deployment, opened};

const COUPON: &str = "[events.coupon]\nstock = 2\nlease = \"1s\"\nkick_interval = \"100ms\"\n";

/// A scheduler that has written the rules of an event, and the event.
async fn with_stock() -> (Deployment, Service, Event) {
    let deployment = deployment(COUPON).await;
    let scheduler = deployment.scheduler().await;
    let (_, store) = opened(&deployment).await;
    let event = Event::open(&store, "coupon", Rules::default(), 100);
    scheduler.until_metric("anteroom_event_stock{event=\"coupon\"}", |it| it == Some(2.0)).await;
    (deployment, scheduler, event)
}

#[tokio::test]
async fn claims_of_an_issuer_that_died_come_back() {
    let (_deployment, scheduler, event) = with_stock().await;
    for visitor in ["ann", "bob"] {
        event.apply(visitor).await.expect("an answer");
    }
    let dead = event.claim(9).await.expect("a claim");
    assert_eq!((dead.work.len(), dead.lease), (2, Duration::from_secs(1)));
    let claimed = "anteroom_event_claimed{event=\"coupon\"}";
    scheduler.until_metric(claimed, |it| it == Some(2.0)).await;
    let next = until_some("the lease has ended", PATIENCE, async || {
        Some(event.claim(9).await.expect("a claim")).filter(|next| next.work.len() == 2)
    })
    .await;
    assert_eq!(next.work.iter().map(|work| work.sequence).collect::<Vec<_>>(), [1, 2]);
    event.finish(next.fence, &next.work).await.expect("an answer");
    scheduler.until_metric(claimed, |it| it == Some(0.0)).await;
    scheduler.until_metric("anteroom_event_issued{event=\"coupon\"}", |it| it == Some(2.0)).await;
    scheduler.end().await;
}

#[tokio::test]
async fn issuers_are_kicked_while_something_waits() {
    let (deployment, scheduler, event) = with_stock().await;
    let messages = async || deployment.redis.calls("publish").await;
    // Each connect asks for the permission to publish.
    let before = messages().await;
    event.apply("ann").await.expect("an answer");
    until("kicks come again and again", PATIENCE, async || messages().await >= before + 5).await;
    scheduler.end().await;
}

#[tokio::test]
async fn the_stock_of_the_file_is_given_once() {
    let (deployment, scheduler, event) = with_stock().await;
    deployment.write(&COUPON.replace("stock = 2", "stock = 7\nmax_attempts = 3"));
    until("the changed rules are in force", PATIENCE, async || {
        event.snapshot().await.is_ok_and(|it| it.rules.max_attempts == 3)
    })
    .await;
    assert_eq!(event.snapshot().await.expect("a look").stock, 2);
    scheduler.end().await;
}
