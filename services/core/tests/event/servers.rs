//! Every operation on every kind of store that the configuration can name.

use std::time::Duration;

use anteroom_core::event::{Application, Event, Issue, Rules};
use anteroom_core::store::Store;
use anteroom_testkit::{Cluster, PATIENCE, Redis, SlotMove, until};

use super::requests::{apply_many, claim, finish, status, stock};
use super::support::{of_cluster, open, permitted, permitted_on};

/// From the birth to the last unit, by the store's own clock.
async fn journey(store: &Store, name: &str) {
    let rules = Rules { issue: Issue::Codes, over_apply: 2_000_000, ..stock(2) };
    let event = Event::open(store, name, rules.clone(), 100);
    apply_many(&event, 0..4).await;
    event.apply_rules(&rules).await.expect("the rules are written");
    event.add_stock("more", 1).await.expect("stock");
    let codes: Vec<_> = (0..3).map(|number| format!("code {number}")).collect();
    event.load_codes(&codes).await.expect("codes");
    let claimed = claim(&event, 9).await;
    assert_eq!(claimed.work.len(), 3, "{name}");
    event.renew(claimed.fence, &[1, 2, 3]).await.expect("a renewal");
    event.fail(claimed.fence, 1, "no", Some(Duration::ZERO)).await.expect("a failure");
    event.fail(claimed.fence, 2, "no", None).await.expect("a failure");
    event.give_back(claimed.fence, &[3]).await.expect("given back");
    assert_eq!(event.kick().await, Ok(true), "{name}");
    event.reclaim().await.expect("a tick");
    assert_eq!(event.dead(0, 9).await.expect("a look").letters.len(), 1, "{name}");
    assert_eq!(event.retry_dead(&["v1"]).await.expect("an answer").retried, 1, "{name}");
    let claimed = claim(&event, 9).await;
    event.fail(claimed.fence, 2, "no", None).await.expect("a failure");
    assert_eq!(event.give_up("v1").await, Ok(true), "{name}");
    assert_eq!(finish(&event, &claimed).await, 2, "{name}");
    let last = claim(&event, 9).await;
    assert_eq!(finish(&event, &last).await, 1, "{name}");
    assert!(matches!(status(&event, "v3").await, Application::Issued { code: Some(_), .. }));
    let shown = event.snapshot().await.expect("a look");
    assert_eq!((shown.stock, shown.issued, shown.failed), (3, 3, 1), "{name}");
}

#[tokio::test]
async fn on_a_cluster_of_three_each_event_lives_on_one_node() {
    let cluster = Cluster::start(3, 0).await;
    let store = open(of_cluster(&cluster)).await;
    for name in ["coupon", "ticket", "seat"] {
        journey(&store, name).await;
    }
}

/// While its keys are on two nodes an event waits; then it goes on with all that it had.
#[tokio::test]
async fn an_event_moves_with_its_slot() {
    let cluster = Cluster::start(2, 0).await;
    let store = open(of_cluster(&cluster)).await;
    let event = Event::open(&store, "e", stock(9), 100);
    apply_many(&event, 0..5).await;
    let claimed = claim(&event, 2).await;
    let from = cluster.owner("anteroom:v1:event:{e}:meta").await;
    let moving = SlotMove::begin(&cluster, "e", 1 - from).await;
    let keys = moving.keys().await;
    assert_eq!(keys.len(), 6, "{keys:?}");
    moving.step(&keys).await;
    moving.end().await;
    until("it goes on", PATIENCE, async || event.apply("ann").await.is_ok()).await;
    assert_eq!(finish(&event, &claimed).await, 2);
    assert_eq!(status(&event, "v4").await, Application::Pending { position: 3 });
}

#[tokio::test]
async fn with_no_more_than_the_documented_permissions() {
    journey(&permitted(&Redis::start().await).await, "alone").await;
    journey(&permitted_on(&Cluster::start(3, 0).await).await, "on-a-cluster").await;
}
