//! What a target takes in the store, and for how long.

use std::time::Duration;

use anteroom_core::breaker::{Kept, LATENCY_BOUNDS_MS, Outcome, Permission, Rules, State};
use futures_util::future::join_all;

use super::reports::{ask, from, look, quick, record};
use super::support::TimedStore;

/// All of what a look can show is in use: 64 reporters, each bucket of the window and of its
/// latencies with millions in it, and as many windows of other callers as there is room for.
#[tokio::test]
async fn a_target_in_buckets_takes_at_most_four_kib() {
    let world = TimedStore::new().await;
    let name = "a-name-of-forty-characters-which-is-most";
    let (target, rules) = (world.target(name), Rules { quorum: 64, ..Rules::default() });
    let others = [1, 2, 3].map(|more| rules.window + Duration::from_secs(more));
    let bounds = LATENCY_BOUNDS_MS.into_iter().chain([1_000_000]);
    for bucket in 0..21 {
        join_all(bounds.clone().enumerate().map(async |(at, bound)| {
            let outcome = Outcome { latency_ms: Some(bound), ..Outcome::counted(500_000, 500_000) };
            record(&target, &rules, &from(bucket * 14 + at, outcome)).await
        }))
        .await;
        for window in others {
            let million = from(bucket, Outcome::counted(500_000, 500_000));
            record(&target, &Rules { window, ..rules }, &million).await;
        }
        world.pass(rules.window / 20);
    }
    // The last of them has begun, and twenty are behind it.
    let shown = look(&target, &rules).await;
    assert_eq!(shown.reporters, 64);
    assert!(shown.latencies.iter().all(|count| *count == 20_000_000), "{shown:?}");
    assert_eq!(shown.successes + shown.failures, 20 * 17_000_000);
    for window in others {
        let shown = look(&target, &Rules { window, ..rules }).await;
        assert!((20..=21).contains(&(shown.successes / 8_500_000)), "{window:?}: {shown:?}");
    }
    let mut bytes = 0;
    for key in world.redis.run::<Vec<String>>(&["KEYS", "*"]).await {
        bytes += world.redis.run::<u64>(&["MEMORY", "USAGE", &key, "SAMPLES", "0"]).await;
    }
    assert!(bytes <= 4_096, "{bytes} bytes");
    let buckets = format!("anteroom:v1:target:{{{name}}}:buckets");
    let encoding: String = world.redis.run(&["OBJECT", "ENCODING", &buckets]).await;
    // Redis 6.2 has another name for it.
    assert!(["listpack", "ziplist"].contains(&&*encoding), "{encoding}");
}

/// One outcome counts for one window, and up to one bucket longer.
#[tokio::test]
async fn promise_08_in_buckets_the_window_is_exact_to_one_of_them() {
    let world = TimedStore::new().await;
    let (target, rules) = (world.target("t"), Rules::default());
    record(&target, &rules, &Outcome::of(true)).await;
    world.pass(rules.window - Duration::from_micros(1));
    assert_eq!(look(&target, &rules).await.successes, 1);
    world.pass(rules.window / 20 + Duration::from_micros(1));
    assert_eq!(look(&target, &rules).await.successes, 0);
}

/// Two in one microsecond are two; each leaves exactly one window later.
#[tokio::test]
async fn promise_08_in_a_log_the_window_is_exact() {
    let world = TimedStore::new().await;
    let (target, rules) = (world.target("t"), Rules { kept: Kept::InLog, ..Rules::default() });
    for _ in 0..2 {
        record(&target, &rules, &Outcome::of(true)).await;
    }
    world.pass(rules.window - Duration::from_micros(1));
    assert_eq!(look(&target, &rules).await.successes, 2);
    world.pass(Duration::from_micros(1));
    assert_eq!(look(&target, &rules).await.successes, 0);
    assert_eq!(world.redis.ttls().await.len(), 1, "a look has evicted them");
}

#[tokio::test]
async fn a_log_holds_the_last_hundred_thousand() {
    let world = TimedStore::new().await;
    let (target, rules) = (world.target("t"), Rules { kept: Kept::InLog, ..Rules::default() });
    let hundred = [Outcome::counted(100, 0), Outcome::counted(0, 100)];
    for n in 0..1_000 {
        record(&target, &rules, &hundred[n % 2]).await;
        world.pass(Duration::from_micros(10));
    }
    let full = look(&target, &rules).await;
    assert_eq!((full.successes, full.failures), (50_000, 50_000));
    // The oldest go: first successes, then failures.
    record(&target, &rules, &Outcome::counted(30, 40)).await;
    let returned = record(&target, &rules, &Outcome::counted(60, 0)).await;
    assert_eq!((returned.successes, returned.failures), (50_000 + 90 - 100, 50_000 + 40 - 30));
    let ones = join_all((0..64).map(|_| record(&target, &rules, &hundred[0]))).await;
    assert!(ones.iter().all(|it| it.successes + it.failures == 100_000), "{ones:?}");
    // A repeat takes no room, nor does what is refused.
    let named = |failures| Outcome { id: Some("a".to_owned()), ..Outcome::counted(50, failures) };
    let full = record(&target, &rules, &named(0)).await;
    for failures in [0, 50] {
        assert!(target.record(&rules, &named(failures)).await.is_ok());
        let now = look(&target, &rules).await;
        assert_eq!((now.successes, now.failures), (full.successes, full.failures));
    }
    let mut members = 0;
    for set in ["successes", "failures"] {
        let set = format!("anteroom:v1:target:{{t}}:{set}");
        members += world.redis.run::<u64>(&["ZCARD", &set]).await;
    }
    assert_eq!(members, 100_000);
}

/// A bucket that is full counts no more; the total goes on.
#[tokio::test]
async fn a_bucket_counts_two_hundred_million_of_each() {
    let world = TimedStore::new().await;
    let (target, rules) = (world.target("t"), Rules { quorum: 64, ..Rules::default() });
    let million = from(0, Outcome::counted(1_000_000, 0));
    join_all((0..205).map(|_| record(&target, &rules, &million))).await;
    let returned = record(&target, &rules, &from(1, Outcome::of(false))).await;
    assert_eq!((returned.successes, returned.failures), (200_000_000, 1));
    assert_eq!(look(&target, &rules).await.totals.successes, 205_000_000);
    world.pass(rules.window * 2);
    assert_eq!(look(&target, &rules).await.successes, 0);
}

/// A key lives for at least two windows after the last outcome, and at most four.
#[tokio::test]
async fn promise_13_every_key_has_a_ttl_of_two_to_four_windows() {
    for kept in [Kept::InBuckets, Kept::InLog] {
        let world = TimedStore::new().await;
        let (target, rules) = (world.target("t"), Rules { kept, ..quick(3) });
        let named = |n: u64| Outcome {
            id: Some(format!("call {n}")),
            latency_ms: (!n.is_multiple_of(3)).then_some(n),
            ..Outcome::of(!n.is_multiple_of(2))
        };
        for n in 0..30 {
            record(&target, &rules, &named(n)).await;
            if n.is_multiple_of(7) {
                look(&target, &rules).await;
            }
            world.pass(Duration::from_secs(7));
        }
        let state = look(&target, &rules).await.state;
        assert_eq!(state, State::HalfOpen, "{kept:?}");
        assert!(matches!(ask(&target, &rules).await, Permission::Permit(_)));
        record(&target, &rules, &Outcome::of(true)).await;
        record(&target, &rules, &Outcome::of(false)).await;
        let ttls = world.redis.ttls().await;
        let with_log = if kept == Kept::InLog { 2 } else { 0 };
        assert!(ttls.len() > 30 + with_log, "{ttls:?}");
        let window = rules.window.as_millis() as i64;
        for left in ttls {
            assert!((2 * window..=4 * window).contains(&left), "{kept:?}: {left} ms");
        }
    }
}

/// A store on which so much time has gone by: the tests' clock moves no TTL.
async fn age(world: &TimedStore, by: Duration) {
    for key in world.redis.run::<Vec<String>>(&["KEYS", "*"]).await {
        let left: i64 = world.redis.run(&["PTTL", &key]).await;
        let left = (left - by.as_millis() as i64).to_string();
        world.redis.run::<()>(&["PEXPIRE", &key, &left]).await;
    }
    world.pass(by);
}

/// The first call in a bucket moves the window on; the outcome behind it renews the keys.
#[tokio::test]
async fn promise_13_outcomes_behind_a_permit_keep_the_target() {
    for kept in [Kept::InBuckets, Kept::InLog] {
        let world = TimedStore::new().await;
        let (target, rules) = (world.target("t"), Rules { kept, probes: 1, ..quick(1) });
        record(&target, &rules, &Outcome::of(false)).await;
        let (mut version, window) = (0, rules.window.as_millis() as i64);
        for bucket in 0..120 {
            age(&world, rules.window / 20).await;
            let Permission::Permit(permit) = ask(&target, &rules).await else {
                panic!("{kept:?}: not half open in bucket {bucket}");
            };
            let failed = Outcome { permit: Some(permit), ..Outcome::of(false) };
            assert_eq!(record(&target, &rules, &failed).await.state, State::Open);
            let ttls = world.redis.ttls().await;
            assert!(ttls.iter().all(|left| *left >= 3 * window), "{kept:?}, {bucket}: {ttls:?}");
            let shown = look(&target, &rules).await;
            assert!(shown.version > version, "{kept:?}: the version fell in bucket {bucket}");
            version = shown.version;
        }
        assert_eq!(look(&target, &rules).await.totals.failures, 121);
    }
}

/// The first outcome of a bucket renews both sets of the log, whichever of them it enters.
#[tokio::test]
async fn promise_13_failures_that_come_first_keep_the_successes_behind_them() {
    let world = TimedStore::new().await;
    let (target, rules) = (world.target("t"), Rules { kept: Kept::InLog, ..quick(1_000) });
    let window = rules.window.as_millis() as i64;
    for bucket in 0..100 {
        record(&target, &rules, &Outcome::of(false)).await;
        let returned = record(&target, &rules, &Outcome::of(true)).await;
        assert_eq!(returned.successes, returned.failures, "bucket {bucket}");
        let ttls = world.redis.ttls().await;
        assert!(ttls.iter().all(|left| *left >= 3 * window), "{bucket}: {ttls:?}");
        age(&world, rules.window / 20).await;
    }
}

/// By the store's own clock: nothing is left five windows and ten seconds after the last call.
#[tokio::test]
async fn promise_13_nothing_is_left_of_a_target_without_reports() {
    let world = TimedStore::new().await;
    let rules = Rules { window: Duration::from_secs(1), kept: Kept::InLog, ..quick(1) };
    let target = anteroom_core::breaker::Breaker::open(&world.store, "t", 10);
    let named = Outcome { id: Some("call".to_owned()), ..Outcome::of(false) };
    record(&target, &rules, &named).await;
    ask(&target, &rules).await;
    assert!(!world.redis.ttls().await.is_empty());
    let within = 5 * rules.window + Duration::from_secs(10);
    let gone = async || world.redis.ttls().await.is_empty();
    anteroom_testkit::until("all keys are gone", within, gone).await;
}
