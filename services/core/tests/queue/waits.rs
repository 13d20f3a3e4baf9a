//! Waits that no count of turns shows: until the next batch, until the first slot ends. And
//! how often a line polls while promotion pauses.

use std::time::Duration;

use anteroom_core::queue::{Pace, Place, PlaceRef, Queue, Rules, Status, Visit};
use futures_util::future::join_all;

use super::line::{capacity, join, look, rate, room, tick};
use super::support::TimedStore;

const LONG: Duration = Duration::from_secs(86_400);

/// These rules, by which no visitor is away.
fn patient(rules: Rules) -> Rules {
    Rules { idle_ttl: LONG, keep_ttl: LONG, first_poll_ttl: LONG, ..rules }
}

/// A tick, and those whose turn has come claim; how many these were.
async fn claim_next(queue: &Queue, line: &mut Vec<PlaceRef>) -> usize {
    let turns = usize::try_from(tick(queue).await).expect("a number");
    let called: Vec<_> = line.drain(..turns).collect();
    for claimed in join_all(called.into_iter().map(|of| queue.claim(of))).await {
        claimed.expect("a claim");
    }
    turns
}

/// So many come, and the room fills. Those who wait.
async fn crowd(world: &TimedStore, queue: &Queue, visitors: std::ops::Range<u64>) -> Vec<PlaceRef> {
    let mut line = Vec::new();
    for (of, place) in join_all(visitors.map(|n| join(queue, n))).await {
        if place.status() == Status::Ready {
            queue.claim(of).await.expect("a claim");
        } else {
            line.push(of);
        }
    }
    while claim_next(queue, &mut line).await > 0 {
        world.pass(Duration::from_millis(100));
    }
    line
}

/// Ticks as often as a scheduler.
async fn pass(world: &TimedStore, queue: &Queue, time: Duration) -> u64 {
    let mut promoted = 0;
    for _ in 0..time.as_millis() / 500 {
        world.pass(Duration::from_millis(500));
        promoted += tick(queue).await;
    }
    promoted
}

fn expected(place: &Place) -> (f64, f64) {
    let (median, slow) = place.eta();
    (median.expect("a median").as_secs_f64(), slow.expect("a 90th percentile").as_secs_f64())
}

#[tokio::test]
async fn a_place_behind_a_batch_waits_for_the_next_one() {
    let world = TimedStore::new().await;
    let interval = Duration::from_secs(600);
    let queue = world.queue("q", patient(rate(100, interval, Pace::Batch))).await;
    // The first batch goes in at once.
    let line = crowd(&world, &queue, 0..350).await;
    assert_eq!(line.len(), 250);
    pass(&world, &queue, Duration::from_secs(10)).await;
    let checked = match queue.authorize(line[0], false).await.expect("a check") {
        Visit::Here(place) => expected(&place).0,
        other => panic!("no place: {other:?}"),
    };
    assert!((590.0..595.0).contains(&checked), "a gateway check shows the same: {checked}");
    for (position, waits) in [(1, 590.0), (100, 590.0), (101, 1_190.0), (250, 1_790.0)] {
        let (median, slow) = expected(&look(&queue, line[position - 1]).await);
        assert!((waits..waits + 5.0).contains(&median), "position {position}: {median}");
        assert!((median..waits + 10.0).contains(&slow), "position {position}: {slow}");
    }
    assert_eq!(pass(&world, &queue, Duration::from_secs(588)).await, 0);
    assert_eq!(pass(&world, &queue, Duration::from_secs(4)).await, 100);
    let (median, _) = expected(&look(&queue, line[100]).await);
    assert!((595.0..602.0).contains(&median), "{median}");
}

#[tokio::test]
async fn behind_slots_that_are_taken_the_first_end_of_one_is_the_shortest_wait() {
    let session_ttl = Duration::from_secs(300);
    let rules = Rules { session_ttl, ..patient(capacity(300)) };
    let (world, queue) = room(rules).await;
    let line = crowd(&world, &queue, 0..400).await;
    for left in [299.0, 200.0, 101.0] {
        pass(&world, &queue, Duration::from_secs(1)).await;
        let (median, slow) = expected(&look(&queue, line[0]).await);
        assert!((left - 1.0..left + 2.0).contains(&median), "{median} with {left} s left");
        assert!(slow >= median, "{slow}");
        assert_eq!(pass(&world, &queue, Duration::from_secs(98)).await, 0);
    }
    assert_eq!(pass(&world, &queue, Duration::from_secs(5)).await, 100);
}

/// Polls a second of these places, by what each is answered now.
async fn polls(queue: &Queue, line: &[PlaceRef]) -> f64 {
    let looks = join_all(line.iter().map(|of| look(queue, *of))).await;
    let claim_ttl = Duration::from_secs(60);
    // Jitter hastens each by up to 20 %.
    looks.iter().map(|place| 1.0 / (0.9 * place.poll_after(claim_ttl, None).as_secs_f64())).sum()
}

#[tokio::test]
async fn a_line_that_stands_polls_seldom() {
    for rules in [
        capacity(200),
        Rules { capacity: Some(200), ..rate(1_000, Duration::from_secs(10), Pace::Even) },
    ] {
        let (world, queue) = room(patient(rules)).await;
        let mut line = crowd(&world, &queue, 0..3_050).await;
        assert_eq!(line.len(), 2_850);
        // The line moves: 10 a second leave.
        for n in 0..50 {
            queue.leave(join(&queue, n).await.0).await.expect("a leave");
            world.pass(Duration::from_millis(100));
            assert_eq!(claim_next(&queue, &mut line).await, 1);
        }
        assert_eq!(line.len(), 2_800);
        assert_eq!(pass(&world, &queue, Duration::from_secs(120)).await, 0, "no place is freed");
        let polls = polls(&queue, &line).await;
        assert!(polls <= 300.0, "{polls:.0} polls a second of {} places", line.len());
    }
}

/// Fields as the version before left them, and as a later one may pack them: turns are counted from
/// the beginning.
#[tokio::test]
async fn what_other_versions_stored_breaks_no_estimate() {
    let (world, queue) = room(patient(rate(100, Duration::from_secs(10), Pace::Even))).await;
    let meta = "anteroom:v1:queue:{q}:meta";
    for (field, value) in [("rates", "\u{91}x"), ("bin_from", "17"), ("rate", "1"), ("drop", "9")] {
        let _: () = world.redis.run(&["HSET", meta, field, value]).await;
    }
    let line = crowd(&world, &queue, 0..500).await;
    pass(&world, &queue, Duration::from_secs(20)).await;
    for field in ["rates", "bin_from", "rate", "drop"] {
        let left: Option<String> = world.redis.run(&["HGET", meta, field]).await;
        assert_eq!(left, None, "{field}: a part of these fields makes 0.1.0 fail");
    }
    let _: () = world.redis.run(&["HSET", meta, "turns", "of another length"]).await;
    let _: () = world.redis.run(&["HSET", meta, "outlook", "of another length"]).await;
    let (median, _) = expected(&look(&queue, line[390]).await);
    assert!((20.0..60.0).contains(&median), "by the rules: {median}");
    pass(&world, &queue, Duration::from_secs(2)).await;
    let (median, slow) = expected(&look(&queue, line[390]).await);
    assert!((20.0..60.0).contains(&median) && slow >= median, "{median}, {slow}");
}
