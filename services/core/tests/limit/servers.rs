//! Every kind of store, a full one, and what is left in it.

use std::time::{Duration, Instant};

use anteroom_core::changes::By;
use anteroom_core::limit::{Algorithm, Answer, Call, Check, Limits, Outcome};
use anteroom_core::store::{Config, Error};
use anteroom_testkit::{Cluster, PATIENCE, Redis, SlotMove, until};

use crate::requests::{ask, login, opened, rule};
use crate::support::{of_cluster, open, permitted, permitted_on};

/// Every operation once, by the store's own clock.
async fn journey(limits: &Limits, key: &str) {
    for (algorithm, name) in Algorithm::ALL {
        let check = Check { limit: name, ..login(rule(algorithm, 3, 3_600), key, 2) };
        assert_eq!(ask(limits, &check).await.outcome, Outcome::Allowed, "{name}");
        assert_eq!(ask(limits, &check).await.outcome, Outcome::Refused, "{name}");
        let named = Call::one(&Check { cost: 1, ..check }, Some("a")).expect("a call");
        assert!(matches!(limits.check(named).await, Ok(Answer::Decided { allowed: true, .. })));
    }
    let checks = Algorithm::ALL
        .map(|(algorithm, name)| Check { limit: name, ..login(rule(algorithm, 3, 3_600), key, 1) });
    let all = || limits.check(Call::several(&checks, Some("b")).expect("a call"));
    assert!(matches!(all().await, Ok(Answer::Decided { allowed: false, .. })), "{key}");
    for (_, name) in Algorithm::ALL {
        assert_eq!(limits.forget(name, key, None, &By::default()).await, Ok(true), "{name}");
    }
    assert!(matches!(all().await, Ok(Answer::Decided { allowed: true, .. })), "{key}");
}

#[tokio::test]
async fn on_a_cluster_of_three_the_keys_are_spread_by_their_group() {
    let cluster = Cluster::start(3, 0).await;
    let limits = Limits::open(&permitted_on(&cluster).await, 100);
    for key in 0..20 {
        journey(&limits, &format!("key {key}")).await;
    }
    for node in &cluster.primaries {
        assert!(node.run::<u64>(&["DBSIZE"]).await > 0, "every node has keys");
    }
}

#[tokio::test]
async fn with_no_more_than_the_documented_permissions() {
    let redis = Redis::start().await;
    journey(&Limits::open(&permitted(&redis).await, 100), "ann").await;
}

#[tokio::test]
async fn a_slot_that_moves_forgets_no_unit() {
    let cluster = Cluster::start(3, 0).await;
    let limits = Limits::open(&open(of_cluster(&cluster)).await, 100);
    let checks = Algorithm::ALL.map(|(algorithm, name)| Check {
        limit: name,
        ..login(rule(algorithm, 6, 3_600), "ann", 1)
    });
    let mut taken = 0;
    let mut take = async || {
        taken += 1;
        for check in &checks {
            let returned = ask(&limits, check).await;
            assert_eq!(
                (returned.outcome, returned.remaining),
                (Outcome::Allowed, 6 - taken),
                "{check:?}"
            );
        }
    };
    take().await;
    let mut tag = None;
    for digit in "0123456789abcdef".chars().map(String::from) {
        if cluster.keys(&digit).await > 0 {
            tag = Some(digit);
            break;
        }
    }
    let tag = tag.expect("one of the tags has the keys");
    let to = (cluster.owner(&tag).await + 1) % 3;
    let moving = SlotMove::begin(&cluster, &tag, to).await;
    take().await;
    let keys = moving.keys().await;
    moving.step(&keys[..1]).await;
    take().await;
    moving.step(&keys[1..]).await;
    take().await;
    moving.end().await;
    take().await;
}

#[tokio::test]
async fn a_full_store_takes_nothing_and_says_so() {
    let (world, limits) = opened().await;
    for (algorithm, name) in Algorithm::ALL {
        let check = login(rule(algorithm, 3, 60), name, 1);
        ask(&limits, &check).await;
        world.fill(true).await;
        for id in [None, Some("a")] {
            let full = limits.check(Call::one(&check, id).expect("a call")).await;
            assert!(full == Err(Error::Full), "{algorithm:?}: {full:?}");
        }
        // What takes nothing is answered.
        let checked = ask(&limits, &Check { cost: 0, ..check }).await;
        assert_eq!(checked.remaining, 2, "{algorithm:?}");
        assert_eq!(limits.forget("login", name, None, &By::default()).await, Ok(true));
        world.fill(false).await;
        assert_eq!(ask(&limits, &check).await.remaining, 2, "{algorithm:?}");
    }
}

/// A TTL is two windows at least behind the last unit, and at most four.
#[tokio::test]
async fn promise_13_every_key_has_a_ttl_of_two_to_four_windows() {
    let (world, limits) = opened().await;
    for window in [60, 600, 86_400] {
        for (algorithm, name) in Algorithm::ALL {
            let check = login(rule(algorithm, 50, window), name, 1);
            for at in 0..40 {
                world.pass(Duration::from_secs(window / 7));
                let id = format!("{window} {at}");
                let call = Call::one(&check, (at % 2 == 0).then_some(&*id)).expect("a call");
                limits.check(call).await.expect("an answer");
            }
        }
        let ttls = world.redis.ttls().await;
        let window = window as i64;
        let fits = |ttl: &i64| (2_000 * window + 1..=4_000 * window).contains(ttl);
        assert!(ttls.iter().all(fits), "{window}: {ttls:?}");
        world.empty().await;
    }
}

/// A caller with a shorter window does not shorten the TTL of units that count for others.
#[tokio::test]
async fn promise_12_the_ttl_is_that_of_the_longest_window_of_all_callers() {
    let (world, limits) = opened().await;
    for (algorithm, name) in Algorithm::ALL {
        ask(&limits, &login(rule(algorithm, 50, 3_600), name, 1)).await;
        for _ in 0..3 {
            world.pass(Duration::from_secs(2));
            ask(&limits, &login(rule(algorithm, 50, 1), name, 1)).await;
            let ttls = world.redis.ttls().await;
            assert!(ttls.iter().all(|ttl| *ttl > 2 * 3_600_000), "{algorithm:?}: {ttls:?}");
        }
    }
}

/// By the store's own clock.
#[tokio::test]
async fn promise_13_what_is_not_asked_for_again_is_gone_after_five_windows() {
    let redis = Redis::start().await;
    let limits = Limits::open(&open(Config::new(redis.url())).await, 100);
    for (algorithm, name) in Algorithm::ALL {
        for id in [None, Some("a"), Some("b")] {
            let check = login(rule(algorithm, 5, 1), name, 1);
            limits.check(Call::one(&check, id).expect("a call")).await.expect("an answer");
        }
    }
    assert_eq!(redis.run::<u64>(&["DBSIZE"]).await, 9);
    until("all is gone", PATIENCE, async || redis.run::<u64>(&["DBSIZE"]).await == 0).await;
}

/// What is in use is kept, although the TTL is not set with every unit.
#[tokio::test]
async fn promise_13_no_unit_is_forgotten_while_it_counts() {
    let redis = Redis::start().await;
    let limits = Limits::open(&open(Config::new(redis.url())).await, 100);
    let began = Instant::now();
    until("six windows have passed", PATIENCE, async || {
        for (algorithm, name) in Algorithm::ALL {
            let check = login(rule(algorithm, 10_000, 1), name, 1);
            assert_eq!(ask(&limits, &check).await.outcome, Outcome::Allowed);
        }
        let ttls = redis.ttls().await;
        assert!(ttls.len() == 3 && ttls.iter().all(|ttl| *ttl > 2_000), "{ttls:?} behind a unit");
        began.elapsed() > Duration::from_secs(6)
    })
    .await;
}

/// The budget of a key, Redis' own tables included.
#[tokio::test]
async fn a_key_of_two_counters_or_a_bucket_takes_at_most_200_bytes() {
    let (world, limits) = opened().await;
    let used = async || -> u64 {
        let info: String = world.redis.run(&["INFO", "memory"]).await;
        let used = info.lines().find_map(|line| line.strip_prefix("used_memory_dataset:"));
        let overhead = info.lines().find_map(|line| line.strip_prefix("used_memory_overhead:"));
        [used, overhead]
            .map(|it| it.expect("a figure").parse::<u64>().expect("a number"))
            .iter()
            .sum()
    };
    const KEYS: u64 = 1 << 14;
    for algorithm in [Algorithm::Counter, Algorithm::Gcra] {
        let before = used().await;
        for from in (0..KEYS).step_by(1_024) {
            let names: Vec<_> = (from..from + 1_024).map(|key| format!("key {key}")).collect();
            let rule = rule(algorithm, 100, 3_600);
            // Twice: the second unit is written into what the first made.
            let names = names.iter().chain(&names);
            let calls = names.map(|key| Call::one(&login(rule, key, 1), None));
            let calls = calls.map(|call| limits.check(call.expect("a call")));
            for answer in futures_util::future::join_all(calls).await {
                answer.expect("an answer");
            }
        }
        let bytes = used().await.saturating_sub(before) / KEYS;
        assert!((100..=200).contains(&bytes), "{algorithm:?}: {bytes}");
        world.empty().await;
    }
}
