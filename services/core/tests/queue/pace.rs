//! The rate rule over time: how fast, how even, how late, and what it makes of estimates.

use std::time::Duration;

use anteroom_core::queue::{Health, Override, Pace, Queue, Rules, Status};

use super::line::{capacity, join, join_each, look, rate, room, tick};
use super::support::{SECOND, TimedStore};

/// A queue with so many in line and none promoted yet.
async fn line(world: &TimedStore, name: &str, rules: Rules, visitors: u64) -> Queue {
    // No visitor polls here: let the first poll be long in coming.
    let rules = Rules { first_poll_ttl: rules.idle_ttl, ..rules };
    let queue = world.queue(name, rules).await;
    let paused = [Override::State(Some(anteroom_core::queue::State::Paused))];
    queue.override_rules(&paused, None).await.expect("an override");
    let mut joins = tokio::task::JoinSet::new();
    for n in 1..=visitors {
        let queue = queue.clone();
        joins.spawn(async move { join(&queue, n).await });
    }
    while joins.join_next().await.is_some() {}
    queue.override_rules(&[Override::State(None)], None).await.expect("an override");
    queue
}

/// Ticks at these steps; the promotions of each with their time.
async fn ticks(
    world: &TimedStore,
    queue: &Queue,
    steps: impl Iterator<Item = u64>,
) -> Vec<(u64, u64)> {
    let mut made = Vec::new();
    for step in steps {
        world.pass(Duration::from_micros(step));
        made.push((world.now(), tick(queue).await));
    }
    made
}

/// The most promoted in any interval that ends with a promotion.
fn busiest(made: &[(u64, u64)], interval: Duration) -> u64 {
    let interval = u64::try_from(interval.as_micros()).expect("a short time");
    let within = |end: u64| made.iter().filter(move |(at, _)| *at <= end && *at + interval > end);
    made.iter().map(|(end, _)| within(*end).map(|(_, n)| n).sum()).max().unwrap_or(0)
}

#[tokio::test]
async fn promise_02_even_pace_is_a_stream_at_the_full_rate() {
    let world = TimedStore::new().await;
    let interval = Duration::from_secs(10);
    let queue = line(&world, "q", rate(220, interval, Pace::Even), 1500).await;
    // A tick that comes now a little early, now a little late.
    let steps = (0..500u64).map(|n| 100_000 + (n * 7919) % 9_000 - 4_500);
    let made = ticks(&world, &queue, steps).await;
    assert!(busiest(&made, interval) <= 220);
    let total: u64 = made.iter().map(|(_, n)| n).sum();
    assert!((1045..=1100).contains(&total), "{total} in five intervals of 220");
    let most = made.iter().map(|(_, n)| *n).max().expect("ticks");
    assert!(most <= 5, "{most} in one slice, a stream has 2 or 3");
}

#[tokio::test]
async fn promise_02_missed_ticks_are_not_made_up_in_a_burst() {
    let world = TimedStore::new().await;
    let interval = Duration::from_secs(10);
    let queue = line(&world, "q", rate(100, interval, Pace::Even), 400).await;
    ticks(&world, &queue, std::iter::repeat_n(100_000, 50)).await;
    // The schedulers are away for a minute; queue time makes at most five seconds of it.
    let after = ticks(&world, &queue, std::iter::once(60 * SECOND)).await;
    assert!(after[0].1 <= 3, "{} at once: two slices are two", after[0].1);
}

#[tokio::test]
async fn promise_02_batch_pace_comes_all_at_once_and_keeps_its_rhythm() {
    let world = TimedStore::new().await;
    let interval = Duration::from_secs(10);
    let queue = line(&world, "q", rate(300, interval, Pace::Batch), 1000).await;
    let made = ticks(&world, &queue, std::iter::repeat_n(100_000, 350)).await;
    assert!(busiest(&made, interval) <= 300);
    let batches: Vec<_> = made.iter().filter(|(_, n)| *n > 0).copied().collect();
    assert_eq!(batches.iter().map(|(_, n)| *n).sum::<u64>(), 1000);
    assert!(batches.len() <= 8, "four batches, each within a tick or two: {batches:?}");
}

#[tokio::test]
async fn promise_02_any_number_of_schedulers_keeps_the_rate() {
    let world = TimedStore::new().await;
    let interval = Duration::from_secs(2);
    for (name, pace) in [("even", Pace::Even), ("batch", Pace::Batch)] {
        let queue = line(&world, name, rate(50, interval, pace), 600).await;
        let mut made = Vec::new();
        for _ in 0..100 {
            world.pass(Duration::from_millis(97));
            let mut schedulers = tokio::task::JoinSet::new();
            for _ in 0..5 {
                let queue = queue.clone();
                schedulers.spawn(async move { tick(&queue).await });
            }
            while let Some(promoted) = schedulers.join_next().await {
                made.push((world.now(), promoted.expect("a tick")));
            }
        }
        assert!(busiest(&made, interval) <= 50, "{name}");
        let total: u64 = made.iter().map(|(_, n)| n).sum();
        assert!(total >= 200, "{name}: {total} in nearly five intervals of 50");
    }
}

#[tokio::test]
async fn promise_02_a_longer_interval_looks_back_over_all_of_it() {
    let world = TimedStore::new().await;
    let queue = line(&world, "q", rate(10, Duration::from_secs(1), Pace::Batch), 300).await;
    let before = ticks(&world, &queue, std::iter::repeat_n(200_000, 50)).await;
    assert!(before.iter().map(|(_, n)| n).sum::<u64>() >= 90);
    let minute = [Override::Interval(Some(Duration::from_secs(60)))];
    queue.override_rules(&minute, None).await.expect("an override");
    let after = ticks(&world, &queue, std::iter::repeat_n(SECOND, 45)).await;
    assert_eq!(after.iter().map(|(_, n)| n).sum::<u64>(), 0, "the minute is used up tenfold");
    let later = ticks(&world, &queue, std::iter::repeat_n(SECOND, 60)).await;
    assert_eq!(later.iter().map(|(_, n)| n).sum::<u64>(), 10);
}

#[tokio::test]
async fn promise_01_and_02_hold_together() {
    let world = TimedStore::new().await;
    let rules = Rules { capacity: Some(30), ..rate(20, Duration::from_secs(1), Pace::Batch) };
    let queue = line(&world, "q", rules, 100).await;
    let made = ticks(&world, &queue, std::iter::repeat_n(500_000, 20)).await;
    assert_eq!(made.iter().map(|(_, n)| n).sum::<u64>(), 30, "capacity is the end of it");
    assert!(busiest(&made, Duration::from_secs(1)) <= 20);
}

#[tokio::test]
async fn a_rate_that_comes_into_force_later_is_not_late() {
    let world = TimedStore::new().await;
    let queue = line(&world, "q", capacity(5), 20).await;
    assert_eq!(tick(&queue).await, 5);
    queue.override_rules(&[Override::Batch(Some(10))], None).await.expect("an override");
    world.pass(Duration::from_millis(100));
    let promotion = queue.promote(&Health::default()).await.expect("a tick");
    assert_eq!((promotion.promoted, promotion.lag), (0, Duration::ZERO));
    world.pass(Duration::from_millis(250));
    assert_eq!(
        queue.promote(&Health::default()).await.expect("a tick").lag,
        Duration::from_millis(150)
    );
}

#[tokio::test]
async fn large_batches_are_made_in_chunks() {
    let world = TimedStore::new().await;
    let queue = line(&world, "q", rate(2200, Duration::from_secs(10), Pace::Batch), 2500).await;
    let mut calls = 0;
    let mut promoted = 0;
    loop {
        let promotion = queue.promote(&Health::default()).await.expect("a tick");
        assert!(promotion.promoted <= 100, "a chunk is bounded");
        promoted += promotion.promoted;
        calls += 1;
        if !promotion.more {
            break;
        }
    }
    assert_eq!((promoted, calls), (2200, 22));
}

#[tokio::test]
async fn on_a_quiet_day_the_room_is_invisible_and_a_rush_is_a_stream() {
    let (world, queue) = room(rate(1000, Duration::from_secs(10), Pace::Even)).await;
    for n in 0..20 {
        assert_eq!(join(&queue, n).await.1.status(), Status::Ready, "visitor {n} on a quiet day");
        world.pass(Duration::from_millis(200));
        tick(&queue).await;
    }
    let mut at_once = 0;
    for n in 100..200 {
        at_once += u64::from(join(&queue, n).await.1.status() == Status::Ready);
    }
    assert_eq!(at_once, 10, "a rush gets a slice at once, the rest waits in line");
}

#[tokio::test]
async fn estimates_follow_the_promotions_really_made() {
    // The rate would be 100/s, but only what leaves makes room: 10/s.
    let rules = Rules { capacity: Some(10), ..rate(1000, Duration::from_secs(10), Pace::Even) };
    let (world, queue) = room(rules).await;
    let places = join_each(&queue, 0..710).await;
    let returned = look(&queue, places[709]).await;
    assert_eq!(returned.position(), 700);
    assert_eq!(
        returned.eta().0,
        Some(Duration::from_secs(7)),
        "by the rules, before anything is known"
    );
    let mut errors = Vec::new();
    let mut waits = Vec::new();
    let mut next = places.iter();
    for _ in 0..60 {
        world.pass(Duration::from_secs(1));
        look(&queue, places[709]).await;
        for _ in 0..10 {
            queue.leave(*next.next().expect("a place")).await.expect("a leave");
        }
        for _ in 0..10 {
            let tick = queue.promote(&Health::default()).await.expect("a tick");
            errors.extend(tick.estimates);
            waits.extend(tick.waits);
            world.pass(Duration::from_millis(1));
        }
    }
    let place = look(&queue, places[709]).await;
    let eta = place.eta().0.expect("an estimate");
    let honest = Duration::from_millis(100 * place.position());
    assert!(eta > honest * 8 / 10 && eta < honest * 12 / 10, "{eta:?} for {}", place.position());
    assert!(place.eta().1.expect("a slow estimate") >= eta);
    assert!(errors.len() >= 8, "every 64th estimate is compared: {errors:?}");
    let longest = waits.iter().map(|(_, wait)| *wait).max().expect("waits");
    assert!(longest > Duration::from_secs(55) && longest < Duration::from_secs(62), "{longest:?}");
    // Paused: unknown.
    let paused = [Override::State(Some(anteroom_core::queue::State::Paused))];
    queue.override_rules(&paused, None).await.expect("an override");
    assert_eq!(look(&queue, places[709]).await.eta().0, None);
}

#[tokio::test]
async fn estimates_are_unknown_until_something_is_known() {
    let (_world, queue) = room(capacity(1)).await;
    join(&queue, 0).await;
    let (_, place) = join(&queue, 1).await;
    assert_eq!((place.position(), place.eta().0, place.eta().1), (1, None, None));
}

/// An old head and a recent one promoted together: each waited as long as it did.
#[tokio::test]
async fn waits_are_returned_of_heads_that_are_far_apart() {
    let hour = Duration::from_secs(3600);
    let rules = Rules {
        idle_ttl: hour,
        first_poll_ttl: hour,
        session_ttl: hour,
        session_max: hour,
        ..capacity(1)
    };
    let (world, queue) = room(rules).await;
    let (first, _) = join(&queue, 0).await;
    queue.claim(first).await.expect("a claim");
    let (mut old, mut recent) = (None, None);
    for n in 1..=900 {
        world.pass(Duration::from_secs(1));
        tick(&queue).await;
        let (of, _) = join(&queue, n).await;
        match n {
            1 => old = Some(of),
            900 => recent = Some(of),
            _ => drop(queue.leave(of).await.expect("a leave")),
        }
    }
    for of in [old, recent].into_iter().flatten() {
        assert_eq!(look(&queue, of).await.status(), Status::Waiting);
    }
    world.pass(Duration::from_secs(1));
    queue.override_rules(&[Override::Capacity(Some(3))], None).await.expect("an override");
    let waits = queue.promote(&Health::default()).await.expect("a tick").waits;
    let returned: Vec<_> = waits.iter().map(|(_, wait)| wait.as_secs()).collect();
    assert!(returned.len() == 2 && returned[1] <= 2, "{waits:?}");
}
