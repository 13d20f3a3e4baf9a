//! What is promised of events, one by one.

use std::time::Duration;

use anteroom_core::event::{Application, Apply, Event, Failed, Finished, Issue, Retried, Rules};
use rand::Rng as _;

use super::requests::{apply, apply_many, claim, finish, opened, pass, sequences, status, stock};
use super::support::{SECOND, START, TimedStore};

#[tokio::test]
async fn promise_09_one_application_for_each_visitor_for_ever() {
    let (world, event) = opened(stock(2)).await;
    assert_eq!(apply(&event, "ann").await, Application::Pending { position: 1 });
    assert_eq!(apply(&event, "bob").await, Application::Pending { position: 2 });
    let again = Apply::Same(Application::Pending { position: 1 });
    assert_eq!(event.apply("ann").await, Ok(again));
    let claimed = claim(&event, 9).await;
    assert_eq!(event.apply("ann").await, Ok(Apply::Same(Application::Claimed)));
    assert_eq!(finish(&event, &claimed).await, 2);
    let issued = Application::Issued { issued_at: START / SECOND, code: None };
    for _ in 0..3 {
        world.pass(Duration::from_secs(365 * 86_400));
        assert_eq!(event.apply("ann").await, Ok(Apply::Same(issued.clone())));
    }
    assert_eq!(event.apply("eve").await, Ok(Apply::SoldOut));
    assert_eq!(event.status("eve").await, Ok(None));
}

#[tokio::test]
async fn promise_09_the_last_unit_makes_all_who_wait_sold_out_for_ever() {
    let (_world, event) = opened(Rules { over_apply: 2_500_000, ..stock(2) }).await;
    apply_many(&event, 0..5).await;
    // With as many on their way as may apply, no other is taken, and none is sold out yet.
    assert_eq!(event.apply("v5").await, Ok(Apply::SoldOut));
    let claimed = claim(&event, 9).await;
    assert_eq!(sequences(&claimed), [1, 2]);
    assert_eq!(status(&event, "v4").await, Application::Pending { position: 3 });
    assert_eq!(finish(&event, &claimed).await, 2);
    for visitor in ["v2", "v3", "v4"] {
        assert_eq!(status(&event, visitor).await, Application::SoldOut);
    }
    event.add_stock("more", 10).await.expect("stock");
    assert_eq!(event.apply("v2").await, Ok(Apply::Same(Application::SoldOut)));
    assert_eq!(apply(&event, "v6").await, Application::Pending { position: 1 });
    assert_eq!(sequences(&claim(&event, 9).await), [6]);
    let shown = event.snapshot().await.expect("a look");
    assert_eq!((shown.stock, shown.issued, shown.sold_out), (12, 2, 3));
}

#[tokio::test]
async fn promise_09_an_issuer_that_lost_its_lease_can_finish_nothing() {
    let (world, event) = opened(Rules { lease: Duration::from_secs(4), ..stock(5) }).await;
    apply_many(&event, 0..2).await;
    let late = claim(&event, 1).await;
    pass(&world, &event, late.lease - Duration::from_micros(1)).await;
    assert_eq!(event.renew(late.fence, &[1]).await, Ok(vec![true]));
    pass(&world, &event, late.lease - Duration::from_micros(1)).await;
    world.pass(Duration::from_micros(1));
    // Its time is over, and no tick has reclaimed it yet.
    assert_eq!(finish(&event, &late).await, 0);
    assert_eq!(event.renew(late.fence, &[1]).await, Ok(vec![false]));
    assert_eq!(event.give_back(late.fence, &[1]).await, Ok(0));
    let failed = event.fail(late.fence, 1, "late", None).await;
    assert_eq!(failed, Ok(Failed::LeaseLost));
    assert_eq!(event.reclaim().await.expect("a tick").returned, 1);
    let next = claim(&event, 2).await;
    assert_eq!(sequences(&next), [1, 2]);
    assert_eq!(next.work[0].attempt, 2, "a lease that ran out counts as an attempt");
    assert_eq!(finish(&event, &late).await, 0);
    assert_eq!(finish(&event, &next).await, 2);
    // It does not even see that it is issued: another did that.
    let finished = event.finish(late.fence, &late.work).await.expect("an answer");
    assert_eq!(finished, [Finished::LeaseLost]);
}

#[tokio::test]
async fn promise_09_claims_come_in_the_order_of_the_applications() {
    let (world, event) = opened(stock(9)).await;
    apply_many(&event, 0..9).await;
    let (one, two, three) =
        (claim(&event, 2).await, claim(&event, 2).await, claim(&event, 2).await);
    assert_eq!([&one, &two, &three].map(sequences), [vec![1, 2], vec![3, 4], vec![5, 6]]);
    assert!(one.fence < two.fence && two.fence < three.fence);
    // An issuer drains, in no order, and another dies.
    assert_eq!(event.give_back(three.fence, &[6, 5]).await, Ok(2));
    assert_eq!(status(&event, "v5").await, Application::Pending { position: 2 });
    assert_eq!(status(&event, "v6").await, Application::Pending { position: 3 });
    assert_eq!(event.renew(two.fence, &[3, 4]).await, Ok(vec![true, true]));
    for _ in 0..2 {
        pass(&world, &event, Duration::from_secs(4)).await;
        assert_eq!(event.renew(two.fence, &[3, 4]).await, Ok(vec![true, true]));
    }
    pass(&world, &event, Duration::from_secs(4)).await;
    let next = claim(&event, 5).await;
    assert_eq!(sequences(&next), [1, 2, 5, 6, 7]);
    let attempts: Vec<_> = next.work.iter().map(|work| work.attempt).collect();
    assert_eq!(attempts, [2, 2, 1, 1, 1], "what was given back burned no attempt");
}

#[tokio::test]
async fn promise_09_a_dead_letter_keeps_its_unit_until_it_is_given_up() {
    let (world, event) = opened(Rules { over_apply: 2_000_000, max_attempts: 2, ..stock(2) }).await;
    apply_many(&event, 0..3).await;
    let claimed = claim(&event, 9).await;
    let failed = event.fail(claimed.fence, 1, "refused", None).await;
    assert_eq!(failed, Ok(Failed::Dead));
    let again = Some(Duration::from_secs(1));
    assert_eq!(event.fail(claimed.fence, 2, "a time-out", again).await, Ok(Failed::Retried));
    assert_eq!(status(&event, "v0").await, Application::Failed);
    let waits = Application::ToRetry { again_in: Duration::from_secs(1) };
    assert_eq!(status(&event, "v1").await, waits);
    let idle = claim(&event, 9).await;
    assert_eq!((idle.work.len(), idle.again_in, idle.pending), (0, again, false));
    world.pass(Duration::from_secs(1));
    let second = claim(&event, 9).await;
    assert_eq!(sequences(&second), [2]);
    let failed = event.fail(second.fence, 2, "a time-out", again).await;
    assert_eq!(failed, Ok(Failed::Dead), "the second of two");
    let letters = event.dead(0, 1).await.expect("a look");
    assert_eq!((letters.letters[0].visitor_id.as_str(), letters.next), ("v0", Some(1)));
    let letters = event.dead(1, 1).await.expect("a look");
    let letter = &letters.letters[0];
    assert_eq!((letter.attempts, letter.error.as_str()), (2, "a time-out"));
    assert_eq!(letters.next, None);
    // Its unit goes to the first who waits.
    assert_eq!(event.give_up("v0").await, Ok(true));
    assert_eq!(event.give_up("v2").await, Ok(false));
    let third = claim(&event, 9).await;
    assert_eq!(sequences(&third), [3]);
    assert_eq!(finish(&event, &third).await, 1);
    let retried = event.retry_dead(&["v1", "v0", "eve"]).await;
    assert_eq!(retried, Ok(Retried { retried: 1, dead: 0 }), "what was given up stays so");
    let fourth = claim(&event, 9).await;
    assert_eq!((sequences(&fourth), fourth.work[0].attempt), (vec![2], 1));
    assert_eq!(finish(&event, &fourth).await, 1);
    assert_eq!(status(&event, "v0").await, Application::Failed);
    let shown = event.snapshot().await.expect("a look");
    assert_eq!((shown.issued, shown.dead, shown.failed), (2, 0, 1));
}

#[tokio::test]
async fn promise_09_each_code_is_given_once() {
    let (_world, event) = opened(Rules { issue: Issue::Codes, ..stock(4) }).await;
    apply_many(&event, 0..4).await;
    let none = claim(&event, 9).await;
    assert_eq!((none.work.len(), none.pending), (0, false), "without a code nothing is claimed");
    let codes = ["a", "b", "a", "c"].map(str::to_owned);
    let loaded = event.load_codes(&codes).await.expect("loaded");
    assert_eq!((loaded.new, loaded.left), (3, 3));
    let claimed = claim(&event, 9).await;
    assert_eq!(sequences(&claimed), [1, 2, 3]);
    let finished = event.finish(claimed.fence, &claimed.work[..2]).await.expect("an answer");
    let codes_of = |finished: &[Finished]| -> Vec<_> {
        let code = |it: &Finished| match it {
            Finished::Issued { code, .. } => code.clone(),
            other => panic!("{other:?}"),
        };
        finished.iter().map(code).collect()
    };
    assert_eq!(codes_of(&finished), [Some("a".to_owned()), Some("b".to_owned())]);
    // Again is harmless: the same codes, and the same file.
    let again = event.finish(claimed.fence, &claimed.work[..2]).await.expect("an answer");
    assert_eq!(codes_of(&again), codes_of(&finished));
    let loaded = event.load_codes(&codes).await.expect("loaded");
    assert_eq!((loaded.new, loaded.left), (0, 1));
    let Application::Issued { code, .. } = status(&event, "v1").await else { panic!("issued") };
    assert_eq!(code.as_deref(), Some("b"));
}

#[tokio::test]
async fn applications_are_taken_between_opening_and_end() {
    let (opens, ends) = (START / SECOND + 60, START / SECOND + 120);
    let rules = Rules { opens_at: Some(opens), ends_at: Some(ends), ..stock(9) };
    let (world, event) = opened(rules).await;
    let opens_in = Some(Duration::from_secs(60));
    assert_eq!(event.apply("ann").await, Ok(Apply::NotOpen { opens_in }));
    world.set_now(opens * SECOND);
    apply_many(&event, 0..3).await;
    world.set_now(ends * SECOND);
    assert_eq!(event.apply("ann").await, Ok(Apply::NotOpen { opens_in: None }));
    // What was taken is still issued.
    event.reclaim().await.expect("a tick");
    let claimed = claim(&event, 1).await;
    assert_eq!(finish(&event, &claimed).await, 1);
    let shown = event.snapshot().await.expect("a look");
    assert_eq!((shown.stock, shown.issued), (9, 1));
}

/// What ends while the store is away lasts for the whole of a lease behind the next tick.
#[tokio::test]
async fn promise_12_an_outage_costs_no_issuer_its_claims() {
    let lease = Duration::from_secs(3);
    let (world, event) = opened(Rules { lease, max_attempts: 1, ..stock(9) }).await;
    apply_many(&event, 0..3).await;
    let dies = claim(&event, 1).await;
    pass(&world, &event, lease - Duration::from_secs(1)).await;
    let lives = claim(&event, 2).await;
    world.pass(Duration::from_secs(60));
    // The scheduler is the first to find the store again, or an issuer.
    assert_eq!(event.renew(lives.fence, &[3]).await, Ok(vec![true]));
    assert_eq!(event.reclaim().await.expect("a tick").dead, 0);
    pass(&world, &event, lease / 2).await;
    assert_eq!(finish(&event, &lives).await, 2);
    // One that died in the meantime has had its time.
    pass(&world, &event, lease / 2).await;
    assert_eq!(finish(&event, &dies).await, 0);
    assert_eq!(status(&event, "v0").await, Application::Failed);
}

/// A mistake in a date ends an event, and drops nothing: there is time to mend it.
#[tokio::test]
async fn promise_09_an_end_that_lies_in_the_past_drops_no_application() {
    let rules = Rules { issue: Issue::Codes, ..stock(9) };
    let (world, event) = opened(rules.clone()).await;
    apply_many(&event, 0..3).await;
    let codes: Vec<_> = (0..3).map(|number| format!("code {number}")).collect();
    event.load_codes(&codes).await.expect("codes");
    assert_eq!(finish(&event, &claim(&event, 2).await).await, 2);
    let long_ago = Rules { ends_at: Some(START / SECOND - 40_000_000), ..rules.clone() };
    event.apply_rules(&long_ago).await.expect("written");
    pass(&world, &event, Duration::from_secs(5)).await;
    assert_eq!(event.apply("v9").await, Ok(Apply::NotOpen { opens_in: None }));
    event.apply_rules(&rules).await.expect("written");
    assert!(matches!(event.apply("v0").await, Ok(Apply::Same(Application::Issued { .. }))));
    assert_eq!(event.load_codes(&codes).await.expect("codes").new, 0);
    assert_eq!(status(&event, "v2").await, Application::Pending { position: 1 });
}

/// A reload that loses the line must not count those as issued who wait for a code.
#[tokio::test]
async fn promise_09_the_first_application_settles_how_units_are_issued() {
    let (codes, count) = (Rules { issue: Issue::Codes, ..stock(9) }, stock(9));
    let (_world, event) = opened(count.clone()).await;
    event.apply_rules(&count).await.expect("written");
    event.apply_rules(&codes).await.expect("written");
    apply(&event, "ann").await;
    event.apply_rules(&count).await.expect("written");
    assert_eq!(event.snapshot().await.expect("a look").rules.issue, Issue::Codes);
    assert!(claim(&event, 9).await.work.is_empty(), "there are no codes");
    event.load_codes(&["one".to_owned()]).await.expect("codes");
    let claimed = claim(&event, 9).await;
    assert_eq!(claimed.issue, Issue::Codes);
    assert_eq!(finish(&event, &claimed).await, 1);
    assert!(matches!(status(&event, "ann").await, Application::Issued { code: Some(_), .. }));
}

/// At most so many claims in any second and a tenth, of all issuers together, also while no
/// scheduler ticks.
#[tokio::test]
async fn max_per_second_holds_for_the_fleet() {
    let (world, event) = opened(Rules { max_per_second: 20, ..stock(1_000) }).await;
    apply_many(&event, 0..200).await;
    let mut claims = Vec::new();
    while claims.len() < 100 {
        let claimed = claim(&event, 64).await;
        assert!(claimed.pending);
        claims.extend(claimed.work.iter().map(|_| world.now()));
        let again_in = claimed.again_in.expect("the rate lets more go");
        assert!(again_in > Duration::ZERO);
        world.pass(again_in);
    }
    let ended = world.now();
    for window in claims.windows(23) {
        assert!(window[22] - window[0] >= SECOND, "{window:?}");
    }
    let took = claims[99] - claims[0];
    assert!(took <= 5 * SECOND, "the rate is used: {took} µs");
    // A clock that leaps back stops nothing.
    world.set_now(ended - 3_600 * SECOND);
    for _ in 0..3 {
        let claimed = claim(&event, 64).await;
        world.pass(claimed.again_in.expect("the rate lets more go"));
    }
    assert!(!claim(&event, 64).await.work.is_empty());
}

/// By the store's own clock: issuers die, wake too late, and give back, while visitors apply.
#[tokio::test]
async fn promise_09_exactly_the_stock_is_issued_whatever_issuers_do() {
    const STOCK: u64 = 300;
    let world = TimedStore::new().await;
    let rules = Rules {
        over_apply: 2_000_000,
        lease: Duration::from_secs(1),
        max_attempts: 1_000,
        ..stock(STOCK)
    };
    let event = Event::open(&world.store, "fleet", rules, 1_000);
    let mut tasks = tokio::task::JoinSet::new();
    for part in 0..4 {
        let event = event.clone();
        tasks.spawn(async move {
            apply_many(&event, part * 125..(part + 1) * 125).await;
            0
        });
    }
    for _ in 0..6 {
        let event = event.clone();
        tasks.spawn(async move {
            let mut issued = 0;
            while event.snapshot().await.expect("a look").issued < STOCK {
                let claimed = claim(&event, 7).await;
                let fate = rand::rng().random_range(0..10);
                match fate {
                    // It dies with all it had.
                    0 => {}
                    // A zombie.
                    1 => {
                        tokio::time::sleep(Duration::from_millis(1_100)).await;
                        issued += finish(&event, &claimed).await;
                    }
                    2 => {
                        let back = event.give_back(claimed.fence, &sequences(&claimed)).await;
                        back.expect("given back");
                    }
                    3 => {
                        for sequence in sequences(&claimed) {
                            let again = Some(Duration::from_millis(20));
                            let failed = event.fail(claimed.fence, sequence, "no", again).await;
                            failed.expect("an answer");
                        }
                    }
                    _ => issued += finish(&event, &claimed).await,
                }
                event.reclaim().await.expect("a tick");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            issued
        });
    }
    let issued: usize = tasks.join_all().await.into_iter().sum();
    assert_eq!(issued as u64, STOCK);
    let shown = event.snapshot().await.expect("a look");
    assert_eq!((shown.stock, shown.issued, shown.pending, shown.claimed), (STOCK, STOCK, 0, 0));
    assert_eq!(shown.sold_out, 500 - STOCK);
    let (mut with_unit, mut without) = (0, 0);
    for number in 0..500 {
        match status(&event, &format!("v{number}")).await {
            Application::Issued { .. } => with_unit += 1,
            Application::SoldOut => without += 1,
            other => panic!("v{number} ended in {other:?}"),
        }
    }
    assert_eq!((with_unit, without), (STOCK, 500 - STOCK));
}
