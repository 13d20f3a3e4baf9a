//! The cases that pools were made for, by name.

use std::time::Duration;

use anteroom_core::pool::{AmountRequest, Answer, HoldState, LedgerFrom, Refusal, Rules, Sums};
use anteroom_core::rules::Name;
use futures_util::future::join_all;

use super::money::{
    draw, funded, hold, is_refused, look, opened, options, pass, sums, tick, try_hold, units,
};
use super::support::TimedStore;

const BILLION: u64 = 1_000_000_000;
const MILLION: u64 = 1_000_000;

#[tokio::test]
async fn promise_10_of_two_draws_at_once_that_do_not_both_fit_exactly_one_is_paid() {
    let world = TimedStore::new().await;
    for round in 0..20 {
        let name = format!("reward-{round}");
        // Two services, each with a lane of its own.
        let pools = [world.pool(&name, funded(10 * BILLION)), world.pool(&name, Rules::default())];
        look(&pools[0]).await;
        let draws = pools.iter().zip(["a", "b"]);
        let draws = join_all(draws.map(|(pool, id)| draw(pool, 8 * BILLION, id))).await;
        let paid = draws.iter().filter(|it| matches!(it, Answer::Done(_))).count();
        assert_eq!(paid, 1, "{draws:?}");
        let refusal = Answer::Refused(Refusal::Insufficient { balance: 2 * BILLION });
        assert!(draws.contains(&refusal), "{draws:?}");
        assert_eq!(sums(&pools[0]).await.balance, 2 * BILLION);
    }
}

#[tokio::test]
async fn promise_10_too_much_is_refused_and_what_fits_is_paid_and_the_rest_is_left() {
    let (_world, pool) = opened(funded(10 * BILLION)).await;
    let refusal = is_refused(draw(&pool, 12 * BILLION, "a").await);
    assert_eq!(refusal, Refusal::Insufficient { balance: 10 * BILLION });
    // Only calls that changed something are remembered.
    assert!(
        matches!(draw(&pool, 8 * BILLION, "a").await, Answer::Done(it) if it.balance == 2 * BILLION)
    );
    let sums = sums(&pool).await;
    assert_eq!((sums.balance, sums.paid), (2 * BILLION, 8 * BILLION));
}

#[tokio::test]
async fn promise_10_options_are_offered_only_while_their_maximum_is_covered() {
    let options = options(&[("one", MILLION), ("five", 5 * MILLION), ("twenty", 20 * MILLION)]);
    let (_world, pool) = opened(Rules { options, ..funded(26 * MILLION) }).await;
    let offered = async || {
        let snapshot = look(&pool).await;
        let offered = snapshot.options().filter(|(_, _, available)| *available);
        offered.map(|(name, _, _)| name.to_owned()).collect::<Vec<_>>()
    };
    let option = |name: &str| AmountRequest::Option(Name::new(name).expect("a name"));
    assert_eq!(offered().await, ["five", "one", "twenty"]);
    pool.draw(&option("twenty"), "1").await.expect("an answer");
    assert_eq!(offered().await, ["five", "one"]);
    let held = pool.hold(&option("five"), "2").await.expect("an answer");
    assert!(matches!(held, Answer::Done(hold) if hold.amount == 5 * MILLION), "{held:?}");
    assert_eq!(offered().await, ["one"]);
    let refusal = is_refused(pool.draw(&option("five"), "3").await.expect("an answer"));
    assert_eq!(refusal, Refusal::Insufficient { balance: MILLION });
    pool.draw(&option("one"), "4").await.expect("an answer");
    assert!(offered().await.is_empty());
    assert_eq!(sums(&pool).await.balance, 0, "zero is reached, …");
    assert!(matches!(draw(&pool, 1, "5").await, Answer::Refused(_)), "… and never below");
    let unknown = pool.draw(&option("on"), "6").await.expect("an answer");
    assert_eq!(is_refused(unknown), Refusal::NoOption);
}

#[tokio::test]
async fn promise_10_a_hold_ends_exactly_once() {
    let (_world, pool) = opened(funded(10)).await;
    let held = hold(&pool, 6, "a").await;
    assert_eq!(
        pool.settle(held.id, units(7)).await,
        Ok(Answer::Refused(Refusal::Exceeds { held: 6 }))
    );
    assert!(
        matches!(pool.settle(held.id, units(4)).await, Ok(Answer::Done(it)) if it.balance == 6)
    );
    assert!(
        matches!(pool.settle(held.id, units(4)).await, Ok(Answer::Repeated(it)) if it.balance == 6)
    );
    let settled = Ok(Answer::Refused(Refusal::Settled { amount: 4 }));
    assert_eq!(pool.settle(held.id, units(5)).await, settled);
    assert_eq!(pool.cancel(held.id).await, Ok(Answer::Refused(Refusal::Settled { amount: 4 })));
    let other = hold(&pool, 6, "b").await;
    for _ in 0..2 {
        assert_eq!(pool.cancel(other.id).await, Ok(Answer::Done(())));
    }
    assert_eq!(pool.settle(other.id, units(1)).await, Ok(Answer::Refused(Refusal::Cancelled)));
    let sums = sums(&pool).await;
    assert_eq!((sums.balance, sums.held, sums.paid), (6, 0, 4));
}

#[tokio::test]
async fn promise_10_a_hold_that_is_over_and_then_cancelled_is_not_settled_late() {
    let (world, pool) = opened(funded(10)).await;
    let over = hold(&pool, 6, "over").await;
    pass(&world, &pool, 60).await;
    for _ in 0..2 {
        assert_eq!(pool.cancel(over.id).await, Ok(Answer::Done(())));
    }
    assert_eq!(pool.settle(over.id, units(6)).await, Ok(Answer::Refused(Refusal::Cancelled)));
    let sums = sums(&pool).await;
    assert_eq!((sums.balance, sums.held, sums.paid), (10, 0, 0));
}

#[tokio::test]
async fn promise_10_a_hold_that_is_over_is_settled_late_while_the_balance_covers_it() {
    let (world, pool) = opened(funded(10)).await;
    let (early, late) = (hold(&pool, 6, "early").await, hold(&pool, 4, "late").await);
    pass(&world, &pool, 60).await;
    assert_eq!(sums(&pool).await.balance, 10);
    assert!(
        matches!(pool.settle(early.id, units(6)).await, Ok(Answer::Done(it)) if it.balance == 4)
    );
    draw(&pool, 2, "meanwhile").await;
    assert_eq!(pool.settle(late.id, units(4)).await, Ok(Answer::Refused(Refusal::Expired)));
    assert_eq!(pool.extend(late.id).await, Ok(Answer::Refused(Refusal::Expired)));
    assert!(
        matches!(pool.settle(late.id, units(2)).await, Ok(Answer::Done(it)) if it.balance == 0)
    );
    let looked = pool.look(late.id).await.expect("an answer").expect("a hold");
    assert_eq!(looked.state, HoldState::Settled { amount: 2 });
}

#[tokio::test]
async fn promise_10_no_refusal_is_wrong_because_of_holds_that_are_over() {
    let (world, pool) = opened(funded(1_000)).await;
    join_all((0..1_000).map(|n| {
        let pool = pool.clone();
        async move { hold(&pool, 1, &n.to_string()).await }
    }))
    .await;
    assert_eq!(sums(&pool).await.balance, 0);
    // One tick moves time on and takes 50 back; the rest is over, and still there.
    for _ in 0..12 {
        world.pass(Duration::from_secs(5));
        if world.now() < super::support::START + 60 * super::support::SECOND {
            pool.sweep().await.expect("a tick");
        }
    }
    assert!(matches!(draw(&pool, 1_000, "all").await, Answer::Done(it) if it.balance == 0));
    assert_eq!(sums(&pool).await.paid, 1_000);
}

#[tokio::test]
async fn promise_11_a_repeat_gets_the_first_answer_and_another_payload_is_refused() {
    let (_world, pool) = opened(funded(10)).await;
    let first = hold(&pool, 4, "a").await;
    draw(&pool, 3, "a").await;
    let again = try_hold(&pool, 4, "a").await;
    assert!(matches!(again, Answer::Repeated(it) if it == first), "{again:?}");
    assert_eq!(is_refused(try_hold(&pool, 5, "a").await), Refusal::Mismatch);
    assert!(matches!(draw(&pool, 3, "a").await, Answer::Repeated(it) if it.balance == 3));
    assert_eq!(is_refused(draw(&pool, 2, "a").await), Refusal::Mismatch);
    assert!(matches!(pool.fund(units(5), "a").await, Ok(Answer::Done(it)) if it.balance == 8));
    assert!(matches!(pool.fund(units(5), "a").await, Ok(Answer::Repeated(it)) if it.balance == 8));
    assert_eq!(pool.fund(units(6), "a").await, Ok(Answer::Refused(Refusal::Mismatch)));
    let sums = sums(&pool).await;
    assert_eq!((sums.funded, sums.held, sums.paid), (15, 4, 3));
}

#[tokio::test]
async fn promise_12_an_outage_of_the_store_ends_no_hold() {
    let (world, pool) = opened(funded(10)).await;
    let held = hold(&pool, 4, "a").await;
    world.pass(Duration::from_secs(3_600));
    let looked = pool.look(held.id).await.expect("an answer").expect("a hold");
    assert_eq!((looked.state, looked.expires_in.as_secs()), (HoldState::Held, 55));
    tick(&pool).await;
    pass(&world, &pool, 54).await;
    assert_eq!(sums(&pool).await.held, 4);
    pass(&world, &pool, 1).await;
    assert_eq!(sums(&pool).await.held, 0);
}

#[tokio::test]
async fn sums_stay_within_what_lua_counts_exactly() {
    let (_world, pool) = opened(funded(anteroom_core::rules::MAX_AMOUNT - 1)).await;
    assert_eq!(pool.fund(units(2), "a").await, Ok(Answer::Refused(Refusal::TooLarge)));
    assert!(matches!(pool.fund(units(1), "a").await, Ok(Answer::Done(_))));
    let held = hold(&pool, anteroom_core::rules::MAX_AMOUNT - 2, "b").await;
    draw(&pool, 1, "c").await;
    pool.settle(held.id, units(1)).await.expect("an answer");
    let sums = sums(&pool).await;
    assert_eq!((sums.paid, sums.balance), (2, anteroom_core::rules::MAX_AMOUNT - 2));
}

#[tokio::test]
async fn an_emptied_store_gets_the_pool_again_and_a_changed_file_gives_no_funds() {
    let (world, pool) = opened(funded(10)).await;
    draw(&pool, 4, "a").await;
    assert!(
        pool.apply_rules(&Rules { funds: Some(99), ..Rules::default() }).await.expect("written")
    );
    assert_eq!(sums(&pool).await.balance, 6);
    assert!(
        !pool.apply_rules(&Rules { funds: Some(99), ..Rules::default() }).await.expect("written")
    );
    world.empty().await;
    assert_eq!(sums(&pool).await.balance, 99);
}

#[tokio::test]
async fn a_hold_is_known_for_a_day_past_its_end() {
    let (world, pool) = opened(funded(10)).await;
    let held = hold(&pool, 4, "a").await;
    // A day and 5 s, as fast as queue time goes with a tick every 5 s.
    for _ in 0..17_281 {
        world.pass(Duration::from_secs(5));
        pool.sweep().await.expect("a tick");
    }
    assert!(pool.look(held.id).await.expect("an answer").is_some());
    for _ in 0..12 {
        world.pass(Duration::from_secs(5));
        pool.sweep().await.expect("a tick");
    }
    assert!(pool.look(held.id).await.expect("an answer").is_none());
    assert_eq!(pool.settle(held.id, units(4)).await, Ok(Answer::Refused(Refusal::NoHold)));
    // The name is free again.
    hold(&pool, 5, "a").await;
    assert_eq!(sums(&pool).await.held, 5);
}

/// The key was deleted, or its epoch, or a part of a copy was put back: the ledger and the holds
/// are there.
#[tokio::test]
async fn promise_10_a_pool_whose_sums_are_gone_is_born_behind_its_ledger() {
    let meta = "anteroom:v1:pool:{reward}:meta";
    for loss in [&["DEL", meta][..], &["HDEL", meta, "epoch"]] {
        let (world, pool) = opened(funded(100)).await;
        let (left, late) = (hold(&pool, 30, "left").await, hold(&pool, 20, "late").await);
        draw(&pool, 5, "a").await;
        world.redis.run::<i64>(loss).await;
        let all = Sums { balance: 100, funded: 100, ..Sums::default() };
        assert_eq!(sums(&pool).await, all);
        let ledger = pool.ledger(LedgerFrom::After(0), 10).await.expect("a look");
        assert_eq!((ledger.opening_seq, ledger.opening, ledger.last_seq), (4, Sums::default(), 5));
        pass(&world, &pool, 61).await;
        assert_eq!(sums(&pool).await, all, "what they had reserved is gone with the sums");
        pool.cancel(left.id).await.expect("an answer");
        draw(&pool, 10, "b").await;
        assert!(
            matches!(pool.settle(late.id, units(20)).await, Ok(Answer::Done(_))),
            "it is paid late"
        );
        assert_eq!(sums(&pool).await, Sums { balance: 70, paid: 30, funded: 100, held: 0 });
    }
}

#[tokio::test]
async fn promise_11_a_repeat_of_a_hold_that_is_over_shows_that() {
    let (_world, pool) = opened(funded(100)).await;
    let again = async |id| match try_hold(&pool, 10, id).await {
        Answer::Repeated(hold) => hold.expires_in,
        other => panic!("no repeat: {other:?}"),
    };
    let (one, two) = (hold(&pool, 10, "1").await, hold(&pool, 10, "2").await);
    assert_eq!(again("1").await, one.expires_in);
    pool.cancel(one.id).await.expect("an answer");
    pool.settle(two.id, units(5)).await.expect("an answer");
    assert_eq!((again("1").await, again("2").await), (Duration::ZERO, Duration::ZERO));
}
