//! The line in outline: more places than one call reads.

use std::time::Duration;

use anteroom_core::queue::PlaceRef;
use futures_util::future::join_all;

use super::line::{capacity, join_each, look, room, tick};
use super::support::SECOND;

/// Points of two calls.
const PLACES: u64 = 6_000;

#[tokio::test]
async fn every_position_of_a_long_line_is_at_most_3_percent_off() {
    let (_world, queue) = room(capacity(1)).await;
    let places = join_each(&queue, 0..PLACES).await;
    // The first has its turn. Visitors leave, from a part of the line nearly all.
    let leaves = |of: &&PlaceRef| match of.ticket {
        1_000..2_000 => !of.ticket.is_multiple_of(50),
        ticket => ticket % 7 == 3,
    };
    let (left, mut line): (Vec<PlaceRef>, Vec<PlaceRef>) = places[1..].iter().partition(leaves);
    join_all(left.iter().map(|of| queue.leave(*of))).await;
    let sketch = queue.sketch(true, Duration::ZERO).await.expect("a sketch");
    assert_eq!(sketch.front(), line.first().map(|of| of.ticket));
    for (rank, of) in line.iter().enumerate() {
        let shown = sketch.place(of.ticket).expect("in line").position();
        let position = rank as u64 + 1;
        let off = position.abs_diff(shown);
        assert!(off * 100 <= 3 * position, "{of:?}: {shown} instead of {position}");
        assert!(off == 0 || rank >= 64, "{of:?}: the front is exact");
    }
    let last = line.pop().expect("the last");
    assert_eq!(sketch.place(last.ticket).map(|it| it.position()), Some(line.len() as u64 + 1));
    assert_eq!(look(&queue, last).await.position(), line.len() as u64 + 1);
    assert_eq!(sketch.place(last.ticket + 1), None);
}

#[tokio::test]
async fn an_outline_that_was_made_for_another_process_says_how_old_it_is() {
    const OLDEST: Duration = Duration::from_millis(700);
    let (world, queue) = room(capacity(1)).await;
    let places = join_each(&queue, 0..200).await;
    let read = async |oldest| {
        let sketch = queue.sketch(false, oldest).await.expect("a sketch");
        (sketch.front(), sketch.waiting(), sketch.age().as_millis())
    };
    let [first, second, third] = [1, 2, 3].map(|n: usize| Some(places[n].ticket));
    assert_eq!(read(OLDEST).await, (first, 199, 0));
    queue.leave(places[1]).await.expect("a leave");
    for age in [400, 700] {
        world.pass(Duration::from_millis(if age == 400 { 400 } else { 300 }));
        tick(&queue).await;
        assert_eq!(read(OLDEST).await, (first, 199, age));
    }
    assert_eq!(read(Duration::ZERO).await, (second, 198, 0), "this one is new");
    queue.leave(places[2]).await.expect("a leave");
    world.pass(OLDEST + Duration::from_millis(1));
    tick(&queue).await;
    assert_eq!(read(OLDEST).await, (third, 197, 0));
    // The store's clock leaps back, and queue time stops.
    queue.leave(places[3]).await.expect("a leave");
    world.set_now(world.now() - SECOND);
    let fourth = Some(places[4].ticket);
    assert_eq!(read(OLDEST).await, (fourth, 196, 0));
    // All places are of another epoch.
    queue.reset().await.expect("a reset");
    join_each(&queue, 0..3).await;
    assert_eq!(read(OLDEST).await.1, 2);
}

#[tokio::test]
async fn an_outline_is_read_also_while_redis_takes_no_writes() {
    let (world, queue) = room(capacity(1)).await;
    join_each(&queue, 0..100).await;
    let replicas = ["CONFIG", "SET", "min-replicas-to-write", "1"];
    world.redis.run::<()>(&replicas).await;
    let sketch = queue.sketch(false, Duration::ZERO).await.expect("a sketch");
    assert_eq!(sketch.waiting(), 99);
}

/// However long the line is, its parts begin at the same ranks: so few are kept.
#[tokio::test]
async fn lines_of_all_lengths_have_the_same_parts() {
    let (world, queue) = room(capacity(1)).await;
    let mut places = join_each(&queue, 0..520).await;
    let mut most = 0u64;
    while places.len() > 400 {
        queue.leave(places.pop().expect("a place")).await.expect("a leave");
        let sketch = queue.sketch(false, Duration::ZERO).await.expect("a sketch");
        assert_eq!(sketch.points().last().map(|(rank, _)| rank), Some(places.len() as u64 - 1));
        most = most.max(world.redis.run(&["HLEN", "anteroom:v1:queue:{q}:outlines"]).await);
    }
    assert_eq!(most, 2);
}
