//! What is promised of targets, one by one.

use std::time::Duration;

use anteroom_core::breaker::{Breaker, Kept, Outcome, Permission, PermitId, Rules, State, Window};

use super::reports::{ask, from, look, quick, record};
use super::support::TimedStore;

const BOTH: [Kept; 2] = [Kept::InBuckets, Kept::InLog];

fn window(successes: u64, failures: u64, state: State) -> Window {
    Window { successes, failures, state }
}

/// The seed case: five minutes, at one half.
#[tokio::test]
async fn promise_08_exactly_the_threshold_is_healthy() {
    let world = TimedStore::new().await;
    for kept in BOTH {
        let rules = Rules { kept, ..Rules::default() };
        assert_eq!((rules.window, rules.threshold_ppm), (Duration::from_secs(300), 500_000));
        let target = world.target(&format!("{kept:?}").to_lowercase());
        for n in 0..50 {
            record(&target, &rules, &from(0, Outcome::of(true))).await;
            let returned = record(&target, &rules, &from(1, Outcome::of(false))).await;
            assert_eq!(returned, window(n + 1, n + 1, State::Closed));
            world.pass(Duration::from_secs(2));
        }
        let returned = record(&target, &rules, &from(0, Outcome::of(false))).await;
        assert_eq!(returned, window(50, 51, State::Open), "{kept:?}: one below the half");
    }
}

#[tokio::test]
async fn promise_08_a_window_of_too_few_outcomes_is_not_judged() {
    let world = TimedStore::new().await;
    for kept in BOTH {
        let rules = Rules { kept, ..Rules::default() };
        let target = world.target(&format!("{kept:?}").to_lowercase());
        for n in 1..20 {
            let returned = record(&target, &rules, &Outcome::of(false)).await;
            assert_eq!(returned, window(0, n, State::Closed));
        }
        assert_eq!(record(&target, &rules, &Outcome::of(false)).await.state, State::Open);
    }
}

#[tokio::test]
async fn promise_08_one_bad_replica_of_twenty_opens_nothing_and_two_do() {
    let world = TimedStore::new().await;
    let target = world.target("t");
    let rules = Rules::default();
    for replica in 0..20 {
        record(&target, &rules, &from(replica, Outcome::of(true))).await;
    }
    for _ in 0..200 {
        let returned = record(&target, &rules, &from(7, Outcome::of(false))).await;
        assert_eq!(returned.state, State::Closed);
    }
    assert_eq!(record(&target, &rules, &from(8, Outcome::of(false))).await.state, State::Open);
    // Each of the others hears it with its next answer, whatever it reports.
    for replica in 0..20 {
        let returned = record(&target, &rules, &from(replica, Outcome::of(true))).await;
        assert!(returned.state.is_fallback(), "replica {replica}");
    }
}

/// Nor does it keep the fleet in fallback: while it alone fails, further probes decide.
#[tokio::test]
async fn promise_08_one_bad_replica_of_twenty_cannot_keep_it_open() {
    let world = TimedStore::new().await;
    let (target, rules) = (world.target("t"), quick(4));
    for replica in 0..20 {
        record(&target, &rules, &from(replica, Outcome::of(false))).await;
    }
    world.pass(rules.open_for);
    for _ in 0..3 {
        let returned = record(&target, &rules, &from(0, Outcome::counted(0, 5))).await;
        assert_eq!(returned.state, State::HalfOpen);
    }
    // A second one that fails, too, opens it again.
    let returned = record(&target, &rules, &from(1, Outcome::counted(0, 5))).await;
    assert_eq!(returned.state, State::Open);
    world.pass(rules.open_for);
    record(&target, &rules, &from(0, Outcome::counted(0, 5))).await;
    let returned = record(&target, &rules, &from(2, Outcome::counted(5, 0))).await;
    assert_eq!(returned.state, State::Closed);
}

#[tokio::test]
async fn promise_08_a_fleet_of_one_opens_it_alone() {
    let world = TimedStore::new().await;
    for (name, quorum) in [("one", 1), ("two", 2), ("many", 64)] {
        let target = world.target(name);
        let rules = Rules { quorum, ..quick(3) };
        for state in [State::Closed, State::Closed, State::Open] {
            assert_eq!(record(&target, &rules, &from(0, Outcome::of(false))).await.state, state);
        }
    }
}

#[tokio::test]
async fn promise_08_it_closes_again_through_half_open_only() {
    let world = TimedStore::new().await;
    for kept in BOTH {
        let rules = Rules { kept, ..quick(4) };
        let target = world.target(&format!("{kept:?}").to_lowercase());
        record(&target, &rules, &Outcome::counted(1, 3)).await;
        let opened = look(&target, &rules).await;
        assert_eq!(opened.state, State::Open);
        let Permission::Refused { state: State::Open, retry_in } = ask(&target, &rules).await
        else {
            panic!("no caller may call an open target");
        };
        assert_eq!(retry_in, rules.open_for);
        // Successes alone do not close it.
        let returned = record(&target, &rules, &Outcome::counted(90, 0)).await;
        assert_eq!(returned, window(91, 3, State::Open));
        world.pass(rules.open_for - Duration::from_micros(1));
        assert_eq!(look(&target, &rules).await.state, State::Open);
        world.pass(Duration::from_micros(1));
        let half_open = look(&target, &rules).await;
        assert_eq!(half_open.window(), window(0, 0, State::HalfOpen), "the window restarts");
        assert!(half_open.version > opened.version);
        // Three of five are enough, …
        for (is_success, state) in [
            (true, State::HalfOpen),
            (false, State::HalfOpen),
            (false, State::HalfOpen),
            (true, State::HalfOpen),
            (true, State::Closed),
        ] {
            assert_eq!(record(&target, &rules, &Outcome::of(is_success)).await.state, state);
        }
        let closed = look(&target, &rules).await;
        assert_eq!(closed.window(), window(3, 2, State::Closed), "the probes stay in the window");
        assert!(closed.version > half_open.version);
        assert_eq!((closed.totals.successes, closed.totals.failures), (94, 5));
        // … and two are not.
        record(&target, &rules, &Outcome::counted(0, 9)).await;
        world.pass(rules.open_for);
        let returned = record(&target, &rules, &Outcome::counted(2, 3)).await;
        assert_eq!(returned, window(2, 3, State::Open));
    }
}

#[tokio::test]
async fn promise_08_without_outcomes_for_one_window_it_closes() {
    let world = TimedStore::new().await;
    for kept in BOTH {
        for half_open in [false, true] {
            let rules = Rules { kept, ..quick(1) };
            let target = world.target(&format!("{kept:?}-{half_open}").to_lowercase());
            record(&target, &rules, &Outcome::of(false)).await;
            world.pass(rules.open_for);
            let state = if half_open { look(&target, &rules).await.state } else { State::HalfOpen };
            assert_eq!(state, State::HalfOpen);
            world.pass(rules.window - rules.open_for - Duration::from_micros(1));
            assert!(look(&target, &rules).await.state.is_fallback());
            world.pass(Duration::from_micros(1));
            assert_eq!(ask(&target, &rules).await, Permission::Free);
            assert_eq!(look(&target, &rules).await.window(), window(0, 0, State::Closed));
        }
    }
}

#[tokio::test]
async fn promise_08_half_open_gives_so_many_permits_at_a_time() {
    let world = TimedStore::new().await;
    let (target, rules) = (world.target("t"), quick(1));
    assert_eq!(ask(&target, &rules).await, Permission::Free);
    record(&target, &rules, &Outcome::of(false)).await;
    world.pass(rules.open_for);
    let mut permits = Vec::new();
    for n in 0..20 {
        match ask(&target, &rules).await {
            Permission::Permit(permit) => permits.push(permit),
            Permission::Refused { state, retry_in } => {
                assert_eq!((state, retry_in), (State::HalfOpen, rules.open_for));
                assert!(n >= 5);
            }
            Permission::Free => panic!("it is half open"),
        }
    }
    assert_eq!(permits.len(), 5);
    // Requested again it is the same, and takes no other's place.
    let again = target.permit(&rules, permits[0]).await;
    assert_eq!(again, Ok(Permission::Permit(permits[0])));
    // An outcome that names it frees one; one that names none, or another, does not.
    let named = Outcome { permit: Some(permits[0]), ..Outcome::of(true) };
    record(&target, &rules, &named).await;
    record(&target, &rules, &named).await;
    assert!(matches!(ask(&target, &rules).await, Permission::Permit(_)));
    assert!(matches!(ask(&target, &rules).await, Permission::Refused { .. }));
    // They expire by themselves.
    world.pass(rules.open_for);
    for _ in 0..5 {
        assert!(matches!(ask(&target, &rules).await, Permission::Permit(_)));
    }
    assert!(matches!(ask(&target, &rules).await, Permission::Refused { .. }));
}

/// A target that is half open, and so many permits of it.
async fn half_open(world: &TimedStore, rules: &Rules, permits: usize) -> (Breaker, Vec<PermitId>) {
    let target = world.target(&format!("{:?}-{permits}", rules.kept).to_lowercase());
    record(&target, rules, &Outcome::of(false)).await;
    world.pass(rules.open_for);
    let mut given = Vec::new();
    for _ in 0..permits {
        let Permission::Permit(permit) = ask(&target, rules).await else { panic!("no permit") };
        given.push(permit);
    }
    (target, given)
}

#[tokio::test]
async fn promise_08_a_permit_is_one_probe_however_often_it_is_named() {
    let world = TimedStore::new().await;
    for kept in BOTH {
        let rules = Rules { kept, probes: 3, ..quick(1) };
        let (target, permits) = half_open(&world, &rules, 3).await;
        let named = |permit| Outcome { permit: Some(permit), ..Outcome::of(true) };
        for n in 1..=3 {
            let returned = record(&target, &rules, &named(permits[0])).await;
            assert_eq!(
                returned,
                window(n, 0, State::HalfOpen),
                "{kept:?}: it counts in the window"
            );
        }
        // Nor does one count that was never given, or has ended.
        record(&target, &rules, &named(PermitId([7; 16]))).await;
        let returned = record(&target, &rules, &named(permits[1])).await;
        assert_eq!(returned.state, State::HalfOpen);
        world.pass(rules.open_for);
        let returned = record(&target, &rules, &named(permits[2])).await;
        assert_eq!(returned.state, State::HalfOpen, "{kept:?}");
        let Permission::Permit(third) = ask(&target, &rules).await else { panic!("no permit") };
        assert_eq!(record(&target, &rules, &named(third)).await.state, State::Closed);
    }
}

#[tokio::test]
async fn promise_08_while_permits_are_out_only_their_outcomes_decide() {
    let world = TimedStore::new().await;
    for kept in BOTH {
        let rules = Rules { kept, probes: 3, ..quick(1) };
        let (target, permits) = half_open(&world, &rules, 3).await;
        let returned = record(&target, &rules, &Outcome::counted(0, 9)).await;
        assert_eq!(returned, window(0, 9, State::HalfOpen), "{kept:?}");
        for (permit, state) in
            permits.into_iter().zip([State::HalfOpen, State::HalfOpen, State::Closed])
        {
            let named = Outcome { permit: Some(permit), ..Outcome::of(true) };
            let returned = record(&target, &rules, &named).await;
            assert_eq!(returned.state, state, "{kept:?}");
        }
        // What the others reported opens it with the next failure only.
        let returned = record(&target, &rules, &Outcome::of(true)).await;
        assert_eq!(returned, window(4, 9, State::Closed), "{kept:?}");
        assert_eq!(look(&target, &rules).await.state, State::Closed);
        assert_eq!(record(&target, &rules, &Outcome::of(false)).await.state, State::Open);
        // With none out, or none that lives, whatever is reported decides.
        for permits in [0, 2] {
            let (target, _) = half_open(&world, &rules, permits).await;
            world.pass(rules.open_for);
            let returned = record(&target, &rules, &Outcome::counted(0, 3)).await;
            assert_eq!(returned.state, State::Open, "{kept:?}");
        }
    }
}

/// One window after the last outcome all may call, however long a permit or `open_for` lasts.
#[tokio::test]
async fn promise_08_no_retry_time_is_later_than_the_target_closes() {
    let world = TimedStore::new().await;
    for kept in BOTH {
        let long = Duration::from_secs(3_600);
        let rules = Rules { kept, open_for: long, probes: 1, ..quick(1) };
        let target = world.target(&format!("{kept:?}").to_lowercase());
        record(&target, &rules, &Outcome::of(false)).await;
        world.pass(Duration::from_secs(60));
        let left = rules.window - Duration::from_secs(60);
        let refused = |state| Permission::Refused { state, retry_in: left };
        assert_eq!(ask(&target, &rules).await, refused(State::Open), "{kept:?}");
        let brief = Rules { open_for: Duration::from_secs(10), ..rules };
        assert_eq!(look(&target, &brief).await.state, State::HalfOpen);
        assert!(matches!(ask(&target, &rules).await, Permission::Permit(_)));
        assert_eq!(ask(&target, &rules).await, refused(State::HalfOpen), "{kept:?}");
        world.pass(left);
        assert_eq!(ask(&target, &rules).await, Permission::Free);
    }
}
