//! Every operation on every kind of store that the configuration can name.

use std::time::Duration;

use anteroom_core::breaker::{Breaker, Kept, Outcome, Permission, Rules, State};
use anteroom_core::store::Store;
use anteroom_testkit::{Cluster, PATIENCE, Redis, SlotMove, until};

use super::reports::{ask, look, quick, record};
use super::support::{of_cluster, open, permitted, permitted_on};

/// From closed to closed, by the store's own clock.
async fn journey(store: &Store, name: &str) {
    for kept in [Kept::InBuckets, Kept::InLog] {
        let name = format!("{name}-{kept:?}").to_lowercase();
        let rules = Rules { kept, open_for: Duration::from_secs(1), probes: 1, ..quick(2) };
        let target = Breaker::open(store, &name, 100);
        let named = Outcome { id: Some("a".to_owned()), ..Outcome::of(false) };
        record(&target, &rules, &named).await;
        record(&target, &rules, &Outcome::counted(1, 2)).await;
        assert!(matches!(ask(&target, &rules).await, Permission::Refused { .. }), "{name}");
        until(&name, PATIENCE, async || look(&target, &rules).await.state == State::HalfOpen).await;
        let Permission::Permit(permit) = ask(&target, &rules).await else { panic!("{name}") };
        let probe = Outcome { permit: Some(permit), ..Outcome::of(true) };
        assert_eq!(record(&target, &rules, &probe).await.state, State::Closed, "{name}");
        assert_eq!(look(&target, &rules).await.totals.failures, 3, "{name}");
    }
}

#[tokio::test]
async fn on_a_cluster_of_three_each_target_lives_on_one_node() {
    let cluster = Cluster::start(3, 0).await;
    let store = open(of_cluster(&cluster)).await;
    for name in ["search", "payment", "mail"] {
        journey(&store, name).await;
    }
}

/// While its keys are on two nodes a target waits; then it goes on with all that it had.
#[tokio::test]
async fn a_target_moves_with_its_slot() {
    let cluster = Cluster::start(2, 0).await;
    let store = open(of_cluster(&cluster)).await;
    let (target, rules) =
        (Breaker::open(&store, "t", 100), Rules { kept: Kept::InLog, ..quick(9) });
    for n in 0..3 {
        let named = Outcome { id: Some(format!("{n}")), latency_ms: Some(n), ..Outcome::of(true) };
        record(&target, &rules, &named).await;
    }
    let from = cluster.owner("anteroom:v1:target:{t}:meta").await;
    let moving = SlotMove::begin(&cluster, "t", 1 - from).await;
    let keys = moving.keys().await;
    assert_eq!(keys.len(), 6, "{keys:?}");
    moving.step(&keys).await;
    moving.end().await;
    until("it goes on", PATIENCE, async || {
        target.record(&rules, &Outcome::of(false)).await.is_ok()
    })
    .await;
    let shown = look(&target, &rules).await;
    assert_eq!(shown.successes, 3);
    let again = Outcome { id: Some("1".to_owned()), latency_ms: Some(1), ..Outcome::of(true) };
    let returned = target.record(&rules, &again).await.expect("an answer");
    assert!(matches!(returned, anteroom_core::breaker::Recorded::Repeated(_)), "{returned:?}");
}

#[tokio::test]
async fn with_no_more_than_the_documented_permissions() {
    journey(&permitted(&Redis::start().await).await, "alone").await;
    journey(&permitted_on(&Cluster::start(3, 0).await).await, "on-a-cluster").await;
}
