//! A replica that takes over: a pool with `on_failover = "hold"` waits for an operator, one with
//! `continue` goes on and counts it.

use std::time::Duration;

use anteroom_core::pool::{AmountRequest, Answer, OnFailover, Refusal, Rules};
use anteroom_core::store::Config;
use anteroom_testkit::{PERMISSIONS, Redis};

use super::money::{draw, funded, hold, is_refused, look, open, sums, tick, units};
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
        assert_eq!(pool.confirm().await, Ok(Answer::Repeated(())));
    }
    primary.hands_over_to(&replica).await;
    replica.run::<String>(&["REPLICAOF", "NO", "ONE"]).await;
    replica.takes_over().await;
    drop(primary);

    let after = support::open(Config::new(replica.url())).await;
    let (holds, continues) =
        (open(&after, "holds", held_back()), open(&after, "continues", funded(100)));
    assert_eq!(is_refused(draw(&holds, 5, "c").await), Refusal::Unconfirmed);
    let refused = holds.hold(&AmountRequest::Amount(units(1)), "d").await.expect("an answer");
    assert_eq!(is_refused(refused), Refusal::Unconfirmed);
    assert_eq!(holds.settle(held.id, units(1)).await, Ok(Answer::Refused(Refusal::Unconfirmed)));
    assert_eq!(holds.cancel(held.id).await, Ok(Answer::Refused(Refusal::Unconfirmed)));
    assert_eq!(holds.fund(units(1), "e").await, Ok(Answer::Refused(Refusal::Unconfirmed)));
    let shown = look(&holds).await;
    assert_eq!((shown.unconfirmed, shown.failovers), (true, 1));
    holds.sweep().await.expect("a tick");
    assert!(look(&holds).await.unconfirmed, "a tick confirms nothing");
    assert_eq!(holds.confirm().await, Ok(Answer::Done(())));
    assert!(matches!(draw(&holds, 5, "c").await, Answer::Done(_)));
    assert!(matches!(holds.settle(held.id, units(1)).await, Ok(Answer::Done(_))));
    assert_eq!(sums(&holds).await.paid, 11);

    assert!(matches!(draw(&continues, 5, "c").await, Answer::Done(_)));
    assert!(continues.sweep().await.expect("a tick").failed_over);
    assert!(!continues.sweep().await.expect("a tick").failed_over);
    let shown = look(&continues).await;
    assert_eq!((shown.unconfirmed, shown.failovers, shown.sums.paid), (false, 1, 10));
}

/// An operator needs longer than a hold lasts: nothing ends meanwhile, and what was answered before
/// is answered again.
#[tokio::test]
async fn no_hold_ends_while_a_pool_waits_to_be_confirmed() {
    let world = support::TimedStore::new().await;
    let rules = Rules { hold_ttl: Duration::from_secs(10), ..held_back() };
    let pool = world.pool("reward", rules);
    let (kept, over) = (hold(&pool, 60, "kept").await, hold(&pool, 20, "over").await);
    draw(&pool, 10, "paid").await;
    world.pass(Duration::from_secs(2));
    tick(&pool).await;
    world.redis.run::<()>(&["REPLICAOF", "127.0.0.1", "1"]).await;
    world.redis.run::<()>(&["REPLICAOF", "NO", "ONE"]).await;
    let before = sums(&pool).await;
    for _ in 0..20 {
        world.pass(Duration::from_secs(3));
        tick(&pool).await;
    }
    assert!(look(&pool).await.unconfirmed);
    assert_eq!(sums(&pool).await, before);
    assert_eq!(pool.settle(kept.id, units(50)).await, Ok(Answer::Refused(Refusal::Unconfirmed)));
    assert!(matches!(draw(&pool, 10, "paid").await, Answer::Repeated(_)));
    let again = pool.hold(&AmountRequest::Amount(units(60)), "kept").await.expect("an answer");
    assert!(matches!(again, Answer::Repeated(hold) if hold.expires_in == Duration::from_secs(8)));
    assert_eq!(pool.confirm().await, Ok(Answer::Done(())));
    assert!(matches!(pool.settle(kept.id, units(50)).await, Ok(Answer::Done(_))));
    // The other goes on where it stood.
    for left in [20, 0] {
        world.pass(Duration::from_secs(4));
        tick(&pool).await;
        assert_eq!(sums(&pool).await.held, left);
    }
    assert!(matches!(pool.extend(over.id).await, Ok(Answer::Refused(Refusal::Expired))));
}

/// Nobody may have called before a service looks at the pool as a whole, for its metrics.
#[tokio::test]
async fn no_hold_ends_by_the_first_look_after_a_failover() {
    let world = support::TimedStore::new().await;
    let rules = Rules { hold_ttl: Duration::from_secs(1), ..held_back() };
    let pool = world.pool("reward", rules);
    hold(&pool, 60, "kept").await;
    world.pass(Duration::from_secs(2));
    world.redis.run::<()>(&["REPLICAOF", "127.0.0.1", "1"]).await;
    world.redis.run::<()>(&["REPLICAOF", "NO", "ONE"]).await;
    let seen = look(&pool).await;
    assert_eq!((seen.unconfirmed, seen.sums.held), (true, 60));
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
    assert_eq!(pool.confirm().await, Ok(Answer::Done(())));
    assert_eq!(look(&pool).await.sums.balance, 100);
}

#[tokio::test]
async fn a_pool_that_holds_and_may_not_ask_for_the_primary_moves_nothing() {
    let redis = Redis::start().await;
    let rules: Vec<_> = PERMISSIONS.iter().filter(|rule| *rule != "+info").cloned().collect();
    redis.user("ann", &rules).await;
    let password = Some("pass".to_owned().into());
    let config = Config { username: Some("ann".into()), password, ..Config::new(redis.url()) };
    let store = support::open(config).await;
    let (holds, continues) =
        (open(&store, "holds", held_back()), open(&store, "continues", funded(100)));
    assert_eq!(is_refused(draw(&holds, 5, "a").await), Refusal::Unconfirmed);
    assert_eq!(holds.confirm().await, Ok(Answer::Refused(Refusal::Unseen)));
    assert_eq!(is_refused(draw(&holds, 5, "a").await), Refusal::Unconfirmed);
    assert!(look(&holds).await.unconfirmed);
    assert!(matches!(draw(&continues, 5, "a").await, Answer::Done(_)));
    assert!(!continues.sweep().await.expect("a tick").failed_over);
}
