//! Promotion that follows the health of a target: when it stops, how it is found out that it may go
//! on, and how the pace comes back.

use std::time::Duration;

use anteroom_core::breaker::{State as BreakerState, Totals};
use anteroom_core::queue::{BreakerReading, Health, Override, Pace, Queue, Rules, State, Status};

use super::line::{before, capacity, join, join_each, look, rate, room};
use super::support::{SECOND, TimedStore};

const OPEN_FOR: Duration = Duration::from_secs(10);
const TICK: Duration = Duration::from_millis(100);

/// What a scheduler read of the target.
pub fn reading(state: BreakerState, version: u64) -> Health {
    let reading =
        BreakerReading { state, version, probes: 3, open_for: OPEN_FOR, totals: Totals::default() };
    Health { reading: Some(reading), adaptive: None }
}

/// One tick to its end.
async fn tick(queue: &Queue, health: &Health) -> u64 {
    let mut promoted = 0;
    loop {
        let promotion = queue.promote(health).await.expect("a tick");
        promoted += promotion.promoted;
        if !promotion.more {
            return promoted;
        }
    }
}

/// Ticks for so long; how many were promoted at which time.
async fn ticks(
    world: &TimedStore,
    queue: &Queue,
    time: Duration,
    health: &Health,
) -> Vec<(u64, u64)> {
    let mut made = Vec::new();
    let end = world.now() + super::support::micros(time);
    while world.now() < end {
        world.pass(TICK);
        let promoted = tick(queue, health).await;
        if promoted > 0 {
            made.push((world.now(), promoted));
        }
    }
    made
}

fn sum(made: &[(u64, u64)]) -> u64 {
    made.iter().map(|(_, promoted)| promoted).sum()
}

/// So many in line, in a queue without a first poll.
async fn line(world: &TimedStore, name: &str, rules: Rules, visitors: u64) -> Queue {
    let rules = Rules { first_poll_ttl: rules.idle_ttl, ..rules };
    let queue = world.queue(name, rules).await;
    tick(&queue, &reading(BreakerState::Open, 1)).await;
    join_each(&queue, 0..visitors).await;
    queue
}

#[tokio::test]
async fn in_fallback_nobody_is_promoted_from_the_next_tick_on() {
    let (world, queue) = room(capacity(5)).await;
    tick(&queue, &reading(BreakerState::Closed, 1)).await;
    assert_eq!(join(&queue, 0).await.1.status(), Status::Ready);
    tick(&queue, &reading(BreakerState::Open, 2)).await;
    let (waiting, place) = join(&queue, 1).await;
    assert_eq!(place.status(), Status::Waiting, "no join is promoted at once either");
    assert_eq!(tick(&queue, &reading(BreakerState::Open, 2)).await, 0);
    assert_eq!(look(&queue, waiting).await.eta(), (None, None), "unknown");

    let snapshot = queue.snapshot().await.expect("a snapshot");
    assert!(snapshot.paused_by_health);
    assert_eq!((snapshot.state, snapshot.health), (State::Paused, Some(BreakerState::Open)));
    assert_eq!(snapshot.health_pace, Some(0.0));
    // An operator's pause is shown as such.
    let paused = [Override::State(Some(State::Paused))];
    queue.override_rules(&paused, None).await.expect("an override");
    let snapshot = queue.snapshot().await.expect("a snapshot");
    assert!(!snapshot.paused_by_health, "it is paused anyway");
    queue.override_rules(&[Override::State(None)], None).await.expect("an override");

    assert_eq!(tick(&queue, &reading(BreakerState::Closed, 3)).await, 0, "one has a quarter of 5");
    let half = ticks(&world, &queue, OPEN_FOR, &reading(BreakerState::Closed, 3)).await;
    assert_eq!(sum(&half), 1, "then a half");
    let snapshot = queue.snapshot().await.expect("a snapshot");
    assert_eq!((snapshot.state, snapshot.paused_by_health), (State::Open, false));
}

#[tokio::test]
async fn an_older_version_never_reopens() {
    let world = TimedStore::new().await;
    let queue = line(&world, "q", capacity(5), 3).await;
    tick(&queue, &reading(BreakerState::Open, 9)).await;
    for health in [
        reading(BreakerState::Closed, 8),
        reading(BreakerState::HalfOpen, 0),
        // The same version is the same state, whatever it says.
        reading(BreakerState::Closed, 9),
        Health::default(),
    ] {
        assert_eq!(tick(&queue, &health).await, 0, "{health:?}");
        world.pass(TICK);
    }
    assert_eq!(tick(&queue, &reading(BreakerState::Closed, 10)).await, 1, "a quarter of 5");
}

#[tokio::test]
async fn a_target_that_cannot_be_read_stops_nothing_for_longer_than_five_seconds() {
    let world = TimedStore::new().await;
    let queue = line(&world, "q", capacity(50), 20).await;
    assert_eq!(sum(&ticks(&world, &queue, 5 * 10 * TICK, &Health::default()).await), 0);
    assert_eq!(sum(&ticks(&world, &queue, TICK, &Health::default()).await), 20);
    let snapshot = queue.snapshot().await.expect("a snapshot");
    assert_eq!((snapshot.health, snapshot.paused_by_health), (None, false));
    assert_eq!(snapshot.health_pace, None);
    // It can be read again, and nothing has changed.
    tick(&queue, &reading(BreakerState::Open, 1)).await;
    assert!(queue.snapshot().await.expect("a snapshot").paused_by_health);
}

#[tokio::test]
async fn a_target_that_the_store_forgot_is_followed_anew() {
    let world = TimedStore::new().await;
    let queue = line(&world, "q", capacity(50), 20).await;
    tick(&queue, &reading(BreakerState::Open, 9)).await;
    // A target that the store knows nothing of has version 0.
    let forgotten = reading(BreakerState::Closed, 0);
    assert_eq!(sum(&ticks(&world, &queue, 5 * 10 * TICK, &forgotten).await), 0);
    let back = sum(&ticks(&world, &queue, TICK, &forgotten).await);
    assert_eq!(back, 12, "a quarter of 50: it is unknown whether it has recovered");
    let snapshot = queue.snapshot().await.expect("a snapshot");
    assert_eq!(snapshot.health, Some(BreakerState::Closed));
    tick(&queue, &reading(BreakerState::Open, 8)).await;
    assert!(queue.snapshot().await.expect("a snapshot").paused_by_health);
}

#[tokio::test]
async fn without_schedulers_the_last_reading_stays_in_force() {
    let world = TimedStore::new().await;
    let queue = line(&world, "q", capacity(50), 1).await;
    world.pass(Duration::from_secs(3_600));
    assert_eq!(join(&queue, 7).await.1.status(), Status::Waiting);
    assert!(queue.snapshot().await.expect("a snapshot").paused_by_health);
}

#[tokio::test]
async fn half_open_promotes_at_most_the_probes_in_any_open_for() {
    let world = TimedStore::new().await;
    for (name, rules) in [
        ("capacity", capacity(50)),
        ("even", rate(1_000, Duration::from_secs(1), Pace::Even)),
        ("batch", rate(1_000, Duration::from_secs(1), Pace::Batch)),
    ] {
        let queue = line(&world, name, rules, 12).await;
        let probing = reading(BreakerState::HalfOpen, 2);
        let made = ticks(&world, &queue, 3 * OPEN_FOR, &probing).await;
        assert!((6..=9).contains(&sum(&made)), "{name}: {made:?}");
        for (end, _) in &made {
            let open_for = super::support::micros(OPEN_FOR);
            let within = made.iter().filter(|(at, _)| at <= end && at + open_for > *end);
            assert!(within.map(|(_, promoted)| promoted).sum::<u64>() <= 3, "{name}: {made:?}");
        }
        let snapshot = queue.snapshot().await.expect("a snapshot");
        assert_eq!(
            (snapshot.state, snapshot.paused_by_health),
            (State::Paused, true),
            "but for a few"
        );
        assert_eq!(snapshot.health_pace, Some(0.0));
    }
}

/// Two schedulers have different rules: the probes of both count, by the `open_for` of each.
#[tokio::test]
async fn half_open_counts_the_probes_of_a_scheduler_with_other_rules() {
    let world = TimedStore::new().await;
    let queue = line(&world, "q", capacity(50), 12).await;
    let probing = reading(BreakerState::HalfOpen, 2);
    let other = Health {
        reading: probing.reading.map(|it| BreakerReading {
            probes: 1,
            open_for: Duration::from_secs(2),
            ..it
        }),
        adaptive: None,
    };
    let mut made = Vec::new();
    for seconds in 0..40u64 {
        for (health, probes) in [(&probing, 3), (&other, 1)] {
            let promoted = tick(&queue, health).await;
            made.push((world.now(), promoted));
            let open_for = health.reading.map_or(0, |it| super::support::micros(it.open_for));
            let within = made.iter().filter(|(at, _)| at + open_for > world.now());
            let within: u64 = within.map(|(_, promoted)| promoted).sum();
            assert!(promoted == 0 || within <= probes, "second {seconds}: {made:?}");
        }
        world.pass(Duration::from_secs(1));
    }
    assert_eq!(sum(&made), 12, "{made:?}");
}

#[tokio::test]
async fn half_open_does_not_wait_for_the_next_batch() {
    let world = TimedStore::new().await;
    let rules = rate(5, Duration::from_secs(600), Pace::Batch);
    let queue = line(&world, "q", rules, 9).await;
    // A batch that began in the fallback would be over.
    ticks(&world, &queue, OPEN_FOR, &reading(BreakerState::Open, 2)).await;
    let probing = reading(BreakerState::HalfOpen, 3);
    assert_eq!(sum(&ticks(&world, &queue, OPEN_FOR, &probing).await), 3);
    let made = sum(&ticks(&world, &queue, 3 * OPEN_FOR, &probing).await);
    assert_eq!(made, 2, "no more than the batch in the interval");
}

#[tokio::test]
async fn half_open_counts_the_joins_that_find_an_empty_line() {
    let world = TimedStore::new().await;
    let queue = line(&world, "q", capacity(50), 0).await;
    let probing = reading(BreakerState::HalfOpen, 2);
    assert_eq!(tick(&queue, &probing).await, 0);
    let mut at_once = 0;
    for n in 0..5 {
        at_once += u64::from(join(&queue, n).await.1.status() == Status::Ready);
    }
    assert_eq!(at_once, 3);
    let made = ticks(&world, &queue, OPEN_FOR - TICK, &probing).await;
    assert_eq!(sum(&made), 0, "the next come open_for after the last");
    world.pass(TICK);
    assert_eq!(tick(&queue, &probing).await, 2);
    for n in 5..8 {
        at_once += u64::from(join(&queue, n).await.1.status() == Status::Ready);
    }
    assert_eq!(at_once, 4, "one was left");
}

#[tokio::test]
async fn after_a_fallback_the_pace_comes_back_in_quarters() {
    let world = TimedStore::new().await;
    let healthy = reading(BreakerState::Closed, 2);
    // With an even pace, and all at once: a batch of 40 a second, 10 s a quarter.
    for (name, pace) in [("even", Pace::Even), ("batch", Pace::Batch)] {
        let queue = line(&world, name, rate(40, Duration::from_secs(1), pace), 1_500).await;
        for quarter in 1..=4u8 {
            let mut promoted = sum(&ticks(&world, &queue, TICK, &healthy).await);
            let pace = queue.snapshot().await.expect("a snapshot").health_pace;
            assert_eq!(pace, Some(f64::from(quarter) / 4.0), "{name}");
            promoted += sum(&ticks(&world, &queue, OPEN_FOR - TICK, &healthy).await);
            let whole = 100 * u64::from(quarter);
            let good = if quarter == 4 { whole - 40..=whole } else { whole - 10..=whole + 10 };
            assert!(good.contains(&promoted), "{name}: {promoted} in quarter {quarter}");
        }
    }
    // Without a batch it is the capacity: rounded down, but never nothing.
    let queue = line(&world, "capacity", capacity(7), 20).await;
    let mut present = 0;
    for quarter in [1, 3, 5, 7] {
        present += sum(&ticks(&world, &queue, OPEN_FOR, &healthy).await);
        assert_eq!(present, quarter);
    }
    let queue = line(&world, "one", capacity(1), 2).await;
    assert_eq!(tick(&queue, &healthy).await, 1);
}

#[tokio::test]
async fn expected_waits_are_those_of_the_whole_pace_and_of_the_part_of_it_that_is_back() {
    let rules = rate(10, Duration::from_secs(1), Pace::Even);
    let (world, queue) = room(Rules { first_poll_ttl: rules.idle_ttl, ..rules }).await;
    let mut last = None;
    for n in 0..700 {
        last = Some(join(&queue, n).await.0);
    }
    let last = last.expect("a place");
    // The estimates in seconds for the last in line, and in how many of them nine of ten are
    // promoted.
    let estimates = async || {
        let (median, slow) = look(&queue, last).await.eta();
        (median.map(|it| it.as_secs()), slow.map(|it| it.as_secs()))
    };
    // The first was promoted at once.
    let mut left = 699;
    left -= sum(&ticks(&world, &queue, 2 * OPEN_FOR, &reading(BreakerState::Closed, 1)).await);
    let good = |left: u64, a_second: f64| {
        let wait = left as f64 / a_second;
        (0.9 * wait) as u64..=(1.1 * wait) as u64 + 1
    };
    let (median, slow) = estimates().await;
    assert!(good(left, 10.0).contains(&median.expect("it is known")), "{median:?}");
    assert!(slow.expect("it is known") < left / 5, "{slow:?}");

    ticks(&world, &queue, OPEN_FOR, &reading(BreakerState::Open, 2)).await;
    for _ in 0..6 {
        left -=
            sum(&ticks(&world, &queue, OPEN_FOR / 2, &reading(BreakerState::HalfOpen, 3)).await);
        assert_eq!(estimates().await, (None, None), "it is unknown when the target recovers");
        assert_eq!(before(&look(&queue, last).await), Some(left - 1));
    }
    let healthy = reading(BreakerState::Closed, 4);
    for quarter in 1..=4 {
        left -= sum(&ticks(&world, &queue, OPEN_FOR / 2, &healthy).await);
        let (median, slow) = estimates().await;
        let (median, slow) = (median.expect("it is known"), slow.expect("it is known"));
        assert!(good(left, 2.5 * f64::from(quarter)).contains(&median), "{quarter}: {median}");
        assert!(slow <= 2 * median, "{quarter}: {median} and {slow}");
        left -= sum(&ticks(&world, &queue, OPEN_FOR / 2, &healthy).await);
    }
}

#[tokio::test]
async fn promise_02_a_fallback_is_not_made_up_for_in_a_burst() {
    let world = TimedStore::new().await;
    let interval = Duration::from_secs(10);
    for (name, pace, most) in [("even", Pace::Even, 5), ("batch", Pace::Batch, 50)] {
        let queue = line(&world, name, rate(200, interval, pace), 900).await;
        // A slice begins under the whole batch just before the target falls.
        let closed = reading(BreakerState::Closed, 2);
        ticks(&world, &queue, 5 * OPEN_FOR, &closed).await;
        ticks(&world, &queue, Duration::from_secs(60), &reading(BreakerState::Open, 3)).await;
        let back = reading(BreakerState::Closed, 4);
        world.pass(TICK);
        let first = tick(&queue, &back).await;
        assert!(first <= most, "{name}: {first} at once");
        let made = ticks(&world, &queue, interval - 2 * TICK, &back).await;
        assert!(first + sum(&made) <= 50, "{name}: a quarter of 200 in an interval");
    }
}

#[tokio::test]
async fn promise_02_a_slice_that_began_under_a_larger_batch_gives_no_more_than_a_smaller_one() {
    let world = TimedStore::new().await;
    // A slice that counts for two has 400 places, of which a call gives 100.
    let rules = rate(2_000, Duration::from_secs(1), Pace::Even);
    let queue = line(&world, "q", rules, 600).await;
    world.pass(Duration::from_secs(4));
    assert_eq!(tick(&queue, &Health::default()).await, 0);
    world.pass(Duration::from_secs(4));
    let first = queue.promote(&Health::default()).await.expect("a call");
    assert!(first.promoted == 100 && first.more, "there is a rest of the slice");
    queue.override_rules(&[Override::Batch(Some(210))], None).await.expect("an override");
    let rest = queue.promote(&Health::default()).await.expect("a call");
    assert_eq!(rest.promoted, 63, "two slices of 21, and one of shares given back");
}

#[tokio::test]
async fn a_queue_that_nobody_makes_follow_a_target_any_more_goes_on() {
    let world = TimedStore::new().await;
    let queue = line(&world, "q", capacity(5), 5).await;
    world.pass(Duration::from_secs(4));
    assert_eq!(tick(&queue, &Health::default()).await, 0);
    world.pass(Duration::from_micros(SECOND + 1));
    assert_eq!(tick(&queue, &Health::default()).await, 5, "the whole of it at once: no ramp");
}

#[tokio::test]
async fn no_override_lifts_a_pause_for_health() {
    let world = TimedStore::new().await;
    let queue = line(&world, "q", capacity(5), 5).await;
    for over in
        [Override::State(Some(State::Open)), Override::Batch(Some(5)), Override::Capacity(Some(9))]
    {
        queue.override_rules(&[over], None).await.expect("an override");
        assert_eq!(tick(&queue, &reading(BreakerState::Open, 1)).await, 0);
    }
    assert!(queue.snapshot().await.expect("a snapshot").paused_by_health);
}

#[tokio::test]
async fn a_new_life_of_the_queue_follows_its_target_all_the_same() {
    let world = TimedStore::new().await;
    let queue = line(&world, "q", capacity(5), 2).await;
    queue.reset().await.expect("a reset");
    assert_eq!(join(&queue, 7).await.1.status(), Status::Waiting);
}
