//! Places that become inactive, wherever in the line, and what a sweep looks at.

use std::time::Duration;

use anteroom_core::queue::{GoneReason, Join, Leave, PlaceRef, Rules, Status, Visit};
use futures_util::future::join_all;

use super::{BusyQueue, join_many, long_session, poll_all};
use crate::line::{join, look, status, tick, visitor};

#[tokio::test]
async fn a_room_with_one_in_line_takes_joins_however_many_came_and_left() {
    let held = BusyQueue::new(Rules { max_waiting: 100, ..long_session() }).await;
    let (waiting, _) = join(&held.queue, 0).await;
    for n in 1..=500 {
        let (of, _) = join(&held.queue, n).await;
        assert_eq!(held.queue.leave(of).await, Ok(Leave::Left(GoneReason::Left)), "join {n}");
    }
    assert!(matches!(held.queue.join(visitor(&held.queue, 501)).await, Ok(Join::Created(..))));
    assert_eq!(status(&held.queue, waiting).await, Status::Waiting);
}

#[tokio::test]
async fn one_away_place_does_not_fill_the_room() {
    let held = BusyQueue::new(Rules { max_waiting: 10, ..long_session() }).await;
    let (away, _) = join(&held.queue, 0).await;
    look(&held.queue, away).await;
    let (awake, _) = join(&held.queue, 1).await;
    held.pass(&[awake], Duration::from_secs(15 * 60)).await;
    assert_eq!(held.depth_and_away().await, (1, 1));
    for n in 2..=60 {
        let (of, _) = join(&held.queue, n).await;
        held.queue.leave(of).await.expect("a leave");
    }
    assert!(matches!(held.queue.join(visitor(&held.queue, 61)).await, Ok(Join::Created(..))));
    let place = look(&held.queue, away).await;
    assert_eq!(
        (place.status(), place.position()),
        (Status::Waiting, 1),
        "it comes back with its ticket"
    );
}

/// A place so far behind the head that no bitmap reaches there is present as long as it
/// polls, and away when it does not.
#[tokio::test]
async fn promise_05_far_behind_the_head_presence_is_kept_all_the_same() {
    let held = BusyQueue::new(Rules { max_waiting: 10, ..long_session() }).await;
    let (head, _) = join(&held.queue, 0).await;
    for n in 1..=100 {
        let (of, _) = join(&held.queue, n).await;
        held.queue.leave(of).await.expect("a leave");
    }
    let far = join_many(&held.queue, 200..203).await;
    let (stays, never_polls) = ([head, far[0]], far[2]);
    poll_all(&held.queue, &far[..2]).await;
    held.pass(&stays, Duration::from_secs(120)).await;
    assert_eq!(held.queue.place(never_polls).await, Ok(Visit::Gone(GoneReason::Abandoned)));
    assert_eq!(held.depth_and_away().await, (3, 0));
    held.pass(&stays, Duration::from_secs(15 * 60)).await;
    assert_eq!(held.depth_and_away().await, (2, 1), "who polls is present, who does not is away");
    assert_eq!(look(&held.queue, far[0]).await.position(), 2);
    assert_eq!(look(&held.queue, far[1]).await.status(), Status::Waiting, "it comes back");
    held.pass(&[head, far[0], far[1]], Duration::from_secs(15 * 60)).await;
    assert_eq!(held.depth_and_away().await, (3, 0), "who came back is present as long as it polls");
    // The head leaves, so that later bitmaps reach them again.
    held.queue.leave(head).await.expect("a leave");
    held.pass(&far[..1], Duration::from_secs(15 * 60)).await;
    assert_eq!(held.depth_and_away().await, (1, 1));
}

/// Some visitors of a long line leave, some close their page, and most go on polling.
#[tokio::test]
async fn promise_05_a_walk_through_a_long_line_finds_the_absent_and_no_other() {
    const TOGETHER: usize = 5_000;
    let rules = Rules { max_waiting: 30_000, ..long_session() };
    let idle_ttl = rules.idle_ttl;
    let held = BusyQueue::new(rules).await;
    // More than one call looks through.
    let (mut leave, mut absent, mut present) = (vec![], vec![], vec![]);
    for from in (0..20_000).step_by(TOGETHER) {
        for (n, of) in (from..).zip(join_many(&held.queue, from..from + TOGETHER as u64).await) {
            match n {
                _ if n % 6 == 5 => leave.push(of),
                _ if n % 1_000 == 7 || (9_000..9_200).contains(&n) => absent.push(of),
                _ => present.push(of),
            }
        }
    }
    let poll = async |of: &[PlaceRef]| {
        for some in of.chunks(TOGETHER) {
            poll_all(&held.queue, some).await;
        }
    };
    for of in [&leave, &absent, &present] {
        poll(of).await;
    }
    join_all(leave.iter().map(|of| held.queue.leave(*of))).await;
    let (mut seconds, mut calls) = (0, 0);
    while held.depth_and_away().await.1 < absent.len() as u64 {
        held.world.pass(Duration::from_secs(1));
        seconds += 1;
        tick(&held.queue).await;
        calls += 1;
        while held.queue.sweep().await.expect("a sweep").more {
            calls += 1;
        }
        if seconds % 4 == 0 {
            look(&held.queue, present[0]).await;
            held.queue.renew(held.first).await.expect("a renewal");
        }
        if seconds % 100 == 0 {
            poll(&present).await;
        }
        let (depth, away) = held.depth_and_away().await;
        assert!(depth >= present.len() as u64, "{depth} of {} are present", present.len());
        assert!(away == 0 || seconds >= idle_ttl.as_secs(), "{away} are away after {seconds} s");
        // At most a slot and a round of the walk later.
        assert!(seconds < idle_ttl.as_secs() * 3 / 2, "{away} are away after {seconds} s");
    }
    // A round takes a quarter of idle_ttl, and few calls where visitors are present.
    assert!(calls <= 2 * seconds, "{calls} calls in {seconds} s");
    assert_eq!(held.depth_and_away().await.0, present.len() as u64);
}

/// After a check-in period that a whole line has missed, a sweep passes over a bounded part of it
/// and says that there is more.
#[tokio::test]
async fn promise_13_a_sweep_passes_over_a_bounded_number_of_absent_places() {
    let held = BusyQueue::new(long_session()).await;
    let ghosts = join_many(&held.queue, 0..1_000).await;
    poll_all(&held.queue, &ghosts).await;
    held.world.pass(Duration::from_secs(3600));
    let (awake, _) = join(&held.queue, 2_000).await;
    // Without the sweeps of `run`.
    for _ in 0..20 {
        held.world.pass(Duration::from_secs(4));
        tick(&held.queue).await;
        look(&held.queue, awake).await;
        held.queue.renew(held.first).await.expect("a renewal");
    }
    let mut away = 0;
    while away < 1_000 {
        let sweep = held.queue.sweep().await.expect("a sweep");
        assert!((1..60).contains(&sweep.away), "{sweep:?}");
        away += sweep.away;
        assert!(sweep.more || away > 940, "another call would find more: {sweep:?}, {away}");
    }
    assert_eq!(held.depth_and_away().await, (1, 1_000));
}

/// A visitor that is away has dropped out of the line before: estimates must not count the end of
/// the place as well.
#[tokio::test]
async fn the_end_of_an_away_place_is_no_departure_from_the_line() {
    let rules = Rules { keep_ttl: Duration::from_secs(1_200), ..long_session() };
    let held = BusyQueue::new(rules).await;
    let away = join_many(&held.queue, 0..3).await;
    let (stays, _) = join(&held.queue, 3).await;
    poll_all(&held.queue, &away).await;
    held.pass(&[stays], Duration::from_secs(900)).await;
    assert_eq!(held.depth_and_away().await, (1, 3));
    let dropped = async || {
        let get = ["HGET", "anteroom:v1:queue:{q}:meta", "dropped"];
        held.world.redis.run::<Option<u64>>(&get).await.unwrap_or(0)
    };
    assert_eq!(held.queue.leave(away[0]).await, Ok(Leave::Left(GoneReason::Left)));
    assert_eq!(dropped().await, 0, "one has left");
    assert_eq!(held.queue.evict(away[1].ticket).await.map(|it| it.is_some()), Ok(true));
    assert_eq!(dropped().await, 0, "one was evicted");
    let mut ended = 0;
    for _ in 0..500 {
        held.world.pass(Duration::from_secs(4));
        held.queue.place(stays).await.expect("a look");
        ended += held.queue.sweep().await.expect("a sweep").abandoned;
        assert_eq!(dropped().await, 0, "one has ended");
        tick(&held.queue).await;
        held.queue.renew(held.first).await.expect("a renewal");
    }
    assert_eq!(ended, 1);
}
