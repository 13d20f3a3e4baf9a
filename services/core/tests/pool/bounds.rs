//! What a call of a script touches, and what is left of it.

use anteroom_core::pool::{AmountRequest, Answer, Pool};
use futures_util::future::join_all;

use super::money::{draw, funded, hold, look, tick, units};
use super::support::{SECOND, START, TimedStore};

async fn hold_many(pool: &Pool, count: u64) {
    let ids: Vec<_> = (0..count).map(|n| format!("many {n}")).collect();
    let one = AmountRequest::Amount(units(1));
    let held = join_all(ids.iter().map(|id| pool.hold(&one, id))).await;
    assert!(held.iter().all(|held| matches!(held, Ok(Answer::Done(_)))));
}

/// Lets all holds end, and none be taken back.
async fn all_end(world: &TimedStore, pool: &Pool) {
    while world.now() < START + 60 * SECOND {
        pool.sweep().await.expect("a tick");
        world.pass(std::time::Duration::from_secs(5));
    }
}

#[tokio::test]
async fn promise_13_a_call_takes_back_fifty_holds_at_most() {
    let world = TimedStore::new().await;
    let pool = world.pool("p", funded(10_000));
    hold_many(&pool, 1_000).await;
    all_end(&world, &pool).await;
    world.redis.forget_calls().await;
    for swept in 1..=3 {
        let sweep = pool.sweep().await.expect("a tick");
        assert_eq!((sweep.expired, sweep.more), (50, true));
        assert_eq!(world.redis.calls("xadd").await, 50 * swept);
    }
    // The calls that draws share: each takes back fifty.
    world.redis.forget_calls().await;
    let ids: Vec<_> = (0..64).map(|n| n.to_string()).collect();
    let one = AmountRequest::Amount(units(1));
    join_all(ids.iter().map(|id| pool.draw(&one, id))).await;
    let (calls, written) = (world.redis.evalsha_calls().await, world.redis.calls("xadd").await);
    assert_eq!(written, 64 + 50 * calls);
    tick(&pool).await;
    let shown = look(&pool).await;
    assert_eq!((shown.holds, shown.sums.held, shown.sums.balance), (0, 0, 10_000 - 64));
    assert_eq!(shown.holds_expired, 1_000);
}

/// All of the money is in holds that have ended. Of those who ask for it one goes on until they are
/// taken back, with pauses in which Redis serves others; the rest ask once more then.
#[tokio::test]
async fn callers_share_the_sweep_of_ended_holds() {
    const HOLDS: u64 = 1_000;
    const CALLERS: u64 = 64;
    let world = TimedStore::new().await;
    let pool = world.pool("p", funded(HOLDS));
    hold_many(&pool, HOLDS).await;
    all_end(&world, &pool).await;
    world.redis.forget_calls().await;
    let ids: Vec<_> = (0..CALLERS).map(|n| n.to_string()).collect();
    let everything = AmountRequest::Amount(units(HOLDS));
    let begun = std::time::Instant::now();
    let drawn = join_all(ids.iter().map(|id| pool.draw(&everything, id))).await;
    let paid = drawn.iter().filter(|drawn| matches!(drawn, Ok(Answer::Done(_)))).count();
    assert_eq!((paid, drawn.iter().all(Result::is_ok)), (1, true));
    // Each draw looks at its name in each call.
    let asked = world.redis.calls("get").await;
    assert!(asked < 3 * CALLERS + HOLDS / 50, "{asked} draws were decided");
    assert!(begun.elapsed() >= std::time::Duration::from_millis(HOLDS / 50 - 5), "no pauses");
}

#[tokio::test]
async fn promise_13_what_is_not_permanent_has_a_ttl_of_twice_its_life() {
    const DAY: i64 = 86_400_000;
    let world = TimedStore::new().await;
    let pool = world.pool("p", funded(100));
    let held = hold(&pool, 10, "a").await;
    draw(&pool, 5, "b").await;
    pool.fund(units(5), "c").await.expect("an answer");
    pool.settle(held.id, units(5)).await.expect("an answer");
    let other = hold(&pool, 10, "d").await;
    pool.cancel(other.id).await.expect("an answer");
    hold(&pool, 1, "e").await;
    let mut ttls = world.redis.ttls().await;
    ttls.sort_unstable();
    assert_eq!(ttls[..3], [-1, -1, -1], "meta, holds and ledger");
    let left = &ttls[3..];
    assert_eq!(left.len(), 5);
    let (least, most) = (2 * DAY - 60_000, 2 * (DAY + 60_000));
    assert!(left.iter().all(|left| (least..=most).contains(left)), "{left:?}");
}
