//! A store without memory: nothing new is given out, what was given out is settled.

use anteroom_core::pool::{AmountRequest, Answer, Refusal};
use anteroom_core::store::Error;

use super::money::{draw, funded, hold, opened, sums, units};

#[tokio::test]
async fn a_full_store_refuses_holds_and_draws_and_settles_what_is_held() {
    let (world, pool) = opened(funded(11)).await;
    pool.fund(units(5), "funded").await.expect("an answer");
    let drawn = draw(&pool, 1, "drawn").await;
    let (one, two) = (hold(&pool, 4, "a").await, hold(&pool, 3, "b").await);
    world.fill(true).await;
    assert_eq!(pool.hold(&AmountRequest::Amount(units(1)), "c").await, Err(Error::Full));
    assert_eq!(pool.draw(&AmountRequest::Amount(units(1)), "d").await, Err(Error::Full));
    assert_eq!(pool.fund(units(1), "e").await, Err(Error::Full));
    // A repeat of what was done gets the first answer.
    let Answer::Done(drawn) = drawn else { panic!("{drawn:?}") };
    assert_eq!(draw(&pool, 1, "drawn").await, Answer::Repeated(drawn));
    assert_eq!(draw(&pool, 2, "drawn").await, Answer::Refused(Refusal::Mismatch));
    let held = pool.hold(&AmountRequest::Amount(units(3)), "b").await;
    assert!(matches!(held, Ok(Answer::Repeated(held)) if held.id == two.id), "{held:?}");
    let funded = pool.fund(units(5), "funded").await;
    assert!(
        matches!(funded, Ok(Answer::Repeated(returned)) if returned.balance == 16),
        "{funded:?}"
    );
    assert!(matches!(pool.settle(one.id, units(2)).await, Ok(Answer::Done(_))));
    assert_eq!(pool.cancel(two.id).await, Ok(Answer::Done(())));
    pool.sweep().await.expect("a tick");
    let left = sums(&pool).await;
    assert_eq!((left.balance, left.held, left.paid), (13, 0, 3));
    world.fill(false).await;
    assert!(matches!(draw(&pool, 1, "d").await, Answer::Done(_)));
}
