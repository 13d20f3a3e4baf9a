//! A replica that takes over: a pool with `on_failover = "hold"` waits for an operator, one with
//! `continue` goes on and counts it.

use anteroom_core::pool::{Answer, Asked, OnFailover, Refusal, Rules};
use anteroom_core::store::Config;
use anteroom_testkit::Redis;

use super::money::{draw, funded, hold, is_refused, look, open, sums};
use super::support;

fn held_back() -> Rules {
    Rules { on_failover: OnFailover::Hold, ..funded(100) }
}

#[tokio::test]
async fn after_a_failover_a_pool_that_holds_moves_no_money_until_it_is_confirmed() {
    let primary = Redis::start().await;
    let replica = Redis::builder().replica_of(&primary).start().await;
    replica.follows().await;
    let before = support::open(Config::new(primary.url())).await;
    let (holds, continues) =
        (open(&before, "holds", held_back()), open(&before, "continues", funded(100)));
    let held = hold(&holds, 10, "a").await;
    draw(&holds, 5, "b").await;
    draw(&continues, 5, "b").await;
    for pool in [&holds, &continues] {
        assert!(!pool.sweep().await.expect("a tick").failed_over);
        assert_eq!(pool.confirm().await, Ok(false));
    }
    primary.hands_over_to(&replica).await;
    replica.run::<String>(&["REPLICAOF", "NO", "ONE"]).await;
    replica.takes_over().await;
    drop(primary);

    let after = support::open(Config::new(replica.url())).await;
    let (holds, continues) =
        (open(&after, "holds", held_back()), open(&after, "continues", funded(100)));
    assert_eq!(is_refused(draw(&holds, 5, "c").await), Refusal::Unconfirmed);
    let refused = holds.hold(&Asked::Amount(1), "d").await.expect("an answer");
    assert_eq!(is_refused(refused), Refusal::Unconfirmed);
    assert_eq!(holds.settle(held.id, 1).await, Ok(Answer::Refused(Refusal::Unconfirmed)));
    assert_eq!(holds.cancel(held.id).await, Ok(Answer::Refused(Refusal::Unconfirmed)));
    assert_eq!(holds.fund(1, "e").await, Ok(Answer::Refused(Refusal::Unconfirmed)));
    let shown = look(&holds).await;
    assert_eq!((shown.unconfirmed, shown.failovers), (true, 1));
    holds.sweep().await.expect("a tick");
    assert!(look(&holds).await.unconfirmed, "a tick confirms nothing");
    assert_eq!(holds.confirm().await, Ok(true));
    assert!(matches!(draw(&holds, 5, "c").await, Answer::Done(_)));
    assert!(matches!(holds.settle(held.id, 1).await, Ok(Answer::Done(_))));
    assert_eq!(sums(&holds).await.paid, 11);

    assert!(matches!(draw(&continues, 5, "c").await, Answer::Done(_)));
    assert!(continues.sweep().await.expect("a tick").failed_over);
    assert!(!continues.sweep().await.expect("a tick").failed_over);
    let shown = look(&continues).await;
    assert_eq!((shown.unconfirmed, shown.failovers, shown.sums.paid), (false, 1, 10));
}

#[tokio::test]
async fn a_rule_that_no_longer_asks_for_it_lets_an_unconfirmed_pool_go_on() {
    let mut redis = Redis::builder().durable().start().await;
    let store = support::open(Config::new(redis.url())).await;
    let pool = open(&store, "reward", held_back());
    draw(&pool, 5, "a").await;
    redis.restart().await;
    let store = support::open(Config::new(redis.url())).await;
    let pool = open(&store, "reward", held_back());
    assert_eq!(is_refused(draw(&pool, 5, "b").await), Refusal::Unconfirmed, "a restart counts");
    pool.apply_rules(&funded(100)).await.expect("written");
    assert!(matches!(draw(&pool, 5, "b").await, Answer::Done(_)));
    pool.sweep().await.expect("a tick");
    pool.apply_rules(&held_back()).await.expect("written");
    assert!(matches!(draw(&pool, 5, "c").await, Answer::Done(_)));
}

#[tokio::test]
async fn a_pool_that_holds_and_was_lost_waits_to_be_confirmed() {
    let world = support::TimedStore::new().await;
    let pool = world.pool("reward", held_back());
    pool.apply_rules(&held_back()).await.expect("written");
    draw(&pool, 5, "a").await;
    world.empty().await;
    assert_eq!(is_refused(draw(&pool, 5, "a").await), Refusal::Unconfirmed);
    assert_eq!(pool.confirm().await, Ok(true));
    assert_eq!(look(&pool).await.sums.balance, 100);
}
