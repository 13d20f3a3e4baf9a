//! One by one: what a hot key costs, and what ends a refusal at once.

use std::time::Duration;

use anteroom_core::changes::By;
use anteroom_core::limit::{Algorithm, Answer, Call, Check, Limits, Outcome};
use anteroom_core::store::Error;
use anteroom_testkit::{PATIENCE, until};
use futures_util::future::join_all;

use super::processes::Processes;
use crate::requests::{ask, login, rule};

/// Whether it is refused.
async fn refused(limits: &Limits, check: &Check<'_>) -> bool {
    ask(limits, check).await.outcome == Outcome::Refused
}

/// The process has this key refused by the store, and repeats that.
async fn is_repeated(world: &Processes, limits: &Limits, check: &Check<'_>) {
    while !refused(limits, check).await {}
    let sent = world.sent(0);
    assert!(refused(limits, check).await, "{check:?}");
    assert_eq!(world.sent(0), sent, "{check:?} without the store");
}

/// How long the process refuses the key from now on, to within a step.
async fn refuses_for(
    world: &Processes,
    limits: &Limits,
    check: &Check<'_>,
    step: Duration,
) -> Duration {
    let mut passed = Duration::ZERO;
    while refused(limits, check).await {
        world.pass(step);
        passed += step;
    }
    passed
}

#[tokio::test]
async fn promise_07_a_key_far_over_its_limit_costs_the_store_two_checks_a_second() {
    const SECONDS: u64 = 20;
    let world = Processes::new().await;
    for (algorithm, name) in Algorithm::ALL {
        let limits = world.limits(0);
        let check = login(rule(algorithm, 5, 3_600), name, 1);
        while !refused(&limits, &check).await {}
        let before = world.sent(0);
        for _ in 0..SECONDS * 100 {
            let checks = (0..8).map(|_| refused(&limits, &check));
            assert!(join_all(checks).await.into_iter().all(|refused| refused));
            world.pass(Duration::from_millis(10));
        }
        let sent = world.sent(0) - before;
        // The first of them asks 600 ms after the one before was sent.
        assert!(
            (SECONDS * 10 / 6 - 1..=SECONDS * 10 / 6 + 1).contains(&sent),
            "{algorithm:?}: {sent}"
        );
    }
}

#[tokio::test]
async fn the_key_is_free_once_retry_after_has_passed() {
    let world = Processes::new().await;
    for (algorithm, name) in Algorithm::ALL {
        let limits = world.limits(0);
        let check = login(rule(algorithm, 5, 60), name, 1);
        is_repeated(&world, &limits, &check).await;
        let waits = ask(&limits, &check).await.retry_after;
        let step = Duration::from_millis(25);
        let passed = refuses_for(&world, &limits, &check, step).await;
        assert!(passed >= waits && passed < waits + step, "{algorithm:?}: {passed:?} of {waits:?}");
    }
}

#[tokio::test]
async fn promise_12_a_leap_of_the_stores_clock_makes_no_refusal_last_longer() {
    let world = Processes::new().await;
    for (algorithm, name) in Algorithm::ALL {
        for leap in [-600, 600] {
            let limits = world.limits(0);
            let check = Check { group: Some(name), ..login(rule(algorithm, 5, 60), "ann", 1) };
            limits.forget("login", "ann", Some(name), &By::default()).await.expect("an answer");
            is_repeated(&world, &limits, &check).await;
            let waits = ask(&limits, &check).await.retry_after;
            world.leap(leap);
            let step = Duration::from_millis(20);
            let passed = refuses_for(&world, &limits, &check, step).await;
            // A leap ahead frees it, which the process learns within a second. A leap back is
            // stored within a second, and time goes on from there.
            let second = Duration::from_secs(1);
            let most = if leap > 0 { second } else { waits + second };
            assert!(passed <= most + step, "{algorithm:?} {leap}: {passed:?} of {waits:?}");
        }
    }
}

#[tokio::test]
async fn a_forgotten_key_is_free_at_once_here_and_within_a_second_elsewhere() {
    let world = Processes::new().await;
    let (here, elsewhere) = (world.limits(0), world.limits(1));
    for (algorithm, name) in Algorithm::ALL {
        let check = login(rule(algorithm, 1, 3_600), name, 1);
        is_repeated(&world, &here, &check).await;
        assert!(refused(&elsewhere, &check).await);
        assert_eq!(here.forget("login", name, None, &By::default()).await, Ok(true));
        assert!(!refused(&here, &Check { cost: 0, ..check }).await, "{algorithm:?}");
        let step = Duration::from_millis(20);
        let passed = refuses_for(&world, &elsewhere, &check, step).await;
        assert!(passed > Duration::ZERO, "{algorithm:?}: it repeated the refusal");
        assert!(passed <= Duration::from_secs(1), "{algorithm:?}: {passed:?}");
    }
}

#[tokio::test]
async fn a_changed_rule_is_in_force_at_once() {
    let world = Processes::new().await;
    for (algorithm, name) in Algorithm::ALL {
        let limits = world.limits(0);
        let check = login(rule(algorithm, 2, 3_600), name, 1);
        is_repeated(&world, &limits, &check).await;
        let more = login(rule(algorithm, 3, 3_600), name, 1);
        assert!(!refused(&limits, &more).await, "{algorithm:?}");
        assert!(refused(&limits, &check).await, "{algorithm:?}");
    }
}

#[tokio::test]
async fn a_call_with_a_name_and_one_of_several_checks_ask_the_store() {
    let world = Processes::new().await;
    for (algorithm, name) in Algorithm::ALL {
        let limits = world.limits(0);
        let check = login(rule(algorithm, 2, 3_600), name, 1);
        let named = || limits.check(Call::one(&check, Some("a")).expect("a call"));
        named().await.expect("an answer");
        is_repeated(&world, &limits, &check).await;
        let again = named().await;
        let is_repeat = matches!(again, Ok(Answer::Decided { allowed: true, repeated: true, .. }));
        assert!(is_repeat, "{algorithm:?}: {again:?}");
        let sent = world.sent(0);
        let other = Check { limit: "search", ..check };
        let several = Call::several(&[check, other], None).expect("a call");
        let answer = limits.check(several).await;
        assert!(matches!(answer, Ok(Answer::Decided { allowed: false, .. })), "{answer:?}");
        assert_eq!(world.sent(0), sent + 1, "{algorithm:?}");
    }
}

#[tokio::test]
async fn another_connection_to_the_store_ends_the_repeats() {
    let world = Processes::new().await;
    let limits = world.limits(0);
    let check = login(rule(Algorithm::Log, 1, 3_600), "ann", 1);
    is_repeated(&world, &limits, &check).await;
    let before = world.store(0).connections();
    world.world.empty().await;
    assert!(refused(&limits, &check).await, "it is not known yet");
    world.world.redis.run::<u64>(&["CLIENT", "KILL", "TYPE", "normal"]).await;
    until("another connection", PATIENCE, async || {
        world.store(0).connections() > before && world.store(0).is_up()
    })
    .await;
    assert!(!refused(&limits, &check).await, "as the store has it now");
}

#[tokio::test]
async fn while_the_store_is_down_no_refusal_is_repeated() {
    let mut world = Processes::new().await;
    let limits = world.limits(0);
    let check = login(rule(Algorithm::Log, 1, 3_600), "ann", 1);
    is_repeated(&world, &limits, &check).await;
    world.world.redis.kill();
    until("the store is missed", PATIENCE, async || !world.store(0).is_up()).await;
    let answer = limits.check(Call::one(&check, None).expect("a call")).await;
    assert!(matches!(answer, Err(Error::Unavailable(_))), "{answer:?}");
}
