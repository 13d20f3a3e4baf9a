//! Promise 11: calls that have a name, and links that break.

use std::time::Duration;

use anteroom_core::limit::{Algorithm, Answer, Call, Check, Limits};
use anteroom_core::store::{Config, Error};
use anteroom_testkit::{Cut, PATIENCE, Proxy, Redis};

use crate::requests::{login, opened, rule};
use crate::support::open;

async fn left(limits: &Limits, check: &Check<'_>) -> u32 {
    match limits.check(Call::one(&Check { cost: 0, ..*check }, None).expect("a call")).await {
        Ok(Answer::Decided { checks, .. }) => checks[0].remaining,
        other => panic!("{other:?}"),
    }
}

fn decided(answer: &Result<Answer, Error>) -> (bool, bool) {
    match answer {
        Ok(Answer::Decided { allowed, repeated, .. }) => (*allowed, *repeated),
        other => panic!("{other:?}"),
    }
}

/// A repeat within one window; then the name is free, though its key is still there.
#[tokio::test]
async fn promise_11_a_name_holds_for_one_window() {
    let (world, limits) = opened().await;
    for (algorithm, name) in Algorithm::ALL {
        let check = login(rule(algorithm, 9, 60), name, 2);
        let named = || limits.check(Call::one(&check, Some("a")).expect("a call"));
        assert_eq!(decided(&named().await), (true, false));
        world.pass(Duration::from_micros(59_999_999));
        assert_eq!(decided(&named().await), (true, true), "{algorithm:?}");
        world.pass(Duration::from_micros(1));
        let other = Check { cost: 1, ..check };
        let other = limits.check(Call::one(&other, Some("a")).expect("a call")).await;
        assert_eq!(decided(&other), (true, false), "{algorithm:?}");
        assert_eq!(named().await, Ok(Answer::Mismatch), "{algorithm:?}");
    }
}

/// The same name for two calls at once, as a client sends that lost its patience.
#[tokio::test]
async fn promise_11_two_at_once_are_one() {
    let (_world, limits) = opened().await;
    let check = login(rule(Algorithm::Log, 9, 60), "ann", 2);
    let named = || limits.check(Call::one(&check, Some("a")).expect("a call"));
    let (alone, first, second) = tokio::join!(named(), named(), named());
    let returned = [alone, first, second].map(|answer| decided(&answer));
    assert_eq!(returned, [(true, false), (true, true), (true, true)]);
    assert_eq!(left(&limits, &check).await, 7);
}

/// Two services that count different limits of one customer may both call theirs `order-17`.
#[tokio::test]
async fn the_name_of_several_checks_is_theirs_alone() {
    let (_world, limits) = opened().await;
    let of = |limit, key| Check {
        limit,
        group: Some("ann"),
        ..login(rule(Algorithm::Gcra, 9, 60), key, 1)
    };
    let named = |checks: [Check<'static>; 2]| {
        limits.check(Call::several(&checks, Some("a")).expect("a call"))
    };
    let (mail, calls) = (of("mail", "x"), of("calls", "y"));
    assert_eq!(decided(&named([mail, calls]).await), (true, false));
    assert_eq!(decided(&named([of("login", "x"), mail]).await), (true, false));
    assert_eq!(decided(&named([mail, calls]).await), (true, true));
    // In another order, or of another key, it is another payload than before.
    assert_eq!(named([calls, mail]).await, Ok(Answer::Mismatch));
    assert_eq!(named([mail, of("calls", "z")]).await, Ok(Answer::Mismatch));
}

#[tokio::test]
async fn promise_11_a_lost_reply_is_requested_again_where_the_call_has_a_name() {
    let redis = Redis::start().await;
    redis.load(anteroom_core::scripts().iter().map(|script| script.source())).await;
    let proxy = Proxy::start(redis.port()).await;
    let store = open(Config::new(proxy.url())).await;
    let limits = Limits::open(&store, 100);
    for (cuts, (algorithm, name)) in Algorithm::ALL.into_iter().enumerate() {
        let check = login(rule(algorithm, 9, 3_600), name, 2);
        for (id, cut, at) in [("after", Cut::After, 7), ("amid", Cut::Amid, 5)] {
            proxy.cut(b"EVALSHA", cut);
            let answer = limits.check(Call::one(&check, Some(id)).expect("a call")).await;
            assert_eq!(decided(&answer), (true, true), "{algorithm:?}: the repeat answered");
            assert_eq!(left(&limits, &check).await, at, "{algorithm:?}: taken once");
        }
        // Without a name the effect is unknown; it is not sent again.
        proxy.cut(b"EVALSHA", Cut::After);
        let lost = limits.check(Call::one(&check, None).expect("a call")).await;
        assert!(matches!(lost, Err(Error::Unknown(_))), "{algorithm:?}: {lost:?}");
        assert!(store.wait_up(PATIENCE).await, "the link is back");
        assert_eq!(left(&limits, &check).await, 3, "{algorithm:?}: it was taken");
        assert_eq!(proxy.cuts(), 3 * (cuts + 1));
    }
}
