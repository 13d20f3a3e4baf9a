//! A store without memory: nothing new is given out, what was given out is settled.

use anteroom_core::pool::{Answer, Asked};
use anteroom_core::store::Error;

use super::money::{draw, funded, hold, sums};
use super::support::TimedStore;

#[tokio::test]
async fn a_full_store_refuses_holds_and_draws_and_settles_what_is_held() {
    let world = TimedStore::new().await;
    let pool = world.pool("reward", funded(10));
    let (one, two) = (hold(&pool, 4, "a").await, hold(&pool, 3, "b").await);
    world.redis.run::<String>(&["CONFIG", "SET", "maxmemory", "1"]).await;
    assert_eq!(pool.hold(&Asked::Amount(1), "c").await, Err(Error::Full));
    assert_eq!(pool.draw(&Asked::Amount(1), "d").await, Err(Error::Full));
    assert_eq!(pool.fund(1, "e").await, Err(Error::Full));
    assert!(matches!(pool.settle(one.id, 2).await, Ok(Answer::Done(_))));
    assert_eq!(pool.cancel(two.id).await, Ok(Answer::Done(())));
    pool.sweep().await.expect("a tick");
    let left = sums(&pool).await;
    assert_eq!((left.balance, left.held, left.paid), (8, 0, 2));
    world.redis.run::<String>(&["CONFIG", "SET", "maxmemory", "0"]).await;
    assert!(matches!(draw(&pool, 1, "d").await, Answer::Done(_)));
}
