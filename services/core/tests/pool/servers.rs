//! Every operation on every kind of store that the configuration can name.

use std::time::Duration;

use anteroom_core::pool::{Answer, LedgerFrom, Rules};
use anteroom_core::store::{Config, Mode, Store};
use anteroom_testkit::{Cluster, PATIENCE, Redis, Sentinel, SlotMove, until};

use super::money::{draw, funded, hold, open, sums, tick, units};
use super::support::{self, of_cluster, permitted, permitted_on};

/// From funds to an audit, by the store's own clock.
async fn journey(store: &Store, name: &str) {
    let rules = Rules { hold_ttl: Duration::from_secs(1), ..funded(100) };
    let pool = open(store, name, rules.clone());
    pool.apply_rules(&rules).await.expect("written");
    let (one, two) = (hold(&pool, 10, "a").await, hold(&pool, 10, "b").await);
    draw(&pool, 20, "c").await;
    pool.extend(one.id).await.expect("an answer");
    pool.settle(one.id, units(7)).await.expect("an answer");
    pool.fund(units(50), "d").await.expect("an answer");
    until(name, PATIENCE, async || {
        tick(&pool).await;
        pool.snapshot().await.is_ok_and(|it| it.sums.held == 0)
    })
    .await;
    assert_eq!(pool.cancel(two.id).await, Ok(Answer::Done(())));
    assert!(pool.look(two.id).await.expect("an answer").is_some());
    assert_eq!(pool.confirm().await, Ok(Answer::Repeated(())));
    let sums = sums(&pool).await;
    assert_eq!((sums.balance, sums.paid, sums.funded), (123, 27, 150));
    assert_eq!(pool.ledger(LedgerFrom::After(0), 200).await.expect("a look").lines.len(), 7);
}

#[tokio::test]
async fn on_a_cluster_of_three_each_pool_lives_on_one_node() {
    let cluster = Cluster::start(3, 0).await;
    let store = support::open(of_cluster(&cluster)).await;
    for name in ["search", "payment", "mail"] {
        journey(&store, name).await;
    }
}

#[tokio::test]
async fn behind_a_sentinel() {
    let primary = Redis::start().await;
    let replica = Redis::builder().replica_of(&primary).start().await;
    replica.follows().await;
    let sentinel = Sentinel::start("main", &primary, 1).await;
    let mode = Mode::Sentinel { master: "main".to_owned() };
    let store = support::open(Config { mode, ..Config::new(sentinel.url()) }).await;
    journey(&store, "reward").await;
}

#[tokio::test]
async fn a_pool_moves_with_its_slot() {
    let cluster = Cluster::start(2, 0).await;
    let store = support::open(of_cluster(&cluster)).await;
    let pool = open(&store, "p", funded(100));
    let held = hold(&pool, 10, "a").await;
    draw(&pool, 5, "b").await;
    let from = cluster.owner("anteroom:v1:pool:{p}:meta").await;
    let moving = SlotMove::begin(&cluster, "p", 1 - from).await;
    let keys = moving.keys().await;
    assert_eq!(keys.len(), 5, "{keys:?}");
    moving.step(&keys).await;
    moving.end().await;
    until("it goes on", PATIENCE, async || pool.settle(held.id, units(4)).await.is_ok()).await;
    assert!(matches!(draw(&pool, 5, "b").await, Answer::Repeated(_)));
    assert_eq!(sums(&pool).await.paid, 9);
}

#[tokio::test]
async fn with_no_more_than_the_documented_permissions() {
    journey(&permitted(&Redis::start().await).await, "alone").await;
    journey(&permitted_on(&Cluster::start(3, 0).await).await, "on-a-cluster").await;
}
