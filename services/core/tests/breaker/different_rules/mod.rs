//! Callers with different rules: each call judges the same outcomes by its own.

mod exact;
mod side_by_side;

use std::time::Duration;

use anteroom_core::breaker::{Kept, Outcome, Permission, PermitId, Rules, State, Window};
use anteroom_testkit::Redis;

use super::reports::{ask, from, look, quick, record};
use super::support::TimedStore;

const MINUTE: Duration = Duration::from_secs(60);
const BOTH: [Kept; 2] = [Kept::InBuckets, Kept::InLog];

fn of(seconds: u64, kept: Kept) -> Rules {
    Rules { window: Duration::from_secs(seconds), kept, ..Rules::default() }
}

/// The pairs of rules that replicas have while one of them refuses a new file.
fn pairs() -> Vec<[Rules; 2]> {
    let windows = BOTH.map(|kept| [of(60, kept), of(61, kept)]);
    let stores = [60, 61].map(|seconds| [of(60, Kept::InLog), of(seconds, Kept::InBuckets)]);
    let turned = stores.map(|[first, second]| [second, first]);
    [&windows[..], &stores, &turned].concat()
}

/// Whether Redis holds more of the target than one window.
async fn has_others(redis: &Redis) -> bool {
    redis.run(&["HEXISTS", "anteroom:v1:target:{t}:meta", "others"]).await
}

#[tokio::test]
async fn promise_08_forty_failures_through_two_windows_or_stores_open_it() {
    for pair in pairs() {
        let world = TimedStore::new().await;
        let target = world.target("t");
        for n in 0..40 {
            let returned = record(&target, &pair[n % 2], &from(n % 2, Outcome::of(false))).await;
            let state = if n < 19 { State::Closed } else { State::Open };
            let failures = n as u64 + 1;
            assert_eq!(returned, Window { successes: 0, failures, state }, "{pair:?}");
            world.pass(Duration::from_millis(100));
        }
        for rules in &pair {
            let shown = look(&target, rules).await;
            assert_eq!((shown.state, shown.failures), (State::Open, 40), "{pair:?}");
        }
    }
}

/// Both agree, so calls of both leave it as it is.
#[tokio::test]
async fn promise_08_a_target_about_which_all_agree_keeps_its_state() {
    for pair in pairs() {
        let world = TimedStore::new().await;
        let target = world.target("t");
        record(&target, &pair[0], &Outcome::counted(30, 1)).await;
        record(&target, &pair[1], &Outcome::counted(30, 1)).await;
        let healthy = look(&target, &pair[0]).await;
        for n in 0..20 {
            world.pass(Duration::from_secs(1));
            record(&target, &pair[n % 2], &Outcome::of(!n.is_multiple_of(3))).await;
            let shown = look(&target, &pair[(n + 1) % 2]).await;
            assert_eq!((shown.state, shown.version), (State::Closed, healthy.version), "{pair:?}");
        }
        // Two rounds: it opens, is probed, and closes.
        for _ in 0..2 {
            for rules in &pair {
                record(&target, rules, &Outcome::counted(0, 60)).await;
            }
            let opened = look(&target, &pair[0]).await;
            assert_eq!(opened.state, State::Open, "{pair:?}");
            for n in 0..9 {
                world.pass(Duration::from_secs(1));
                record(&target, &pair[n % 2], &Outcome::of(true)).await;
                let shown = look(&target, &pair[(n + 1) % 2]).await;
                assert_eq!((shown.state, shown.version), (State::Open, opened.version));
            }
            world.pass(Duration::from_secs(1));
            let half_open = look(&target, &pair[1]).await;
            assert_eq!(half_open.state, State::HalfOpen);
            for n in 0..5 {
                let Permission::Permit(permit) = ask(&target, &pair[n % 2]).await else {
                    panic!("{pair:?}: no permit");
                };
                let shown = look(&target, &pair[n % 2]).await;
                assert_eq!((shown.state, shown.version), (State::HalfOpen, half_open.version));
                let probe = Outcome { permit: Some(permit), ..Outcome::of(true) };
                record(&target, &pair[(n + 1) % 2], &probe).await;
            }
            let closed = look(&target, &pair[0]).await;
            assert_eq!((closed.state, closed.window().successes), (State::Closed, 5), "{pair:?}");
            assert_eq!(look(&target, &pair[1]).await.version, closed.version);
        }
    }
}

/// The state is one for all: the rules of a call move it, whatever the others say.
#[tokio::test]
async fn promise_08_the_rules_of_a_call_move_the_state_that_all_share() {
    let world = TimedStore::new().await;
    let (target, lax) = (world.target("t"), quick(20));
    let strict = Rules { threshold_ppm: 900_000, ..lax };
    assert_eq!(record(&target, &lax, &Outcome::counted(15, 5)).await.state, State::Closed);
    assert_eq!(look(&target, &strict).await.state, State::Open);
    assert_eq!(look(&target, &lax).await.state, State::Open);
    world.pass(lax.open_for);
    let probes = Outcome::counted(3, 2);
    assert_eq!(record(&target, &lax, &probes).await.state, State::Closed);
    // Failures from before are forgiven; the next one is judged by the rules of its call.
    assert_eq!(look(&target, &strict).await.state, State::Closed);
}

/// A replica with a short window, which may only look, ends no fallback of the others and empties
/// no window.
#[tokio::test]
async fn promise_08_silence_closes_it_after_the_longest_window_in_use() {
    for kept in BOTH {
        let world = TimedStore::new().await;
        let (target, long, short) = (world.target("t"), of(300, kept), of(5, kept));
        assert_eq!(record(&target, &long, &Outcome::counted(0, 40)).await.state, State::Open);
        world.pass(Duration::from_secs(9));
        let Permission::Refused { state: State::Open, retry_in } = ask(&target, &short).await
        else {
            panic!("{kept:?}: closed by the short window");
        };
        assert_eq!(retry_in, Duration::from_secs(1), "{kept:?}");
        assert_eq!(look(&target, &short).await.state, State::Open, "{kept:?}");
        let shown = look(&target, &long).await;
        assert_eq!((shown.state, shown.failures), (State::Open, 40), "{kept:?}");
        world.pass(Duration::from_secs(1));
        for (seconds, state) in [(0, State::HalfOpen), (289, State::HalfOpen), (1, State::Closed)] {
            world.pass(Duration::from_secs(seconds));
            assert_eq!(look(&target, &short).await.state, state, "{kept:?} {seconds}");
            assert_eq!(look(&target, &long).await.state, state, "{kept:?} {seconds}");
        }
    }
}

/// With a minute and with five at once.
#[tokio::test]
async fn promise_08_each_call_gets_what_its_own_window_holds() {
    for kept in BOTH {
        let world = TimedStore::new().await;
        let target = world.target("t");
        let rules = [of(60, kept), of(300, kept)];
        for minute in 1..=5 {
            for rules in &rules {
                record(&target, rules, &Outcome::counted(2, 1)).await;
            }
            for (at, window) in [(0, 1), (1, minute)] {
                let shown = look(&target, &rules[at]).await;
                assert_eq!((shown.successes, shown.failures), (4 * window, 2 * window), "{kept:?}");
            }
            world.pass(MINUTE + rules[0].window / 20);
        }
    }
}

/// One more than a target has room for is judged by what the others keep.
#[tokio::test]
async fn promise_08_a_fourth_window_is_not_empty_either() {
    let world = TimedStore::new().await;
    let target = world.target("t");
    let windows = [60, 90, 120, 75, 150];
    for n in 1..=40 {
        for seconds in windows {
            record(&target, &of(seconds, Kept::InBuckets), &Outcome::of(true)).await;
        }
        for seconds in windows {
            assert_eq!(look(&target, &of(seconds, Kept::InBuckets)).await.successes, 5 * n);
        }
        world.pass(Duration::from_secs(1));
    }
    // 75 s are known to the buckets of 90 s, 150 s to those of 120 s.
    world.pass(Duration::from_secs(75 + 9));
    assert_eq!(look(&target, &of(75, Kept::InBuckets)).await.successes, 0);
    assert_eq!(look(&target, &of(150, Kept::InBuckets)).await.successes, 200);
}

/// A changed file: nothing is lost, and nothing is left one window later.
#[tokio::test]
async fn promise_08_changed_rules_take_over_what_the_ones_before_have_counted() {
    let (short, long) = (60, 300);
    for (before, after) in [
        (of(long, Kept::InBuckets), of(short, Kept::InBuckets)),
        (of(short, Kept::InBuckets), of(long, Kept::InBuckets)),
        (of(long, Kept::InBuckets), of(long, Kept::InLog)),
        (of(long, Kept::InLog), of(long, Kept::InBuckets)),
        (of(long, Kept::InLog), of(short, Kept::InBuckets)),
        (of(short, Kept::InBuckets), of(long, Kept::InLog)),
        (of(short, Kept::InLog), of(long, Kept::InLog)),
    ] {
        let world = TimedStore::new().await;
        let target = world.target("t");
        let reported = |good, bad| Outcome { latency_ms: Some(70), ..Outcome::counted(good, bad) };
        record(&target, &before, &reported(7, 3)).await;
        world.pass(Duration::from_secs(30));
        let returned = record(&target, &after, &reported(2, 1)).await;
        assert_eq!((returned.successes, returned.failures), (9, 4), "{before:?} {after:?}");
        let latest = Duration::from_secs(long + long / 20 + short / 20);
        for _ in 0..latest.as_secs().div_ceil(10) {
            let shown = look(&target, &after).await;
            let expected = if shown.successes > 5 { (9, 4) } else { (2, 1) };
            assert!(
                (shown.successes, shown.failures) == expected || shown.successes == 0,
                "{before:?} {after:?}: {shown:?}"
            );
            world.pass(Duration::from_secs(10));
        }
        assert_eq!(look(&target, &after).await.successes, 0, "{before:?} {after:?}");
        for _ in 0..3 {
            record(&target, &after, &reported(1, 0)).await;
            world.pass(after.window / 2);
        }
        assert!(!has_others(&world.redis).await, "{before:?} {after:?}");
        let sets: u64 = world.redis.run(&["EXISTS", "anteroom:v1:target:{t}:successes"]).await;
        assert_eq!(sets, u64::from(after.kept == Kept::InLog), "{before:?} {after:?}");
        // Latencies are counted to a bucket, also beside a log.
        let timed: u64 = look(&target, &after).await.latencies.iter().sum();
        assert_eq!(timed, 2, "{before:?} {after:?}");
    }
}

/// Members that a call with buckets cannot log are counted nevertheless.
#[tokio::test]
async fn promise_08_a_call_too_large_for_the_log_beside_counts_for_both() {
    let world = TimedStore::new().await;
    let (target, rules) = (world.target("t"), BOTH.map(|kept| of(60, kept)));
    record(&target, &rules[1], &Outcome::counted(1, 0)).await;
    record(&target, &rules[0], &Outcome::counted(2, 0)).await;
    record(&target, &rules[0], &Outcome::counted(500_000, 4)).await;
    for rules in &rules {
        assert_eq!(look(&target, rules).await.successes, 500_003, "{:?}", rules.kept);
    }
    // One window later the log holds everything again, and is exact.
    world.pass(MINUTE - Duration::from_secs(1));
    record(&target, &rules[0], &Outcome::counted(0, 5)).await;
    world.pass(Duration::from_secs(1));
    assert_eq!(look(&target, &rules[1]).await.failures, 5);
    world.pass(MINUTE - Duration::from_micros(1_000_001));
    assert_eq!(look(&target, &rules[1]).await.failures, 5);
    world.pass(Duration::from_micros(1));
    assert_eq!(look(&target, &rules[1]).await.failures, 0);
    assert_eq!(look(&target, &rules[0]).await.failures, 5, "to one bucket");
}

/// A look of other rules finds room for them where there is some, and is answered where there is
/// none.
#[tokio::test]
async fn looks_of_other_rules_go_on_where_redis_is_full() {
    for pair in pairs() {
        let world = TimedStore::new().await;
        let target = world.target("t");
        record(&target, &pair[0], &Outcome::counted(3, 1)).await;
        let limit = async |bytes: &str| {
            world.redis.run::<()>(&["CONFIG", "SET", "maxmemory", bytes]).await;
        };
        limit("1").await;
        let shown = look(&target, &pair[1]).await;
        assert_eq!((shown.successes, shown.failures), (3, 1), "{pair:?}");
        assert_eq!(ask(&target, &pair[1]).await, Permission::Free);
        assert!(!has_others(&world.redis).await, "{pair:?}");
        limit("0").await;
        look(&target, &pair[1]).await;
        assert!(has_others(&world.redis).await, "{pair:?}");
        limit("1").await;
        for rules in &pair {
            world.pass(Duration::from_secs(4));
            assert_eq!(look(&target, rules).await.successes, 3, "{pair:?}");
            let permission = target.permit(rules, PermitId([1; 16])).await;
            assert_eq!(permission, Ok(Permission::Free), "{pair:?}");
        }
    }
}
