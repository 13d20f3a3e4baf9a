//! A store without memory: nothing new is given out, what was given out is settled.

use anteroom_core::pool::{AmountRequest, Answer, Refusal};
use anteroom_core::store::Error;

use super::money::{draw, funded, hold, sums, units};
use super::support::TimedStore;

#[tokio::test]
async fn a_full_store_refuses_holds_and_draws_and_settles_what_is_held() {
    let world = TimedStore::new().await;
    let pool = world.pool("reward", funded(11));
    pool.fund(units(5), "funded").await.expect("an answer");
    let drawn = draw(&pool, 1, "drawn").await;
    let (one, two) = (hold(&pool, 4, "a").await, hold(&pool, 3, "b").await);
    world.redis.run::<String>(&["CONFIG", "SET", "maxmemory", "1"]).await;
    assert_eq!(pool.hold(&AmountRequest::Amount(units(1)), "c").await, Err(Error::Full));
    assert_eq!(pool.draw(&AmountRequest::Amount(units(1)), "d").await, Err(Error::Full));
    assert_eq!(pool.fund(units(1), "e").await, Err(Error::Full));
    // Whoever asks again for what was done is told so.
    let Answer::Done(drawn) = drawn else { panic!("{drawn:?}") };
    assert_eq!(draw(&pool, 1, "drawn").await, Answer::Repeated(drawn));
    assert_eq!(draw(&pool, 2, "drawn").await, Answer::Refused(Refusal::Mismatch));
    let held = pool.hold(&AmountRequest::Amount(units(3)), "b").await;
    assert!(matches!(held, Ok(Answer::Repeated(held)) if held.id == two.id), "{held:?}");
    let funded = pool.fund(units(5), "funded").await;
    assert!(matches!(funded, Ok(Answer::Repeated(told)) if told.balance == 16), "{funded:?}");
    assert!(matches!(pool.settle(one.id, units(2)).await, Ok(Answer::Done(_))));
    assert_eq!(pool.cancel(two.id).await, Ok(Answer::Done(())));
    pool.sweep().await.expect("a tick");
    let left = sums(&pool).await;
    assert_eq!((left.balance, left.held, left.paid), (13, 0, 3));
    world.redis.run::<String>(&["CONFIG", "SET", "maxmemory", "0"]).await;
    assert!(matches!(draw(&pool, 1, "d").await, Answer::Done(_)));
}
