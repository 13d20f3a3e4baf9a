//! Calls that are repeated, and calls whose effect is unknown.

use std::time::Duration;

use anteroom_core::breaker::{
    Breaker, Kept, Outcome, Permission, PermitId, Recorded, Rules, State, Window,
};
use anteroom_core::store::{Config, Error};
use anteroom_testkit::Proxy;

use super::reports::{ask, look, quick, record};
use super::support::{SECOND, TimedStore, open};

const BOTH: [Kept; 2] = [Kept::InBuckets, Kept::InLog];

fn named(id: &str, outcome: Outcome) -> Outcome {
    Outcome { id: Some(id.to_owned()), ..outcome }
}

#[tokio::test]
async fn promise_11_a_repeat_within_one_window_changes_nothing() {
    let world = TimedStore::new().await;
    for kept in BOTH {
        let rules = Rules { kept, ..Rules::default() };
        let target = world.target(&format!("{kept:?}").to_lowercase());
        let first = named("a", Outcome::counted(2, 1));
        let window = record(&target, &rules, &first).await;
        world.pass(rules.window - Duration::from_micros(1));
        assert_eq!(target.record(&rules, &first).await, Ok(Recorded::Repeated(window)));
        for other in [
            Outcome { failures: 2, ..first.clone() },
            Outcome { latency_ms: Some(0), ..first.clone() },
            Outcome { reporter: Some("a".to_owned()), ..first.clone() },
            Outcome { permit: Some(PermitId([0; 16])), ..first.clone() },
        ] {
            assert_eq!(target.record(&rules, &other).await, Ok(Recorded::Mismatch), "{other:?}");
        }
        assert_eq!(look(&target, &rules).await.totals.successes, 2);
        // One window after the call its name is free again.
        world.pass(Duration::from_micros(1));
        let returned = record(&target, &rules, &named("a", Outcome::of(true))).await;
        assert_eq!(
            (returned.failures, returned.state),
            (u64::from(kept == Kept::InBuckets), State::Closed)
        );
        // The same id at another target is another call.
        let other = world.target(&format!("other-{kept:?}").to_lowercase());
        record(&other, &rules, &first).await;
    }
}

/// The link is cut behind the execution: what has a name is sent again and counts once.
#[tokio::test]
async fn promise_11_a_named_report_with_an_unknown_effect_is_sent_again() {
    let world = TimedStore::new().await;
    world.redis.load(anteroom_core::scripts().iter().map(|script| script.source())).await;
    let proxy = Proxy::start(world.redis.port()).await;
    let store = open(Config::new(proxy.url())).await;
    for kept in BOTH {
        let rules = Rules { kept, ..quick(3) };
        let target = Breaker::open(&store, &format!("{kept:?}").to_lowercase(), 100);
        for n in 1..=2 {
            proxy.cut_reply_to(b"EVALSHA");
            let returned =
                target.record(&rules, &named(&format!("call {n}"), Outcome::of(true))).await;
            let window = Window { successes: n, failures: 0, state: State::Closed };
            assert_eq!(returned, Ok(Recorded::Repeated(window)));
        }
        // One without a name is not: it may count, but never twice.
        proxy.cut_reply_to(b"EVALSHA");
        let lost = target.record(&rules, &Outcome::of(true)).await;
        assert!(matches!(lost, Err(Error::Unknown(_))), "{lost:?}");
        let returned = record_when_up(&target, &rules).await;
        assert_eq!(returned.successes, 4);
        // A permit is requested by its name, so it is the same one.
        record(&target, &rules, &Outcome::counted(0, 9)).await;
        let brief = Rules { open_for: Duration::from_secs(1), probes: 1, ..rules };
        let state = async || look(&target, &brief).await.state == State::HalfOpen;
        anteroom_testkit::until("it is half open", anteroom_testkit::PATIENCE, state).await;
        proxy.cut_reply_to(b"EVALSHA");
        assert!(matches!(
            ask(&target, &Rules { open_for: brief.window, ..brief }).await,
            Permission::Permit(_)
        ));
    }
}

async fn record_when_up(target: &Breaker, rules: &Rules) -> Window {
    let answered =
        anteroom_testkit::until_some("the link is back", anteroom_testkit::PATIENCE, async || {
            match target.record(rules, &named("after", Outcome::of(true))).await {
                Ok(Recorded::Counted(window) | Recorded::Repeated(window)) => Some(window),
                _ => None,
            }
        });
    answered.await
}

#[tokio::test]
async fn a_log_takes_at_most_a_hundred_outcomes_in_one_report() {
    let world = TimedStore::new().await;
    let (target, rules) = (world.target("t"), Rules { kept: Kept::InLog, ..Rules::default() });
    let returned = target.record(&rules, &Outcome::counted(50, 51)).await;
    assert_eq!(returned, Ok(Recorded::TooMany));
    assert_eq!(look(&target, &rules).await.totals.successes, 0);
    assert_eq!(record(&target, &rules, &Outcome::counted(50, 50)).await.failures, 50);
}

/// A leap of the store's clock moves nothing back: what counted counts on, what was returned stays.
#[tokio::test]
async fn promise_12_a_leap_back_of_the_clock_holds_nothing_longer() {
    let world = TimedStore::new().await;
    for kept in BOTH {
        let rules = Rules { kept, ..quick(2) };
        let target = world.target(&format!("{kept:?}").to_lowercase());
        record(&target, &rules, &Outcome::counted(0, 2)).await;
        let opened = look(&target, &rules).await;
        world.set_now(world.now() - 600 * SECOND);
        assert_eq!(look(&target, &rules).await.state, State::Open);
        world.pass(rules.open_for);
        let half_open = look(&target, &rules).await;
        assert_eq!(
            half_open.state,
            State::HalfOpen,
            "open_for has gone by, whatever the clock says"
        );
        assert!(half_open.version > opened.version, "versions only grow");
        world.pass(rules.window - rules.open_for);
        assert_eq!(look(&target, &rules).await.state, State::Closed);
    }
}

/// A permit that was given before the leap lasts as long as it was to.
#[tokio::test]
async fn promise_12_a_leap_back_of_the_clock_holds_no_permit_longer() {
    let world = TimedStore::new().await;
    for kept in BOTH {
        let rules = Rules { kept, probes: 1, window: Duration::from_secs(300), ..quick(2) };
        let target = world.target(&format!("{kept:?}").to_lowercase());
        record(&target, &rules, &Outcome::counted(0, 2)).await;
        world.pass(rules.open_for);
        assert_eq!(look(&target, &rules).await.state, State::HalfOpen);
        world.pass(Duration::from_secs(100));
        assert!(matches!(ask(&target, &rules).await, Permission::Permit(_)));
        world.set_now(world.now() - 90 * SECOND);
        assert!(matches!(ask(&target, &rules).await, Permission::Refused { .. }));
        world.pass(rules.open_for);
        assert!(matches!(ask(&target, &rules).await, Permission::Permit(_)), "{kept:?}");
    }
}

/// A leap ahead is a silence: at most one window is forgotten.
#[tokio::test]
async fn promise_12_a_leap_ahead_forgets_one_window_at_most() {
    let world = TimedStore::new().await;
    for kept in BOTH {
        let rules = Rules { kept, ..quick(2) };
        let target = world.target(&format!("{kept:?}").to_lowercase());
        record(&target, &rules, &Outcome::counted(0, 2)).await;
        let before = world.now();
        world.set_now(before + 600 * SECOND);
        assert_eq!(look(&target, &rules).await.state, State::Closed);
        record(&target, &rules, &Outcome::of(true)).await;
        world.set_now(before);
        let returned = record(&target, &rules, &Outcome::of(true)).await;
        assert_eq!((returned.successes, returned.failures), (2, 0), "{kept:?}");
    }
}
