//! After a time in which no visitor polled: the check-in period.

use std::time::Duration;

use anteroom_core::queue::{Rules, Status};

use super::{BusyQueue, POLL, join_many, long_session, poll_all};
use crate::line::{capacity, join, look, room, status, tick};
use crate::support::{SECOND, START};

/// Thousands close their tabs, and no visitor polls for a night. One that comes then waits for the
/// roll-call and no longer.
#[tokio::test]
async fn promise_05_those_who_left_unheard_do_not_stand_in_the_way() {
    for outage in [Duration::from_secs(8 * 3600), Duration::from_secs(61)] {
        let (world, queue) = room(capacity(10)).await;
        let ghosts = join_many(&queue, 0..5_000).await;
        poll_all(&queue, &ghosts).await;
        world.run(&queue, Duration::from_secs(10)).await;
        poll_all(&queue, &ghosts[10..]).await;
        // No visitor polls; the scheduler ticks on.
        while world.now() < START + 10 * SECOND + outage.as_micros() as u64 {
            tick(&queue).await;
            queue.sweep().await.expect("a sweep");
            world.pass(outage.min(Duration::from_secs(60)));
        }
        let (late, place) = join(&queue, 10_000).await;
        assert_eq!(place.status(), Status::Waiting, "after {outage:?}");
        let first_poll_ttl = 60 * SECOND;
        let from = world.now();
        while status(&queue, late).await == Status::Waiting {
            assert!(world.now() <= from + first_poll_ttl + 10 * SECOND, "it waits too long");
            world.run(&queue, POLL).await;
        }
        let snapshot = queue.snapshot().await.expect("a snapshot");
        assert_eq!(snapshot.depth, 0);
        assert!(snapshot.away >= 4_990, "they keep their tickets: {}", snapshot.away);
        // One of them wakes up, and is next.
        let place = look(&queue, ghosts[100]).await;
        assert_eq!((place.status(), place.position()), (Status::Waiting, 1));
        tick(&queue).await;
        assert_eq!(status(&queue, ghosts[100]).await, Status::Ready);
    }
}

/// While the roll-call goes on positions count who was not heard, and the wait is at least what is
/// left of it.
#[tokio::test]
async fn a_roll_call_is_part_of_the_expected_wait() {
    let held = BusyQueue::new(long_session()).await;
    let ghosts = join_many(&held.queue, 0..20).await;
    poll_all(&held.queue, &ghosts).await;
    held.world.pass(Duration::from_secs(3600));
    let (late, place) = join(&held.queue, 100).await;
    assert_eq!(place.position(), 21);
    held.world.run(&held.queue, Duration::from_secs(20)).await;
    let place = look(&held.queue, late).await;
    assert_eq!(place.position(), 21, "they may still be there");
    assert!(place.eta().0.is_none_or(|eta| eta >= Duration::from_secs(40)), "{place:?}");
    for _ in 0..4 {
        held.world.run(&held.queue, Duration::from_secs(15)).await;
        held.queue.renew(held.first).await.expect("a renewal");
        look(&held.queue, late).await;
    }
    assert_eq!(look(&held.queue, late).await.position(), 1);
}

/// Admission or the store was away, and all are still there: none is skipped, and each
/// is let in as soon as it is heard.
#[tokio::test]
async fn promise_03_after_an_outage_the_first_turn_comes_as_soon_as_the_head_is_heard() {
    let (world, queue) = room(capacity(2)).await;
    let places = join_many(&queue, 0..6).await;
    poll_all(&queue, &places).await;
    for of in &places[..2] {
        queue.claim(*of).await.expect("a claim");
        queue.leave(*of).await.expect("a leave");
    }
    world.pass(Duration::from_secs(20 * 60));
    assert_eq!(tick(&queue).await, 0, "no visitor has polled");
    // The second in line is heard first, then the head.
    look(&queue, places[3]).await;
    world.run(&queue, Duration::from_secs(5)).await;
    assert_eq!(status(&queue, places[3]).await, Status::Waiting, "it does not pass the head");
    look(&queue, places[2]).await;
    assert_eq!(tick(&queue).await, 2);
    for of in &places[2..4] {
        assert_eq!(status(&queue, *of).await, Status::Ready);
        queue.leave(*of).await.expect("a leave");
    }
    assert_eq!(tick(&queue).await, 0, "the next has not been heard yet");
    look(&queue, places[4]).await;
    assert_eq!(tick(&queue).await, 1);
    look(&queue, places[5]).await;
    assert_eq!(tick(&queue).await, 1);
}

/// The check-in period pauses while no visitor polls for longer than 20 s: half of an outage is no
/// answer.
#[tokio::test]
async fn promise_05_a_roll_call_does_not_end_in_a_second_outage() {
    let held = BusyQueue::new(long_session()).await;
    let places = join_many(&held.queue, 0..6).await;
    poll_all(&held.queue, &places).await;
    held.world.pass(Duration::from_secs(3600));
    look(&held.queue, places[5]).await;
    for _ in 0..14 {
        held.world.run(&held.queue, Duration::from_secs(4)).await;
    }
    look(&held.queue, places[5]).await;
    for _ in 0..3 {
        held.world.run(&held.queue, Duration::from_secs(4)).await;
        look(&held.queue, places[5]).await;
    }
    held.world.run(&held.queue, Duration::from_secs(2)).await;
    assert_eq!(held.depth_and_away().await, (6, 0), "36 s of the roll-call have passed");
}

/// One who looks less often than every `first_poll_ttl` asks for the roll again each time, and is
/// let in all the same.
#[tokio::test]
async fn promise_05_who_polls_rarely_does_not_wait_behind_those_who_left_for_ever() {
    for (first_poll_ttl, every) in [(60, 61), (30, 31), (30, 60)] {
        let first_poll_ttl = Duration::from_secs(first_poll_ttl);
        let (world, queue) = room(Rules { first_poll_ttl, ..capacity(1) }).await;
        let ghosts = join_many(&queue, 0..6).await;
        poll_all(&queue, &ghosts).await;
        world.pass(Duration::from_secs(3600));
        let (late, _) = join(&queue, 100).await;
        let mut waited = 0;
        while look(&queue, late).await.status() == Status::Waiting {
            assert!(waited < 300, "{first_poll_ttl:?}, looking every {every} s: still waiting");
            world.run(&queue, Duration::from_secs(every)).await;
            waited += every;
        }
    }
}
