//! Why places are gone: returned for ten minutes, and then forgotten, whatever the order of the
//! endings.

use std::time::Duration;

use anteroom_core::queue::{GoneReason, PlaceRef, Queue, Visit};
use futures_util::future::join_all;

use super::line::{capacity, join, room, tick};
use super::support::TimedStore;

/// How many notes the store holds.
async fn notes(world: &TimedStore) -> u64 {
    let script = "local sum = 0 for _, key in ipairs(redis.call('KEYS', '*:gone*')) do \
        sum = sum + redis.call(redis.call('TYPE', key).ok == 'zset' \
            and 'ZCARD' or 'HLEN', key) end return sum";
    world.redis.run(&["EVAL", script, "0"]).await
}

async fn visit(queue: &Queue, numbers: std::ops::Range<u64>) -> Vec<PlaceRef> {
    let visit = |n| async move {
        let (of, _) = join(queue, n).await;
        queue.claim(of).await.expect("a claim");
        of
    };
    join_all(numbers.map(visit)).await
}

/// One visit in twenty lasts long, so tickets do not end in their order; and far more end than a
/// sweep looks at.
#[tokio::test]
async fn notes_come_to_a_plateau_with_long_sessions_between_short_ones() {
    const EACH: u64 = 60;
    let (world, queue) = room(capacity(1_000_000)).await;
    let mut long: Vec<(u64, PlaceRef)> = Vec::new();
    let mut most = 0;
    for round in 0..220 {
        for _ in 0..3 {
            world.pass(Duration::from_secs(4));
            tick(&queue).await;
        }
        if round % 10 == 0 {
            queue.sweep().await.expect("a sweep");
        }
        for (at, of) in (0..).zip(visit(&queue, round * EACH..(round + 1) * EACH).await) {
            if at % 20 == 0 {
                long.push((round + 60, of));
            } else {
                queue.leave(of).await.expect("a leave");
            }
        }
        for (_, of) in long.extract_if(.., |(until, _)| *until <= round) {
            queue.leave(of).await.expect("a leave");
        }
        most = most.max(notes(&world).await);
    }
    // Two periods of ten minutes, each as much longer as the next sweep was late.
    assert!(most <= 2 * 60 * EACH, "{most} notes");
}

#[tokio::test]
async fn a_reason_is_returned_for_ten_minutes_whenever_the_place_ended() {
    let (world, queue) = room(capacity(100)).await;
    for n in 0..8 {
        let of = visit(&queue, n..n + 1).await[0];
        queue.leave(of).await.expect("a leave");
        world.run(&queue, Duration::from_secs(590)).await;
        assert_eq!(queue.place(of).await, Ok(Visit::Gone(GoneReason::Completed)), "visit {n}");
        world.run(&queue, Duration::from_secs(20)).await;
        assert_eq!(queue.place(of).await, Ok(Visit::Gone(GoneReason::Ended)), "visit {n}");
        world.run(&queue, Duration::from_secs(37 * n)).await;
    }
}

/// A scheduler makes up to 200 calls a second.
#[tokio::test]
async fn ten_thousand_turns_that_lapse_together_are_swept_by_so_many_calls_as_a_second_has() {
    const CALLS: u64 = 167;
    let (world, queue) = room(capacity(10_000)).await;
    let places = join_all((0..10_000).map(|n| join(&queue, n))).await;
    for _ in 0..16 {
        world.pass(Duration::from_secs(4));
        tick(&queue).await;
    }
    let mut swept = 0;
    for call in 1..=CALLS {
        let sweep = queue.sweep().await.expect("a sweep");
        swept += sweep.unclaimed;
        assert_eq!(sweep.more, swept < 10_000, "after {call} calls");
    }
    assert_eq!(swept, 10_000);
    assert!(!queue.sweep().await.expect("a sweep").more);
    assert_eq!(queue.place(places[9_999].0).await, Ok(Visit::Gone(GoneReason::Unclaimed)));
}
