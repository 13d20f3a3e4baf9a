//! Promises 7 and 12, one by one.

use std::time::Duration;

use anteroom_core::limit::{Algorithm, Call, Check, Checked, Limits, MAX_CHECKS, Outcome};
use futures_util::future::join_all;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use crate::requests::{ask, login, opened, rule};
use crate::support::{SECOND, TimedStore, micros};

const MS: u64 = 1_000;
const TEN_MINUTES: u64 = 600 * SECOND;

/// Whether so many units are allowed, and then taken.
async fn takes(limits: &Limits, check: &Check<'_>) -> bool {
    ask(limits, check).await.outcome == Outcome::Allowed
}

/// How many single units are allowed one after the other, at most.
async fn taken(limits: &Limits, check: &Check<'_>, most: usize) -> usize {
    let mut count = 0;
    while count < most && takes(limits, check).await {
        count += 1;
    }
    count
}

/// The most units in any window: (time, units) in the order of time.
fn most_in_a_window(taken: &[(u64, u64)], window: u64) -> u64 {
    let within = |(from, (first, _)): (usize, &(u64, u64))| {
        let rest = taken[from..].iter();
        rest.take_while(|(time, _)| time - first < window).map(|(_, units)| units).sum()
    };
    taken.iter().enumerate().map(within).max().unwrap_or_default()
}

/// How many members the one log in the store has.
async fn members(world: &TimedStore) -> u64 {
    let script = "local keys = redis.call('KEYS', 'anteroom:v1:limit:*:l*') \
        return keys[1] and redis.call('ZCARD', keys[1]) or 0";
    world.redis.run(&["EVAL", script, "0"]).await
}

#[tokio::test]
async fn promise_07_no_rolling_window_holds_more_than_the_algorithm_says() {
    let world = TimedStore::new().await;
    for (algorithm, most) in [(Algorithm::Log, 20), (Algorithm::Counter, 39), (Algorithm::Gcra, 39)]
    {
        let (limits, rule) = (world.limits(), rule(algorithm, 20, 2));
        let mut random = StdRng::seed_from_u64(7);
        let mut units = Vec::new();
        for _ in 0..3_000 {
            world
                .set_now(world.now() + random.random_range(0..60) * MS + random.random_range(0..3));
            let cost = if random.random_bool(0.8) { 1 } else { random.random_range(2..=20) };
            if takes(&limits, &login(rule, "ann", cost)).await {
                units.push((world.now(), cost));
            }
            if algorithm == Algorithm::Log {
                assert!(members(&world).await <= 20);
            }
        }
        let seen = most_in_a_window(&units, 2 * SECOND);
        assert!((20..=most).contains(&seen), "{algorithm:?}: {seen}");
    }
}

#[tokio::test]
async fn promise_07_two_in_one_microsecond_are_two() {
    let world = TimedStore::new().await;
    for (algorithm, name) in Algorithm::ALL {
        let (one, other) = (world.limits(), world.limits());
        let check = login(rule(algorithm, 60, 60), name, 1);
        let calls = (0..100).map(|at| {
            let call = Call::one(&check, None).expect("a call");
            if at % 2 == 0 { one.check(call) } else { other.check(call) }
        });
        let answers = join_all(calls).await.into_iter().map(|answer| format!("{answer:?}"));
        let allowed = answers.filter(|answer| answer.contains("allowed: true")).count();
        assert_eq!(allowed, 60, "{algorithm:?}");
    }
    assert_eq!(members(&world).await, 60);
}

#[tokio::test]
async fn promise_07_a_retry_is_exact() {
    let (world, limits) = opened().await;
    let mut random = StdRng::seed_from_u64(8);
    for (algorithm, name) in Algorithm::ALL {
        let mut refused = 0;
        while refused < 200 {
            let most = random.random_range(1..8);
            let rule = rule(algorithm, most, random.random_range(1..4));
            let check = login(rule, name, random.random_range(1..=u64::from(most)));
            let returned = ask(&limits, &check).await;
            if returned.outcome == Outcome::Allowed {
                world.set_now(world.now() + random.random_range(0..300 * MS));
                continue;
            }
            refused += 1;
            let retry = micros(returned.retry_after);
            assert!(retry >= MS && returned.retry_after <= 2 * rule.window, "{returned:?}");
            world.set_now(world.now() + retry - MS);
            assert!(!takes(&limits, &check).await, "{check:?}: {returned:?}, 1 ms too soon");
            world.set_now(world.now() + MS);
            assert!(takes(&limits, &check).await, "{check:?}: {returned:?}");
        }
    }
}

/// The seed case: the largest log, full to the last unit.
#[tokio::test]
async fn promise_07_ten_thousand_units_fit_into_a_log_and_not_one_more() {
    const MOST: u32 = 10_000;
    let (world, limits) = opened().await;
    let rule = rule(Algorithm::Log, MOST, 60);
    let of = |cost| login(rule, "ann", cost);
    let mut random = StdRng::seed_from_u64(9);
    let began = world.now();
    // When each unit was taken.
    let mut units = Vec::new();
    while units.len() < MOST as usize {
        world.set_now(world.now() + random.random_range(1..100 * MS));
        let left = MOST as usize - units.len();
        let cost = random.random_range(1..=100).min(left);
        let returned = ask(&limits, &of(cost as u64)).await;
        units.extend(vec![world.now(); cost]);
        let left = MOST as usize - units.len();
        assert_eq!((returned.outcome, returned.remaining as usize), (Outcome::Allowed, left));
        assert_eq!(members(&world).await, units.len() as u64);
    }
    let window = micros(rule.window);
    let last = world.now();
    assert!(last - began < window, "all within one");

    // Of the next, each would fit when so many of the oldest are over.
    for cost in [0, 1, 2, 37, 100] {
        let returned = ask(&limits, &of(cost)).await;
        assert_eq!((returned.outcome, returned.remaining), (Outcome::Refused, 0), "{cost}");
        let over = units[cost.max(1) as usize - 1] + window;
        let retry = Duration::from_millis((over - world.now()).div_ceil(MS));
        assert_eq!(returned.retry_after, retry, "{cost}");
    }
    world.set_now(units[0] + window - 1);
    assert!(!takes(&limits, &of(1)).await, "a microsecond too soon");
    world.set_now(units[0] + window);
    assert!(takes(&limits, &of(1)).await);
    assert!(members(&world).await <= MOST.into());

    // A window after the last unit all are back, and as many go through again.
    world.set_now(world.now() + window);
    assert!(world.now() > last + window);
    assert_eq!(ask(&limits, &of(0)).await.remaining, MOST);
    for _ in 0..100 {
        assert!(takes(&limits, &of(100)).await);
        assert!(members(&world).await <= MOST.into());
    }
    assert!(!takes(&limits, &of(1)).await);
}

/// Without a leap all would be back a window after the last unit, or two windows in two counters.
#[tokio::test]
async fn promise_12_a_leap_back_blocks_nobody_longer() {
    let world = TimedStore::new().await;
    for (algorithm, name) in Algorithm::ALL {
        let limits = world.limits();
        let check = login(rule(algorithm, 5, 60), name, 1);
        assert_eq!(taken(&limits, &check, 9).await, 5);
        let before = ask(&limits, &check).await;
        world.set_now(world.now() - TEN_MINUTES);
        assert_eq!(ask(&limits, &check).await, before, "{algorithm:?}");
        // A check has come, so the leap is known; all goes on from there.
        world.set_now(world.now() + 30 * SECOND);
        let half = ask(&limits, &Check { cost: 0, ..check }).await;
        assert_eq!(half.reset + Duration::from_secs(30), before.reset, "{algorithm:?}");
        world.set_now(world.now() + micros(half.reset));
        assert_eq!(taken(&limits, &check, 9).await, 5, "{algorithm:?}");
        // When the clock has come to itself again, all that it can free is one window.
        world.set_now(world.now() + TEN_MINUTES);
        assert_eq!(taken(&limits, &check, 9).await, 5, "{algorithm:?}");
    }
}

#[tokio::test]
async fn promise_12_a_leap_ahead_frees_at_most_one_window() {
    let world = TimedStore::new().await;
    for (algorithm, name) in Algorithm::ALL {
        let limits = world.limits();
        let check = login(rule(algorithm, 5, 60), name, 1);
        assert_eq!(taken(&limits, &check, 9).await, 5);
        let now = world.now();
        // Each leap ahead frees one window, the way back from it none.
        for (leap, freed) in [(TEN_MINUTES, 5), (0, 0), (TEN_MINUTES, 5), (0, 0)] {
            world.set_now(now + leap);
            assert_eq!(taken(&limits, &check, 20).await, freed, "{algorithm:?} {leap}");
        }
        // And no caller is blocked for longer than the windows that were taken since.
        let reset = ask(&limits, &Check { cost: 0, ..check }).await.reset;
        assert!(reset <= 2 * check.rule.window, "{algorithm:?}: {reset:?}");
    }
}

#[tokio::test]
async fn promise_13_evictions_are_bounded_and_nothing_waits_for_them() {
    let (world, limits) = opened().await;
    let full = rule(Algorithm::Log, 10_000, 10);
    for _ in 0..100 {
        assert!(takes(&limits, &login(full, "ann", 100)).await);
    }
    assert_eq!(members(&world).await, 10_000);
    world.pass(Duration::from_secs(10));
    // All are over, and the next takes away 64 of them.
    let returned: Checked = ask(&limits, &login(full, "ann", 1)).await;
    assert_eq!((returned.outcome, returned.remaining), (Outcome::Allowed, 9_999));
    assert_eq!(members(&world).await, 10_000 - 64 + 1);
    for _ in 0..99 {
        assert!(takes(&limits, &login(full, "ann", 100)).await);
        assert!(members(&world).await <= 10_000);
    }
    // A lowered limit judges at once, and what is too much goes as units come.
    let few = rule(Algorithm::Log, 10, 10);
    assert!(!takes(&limits, &login(few, "ann", 1)).await);
    world.pass(Duration::from_secs(10));
    assert_eq!(taken(&limits, &login(few, "ann", 1), 99).await, 10);
}

/// Also where a call has evicted as many as it may, a set takes no more than it loses.
#[tokio::test]
async fn promise_13_no_set_outgrows_its_limit_however_many_are_over() {
    let (world, limits) = opened().await;
    let full = rule(Algorithm::Log, 10_000, 10);
    let keys = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
    for key in keys {
        for _ in 0..100 {
            assert!(takes(&limits, &login(full, key, 100)).await);
        }
    }
    world.pass(Duration::from_secs(10));
    // They share a call, but for the first, and the first of them evicts as many as a call may.
    let checks = keys.map(|key| login(full, key, 8));
    let calls = checks.iter().map(|check| limits.check(Call::one(check, None).expect("a call")));
    for answer in join_all(calls).await {
        answer.expect("an answer");
    }
    let sizes = "local most = 0 for _, key in ipairs(redis.call('KEYS', 'anteroom:v1:limit:*')) do \
        most = math.max(most, redis.call('ZCARD', key)) end return most";
    assert_eq!(world.redis.run::<u64>(&["EVAL", sizes, "0"]).await, 10_000);
}

/// However many logs share a call, it evicts as many as come and 64 more.
#[tokio::test]
async fn promise_13_logs_that_share_a_call_share_what_it_evicts() {
    const LOGS: u64 = MAX_CHECKS as u64;
    let (world, limits) = opened().await;
    let keys: Vec<_> = (0..LOGS).map(|key| key.to_string()).collect();
    let log = rule(Algorithm::Log, 200, 10);
    let check = |key, cost| Check { group: Some("all"), ..login(log, key, cost) };
    for key in &keys {
        for _ in 0..2 {
            assert!(takes(&limits, &check(key, 100)).await);
        }
    }
    world.pass(Duration::from_secs(10));
    let checks: Vec<_> = keys.iter().map(|key| check(key, 6)).collect();
    let call = Call::several(&checks, None).expect("a call");
    limits.check(call).await.expect("an answer");
    let members = "local all = 0 for _, key in ipairs(redis.call('KEYS', 'anteroom:v1:limit:*')) do \
        all = all + redis.call('ZCARD', key) end return all";
    let left: u64 = world.redis.run(&["EVAL", members, "0"]).await;
    let evicted = 206 * LOGS - left;
    assert!((6 * LOGS..=6 * LOGS + 64).contains(&evicted), "{evicted}");
}
