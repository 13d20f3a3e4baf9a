//! The steps: when there is one, which way, and why.

use std::time::Duration;

use anteroom_core::breaker::{State as BreakerState, Totals};
use anteroom_core::queue::{Adaptive, Pace, Rules, StepReason};

use super::{AIM, Breaker, INTERVAL, TICK, batch, interval, line, tick};
use crate::line::{join, rate};
use crate::support::{SECOND, TimedStore};

#[tokio::test]
async fn it_rises_by_a_twentieth_and_falls_by_a_fifth_once_an_interval() {
    let world = TimedStore::new().await;
    let queue = line(&world, "q", rate(90, INTERVAL, Pace::Even), 2_500).await;
    let mut target = Breaker::new();
    // The first tick is where the count of outcomes begins.
    assert_eq!(interval(&world, &queue, &mut target, (9, 0)).await, []);
    for (calls, step, then) in [
        ((9, 0), StepReason::Raised, 95),
        ((9, 0), StepReason::Raised, 100),
        ((95, 5), StepReason::Raised, 105),
        ((9, 0), StepReason::Raised, 110),
        ((9, 0), StepReason::Highest, 110),
        ((94, 6), StepReason::CutSuccess, 88),
        ((0, 9), StepReason::CutSuccess, 70),
        ((9, 0), StepReason::Raised, 75),
        ((0, 9), StepReason::CutSuccess, 60),
        ((0, 9), StepReason::CutSuccess, 48),
        ((0, 9), StepReason::CutSuccess, 38),
        ((0, 9), StepReason::CutSuccess, 30),
        ((0, 9), StepReason::CutSuccess, 24),
        ((0, 9), StepReason::CutSuccess, 19),
        ((0, 9), StepReason::CutSuccess, 15),
        ((0, 9), StepReason::CutSuccess, 12),
        ((0, 9), StepReason::CutSuccess, 10),
        ((0, 9), StepReason::CutSuccess, 10),
    ] {
        let steps = interval(&world, &queue, &mut target, calls).await;
        assert_eq!((steps, batch(&queue).await), (vec![step], then), "{calls:?}");
    }
}

#[tokio::test]
async fn promise_02_holds_with_the_batch_in_force() {
    let world = TimedStore::new().await;
    for (name, pace) in [("even", Pace::Even), ("batch", Pace::Batch)] {
        let queue = line(&world, name, rate(110, INTERVAL, pace), 1_500).await;
        let mut target = Breaker::new();
        let mut made = Vec::new();
        for second in 0..15 {
            for _ in 0..10 {
                world.pass(TICK);
                target.calls(8, u64::from(second % 3 > 0));
                let promoted = tick(&queue, &target.health(AIM)).await.0;
                made.push((world.now(), promoted, batch(&queue).await));
            }
        }
        for (at, promoted, batch) in &made {
            let window = made.iter().filter(|(then, ..)| then <= at && then + SECOND > *at);
            let window: u64 = window.map(|(_, promoted, _)| promoted).sum();
            assert!(*promoted == 0 || window <= *batch, "{name}: {window} with {batch}");
        }
        assert!(batch(&queue).await < 80, "{name}: it was cut");
    }
}

#[tokio::test]
async fn slow_calls_are_as_bad_as_failed_ones() {
    let world = TimedStore::new().await;
    let queue = line(&world, "q", rate(50, INTERVAL, Pace::Even), 500).await;
    let mut target = Breaker::new();
    // 95 of 100 calls in the buckets up to 200 ms, the others in the next.
    let calls = |target: &mut Breaker, quick: u64, slow: u64| {
        target.totals.latencies[7] += quick;
        target.totals.latencies[8] += slow;
    };
    interval(&world, &queue, &mut target, (10, 0)).await;
    for (quick, slow, step) in [
        (95, 5, StepReason::Raised),
        (94, 6, StepReason::CutP95),
        (0, 0, StepReason::Raised),
        (0, 1, StepReason::CutP95),
    ] {
        calls(&mut target, quick, slow);
        assert_eq!(interval(&world, &queue, &mut target, (10, 0)).await, [step]);
    }
}

/// One scheduler aims at another p95, or at none: each judges the calls since the last step by its
/// own aim, whichever of them took that step.
#[tokio::test]
async fn two_schedulers_with_different_aims_judge_the_same_calls() {
    let world = TimedStore::new().await;
    for (name, p95_target) in [("none", None), ("second", Some(Duration::from_secs(1)))] {
        let interval = Duration::from_secs(10);
        let rules = rate(100, interval, Pace::Batch);
        let queue = line(&world, name, rules, 1_300).await;
        let (mut target, other) = (Breaker::new(), Adaptive { p95_target, ..AIM });
        // Calls that took up to 500 ms, before the count began.
        target.totals.latencies[8] = 1_000;
        for (first, second, slow, step, then) in [
            (AIM, other, 0, None, 100),
            (other, AIM, 0, Some(StepReason::Raised), 105),
            (AIM, other, 0, Some(StepReason::Raised), 110),
            (other, AIM, 50, Some(StepReason::Highest), 110),
            (AIM, other, 50, Some(StepReason::CutP95), 88),
            (other, AIM, 0, Some(StepReason::Raised), 93),
        ] {
            target.calls(100, 0);
            target.totals.latencies[3] += 100 - slow;
            target.totals.latencies[8] += slow;
            let mut steps = Vec::new();
            for _ in 0..100 {
                world.pass(TICK);
                // The first one takes the step.
                for aim in [first, second] {
                    steps.extend(tick(&queue, &target.health(aim)).await.1);
                }
            }
            assert_eq!((steps, batch(&queue).await), (Vec::from_iter(step), then), "{name}");
        }
    }
}

#[tokio::test]
async fn three_schedulers_take_one_step_an_interval() {
    let world = TimedStore::new().await;
    let queue = line(&world, "q", rate(50, INTERVAL, Pace::Even), 1_000).await;
    let mut target = Breaker::new();
    let mut steps = 0;
    for _ in 0..100 {
        world.pass(Duration::from_millis(97));
        // Each has read the target at another moment, in any order.
        let mut readings = Vec::new();
        for _ in 0..3 {
            target.calls(2, 0);
            readings.push(target.health(AIM));
        }
        readings.swap(0, 2);
        let ticks = readings.iter().map(|health| tick(&queue, health));
        let taken = futures_util::future::join_all(ticks).await;
        steps += taken.iter().filter(|(_, step)| step.is_some()).count();
    }
    assert!((8..=9).contains(&steps), "{steps} steps in 9.7 intervals");
    assert_eq!(batch(&queue).await, 50 + 5 * steps as u64);
}

#[tokio::test]
async fn too_few_outcomes_decide_nothing_until_there_are_enough() {
    let world = TimedStore::new().await;
    let queue = line(&world, "q", rate(50, INTERVAL, Pace::Even), 500).await;
    let mut target = Breaker::new();
    assert_eq!(interval(&world, &queue, &mut target, (0, 0)).await, []);
    target.calls(0, 9);
    assert_eq!(interval(&world, &queue, &mut target, (0, 0)).await, []);
    assert_eq!(interval(&world, &queue, &mut target, (0, 0)).await, []);
    target.calls(0, 1);
    let cut = [StepReason::CutSuccess];
    assert_eq!(interval(&world, &queue, &mut target, (0, 0)).await, cut);
}

#[tokio::test]
async fn a_batch_that_is_not_used_up_stays() {
    let world = TimedStore::new().await;
    // An empty line; or the capacity is what keeps places waiting.
    let idle = line(&world, "idle", rate(50, INTERVAL, Pace::Even), 0).await;
    let full = Rules { capacity: Some(5), ..rate(50, INTERVAL, Pace::Even) };
    let full = line(&world, "full", full, 50).await;
    // A trickle that has to wait for the next slice now and then.
    let trickle = line(&world, "trickle", rate(20, INTERVAL, Pace::Even), 0).await;
    for (number, queue) in [idle, full, trickle].into_iter().enumerate() {
        let mut target = Breaker::new();
        interval(&world, &queue, &mut target, (9, 0)).await;
        for n in 0..4 {
            if number == 2 {
                for visitor in 0..9 {
                    join(&queue, 1_000 + 10 * n + visitor).await;
                }
            }
            let unused = [StepReason::Unused];
            assert_eq!(interval(&world, &queue, &mut target, (9, 0)).await, unused, "{number}");
        }
    }
}

#[tokio::test]
async fn a_fallback_and_the_way_back_take_no_step_and_do_not_count() {
    let world = TimedStore::new().await;
    let queue = line(&world, "q", rate(50, INTERVAL, Pace::Even), 1_000).await;
    let mut target = Breaker::new();
    interval(&world, &queue, &mut target, (9, 0)).await;
    target.turn(BreakerState::Open);
    assert_eq!(interval(&world, &queue, &mut target, (0, 90)).await, []);
    target.turn(BreakerState::HalfOpen);
    assert_eq!(interval(&world, &queue, &mut target, (0, 90)).await, []);
    target.turn(BreakerState::Closed);
    for _ in 0..6 {
        assert_eq!(interval(&world, &queue, &mut target, (0, 90)).await, [], "three quarters");
    }
    assert_eq!(interval(&world, &queue, &mut target, (9, 0)).await, []);
    let raised = [StepReason::Raised];
    assert_eq!(interval(&world, &queue, &mut target, (9, 0)).await, raised);
}

#[tokio::test]
async fn totals_that_the_store_forgot_are_counted_from_zero() {
    let world = TimedStore::new().await;
    let queue = line(&world, "q", rate(50, INTERVAL, Pace::Even), 2_000).await;
    let mut target = Breaker::new();
    target.calls(0, 1_000);
    interval(&world, &queue, &mut target, (9, 0)).await;
    target.totals = Totals::default();
    let mut steps = Vec::new();
    for _ in 0..8 {
        steps.push(interval(&world, &queue, &mut target, (9, 0)).await);
    }
    let first = steps.iter().position(|steps| !steps.is_empty()).expect("it goes on");
    assert_eq!((first, &steps[first]), (5, &vec![StepReason::Raised]), "{steps:?}");
}
