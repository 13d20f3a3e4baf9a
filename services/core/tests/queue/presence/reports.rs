//! Visitors who are answered without Redis: a process reports them, one by one or by their bits.

use std::time::Duration;

use anteroom_core::queue::{GoneReason, Leave, PlaceRef, Queue, Rules, Visit};
use anteroom_testkit::{PATIENCE, Redis, until};

use super::{BusyQueue, join_many, long_session};
use crate::line::{join, tick};

/// A process that answers polls by itself reports each visitor once a slot, one of them by the bit
/// alone, and with each sketch that visitors polled.
#[tokio::test]
async fn promise_05_visitors_who_are_answered_from_sketches_stay_for_an_hour() {
    let mut held = BusyQueue::new(long_session()).await;
    let places = join_many(&held.queue, 0..4).await;
    let (silent, polling) = places.split_last().expect("places");
    let mut reported = vec![None; polling.len()];
    let (mut polls, mut reports) = (0, 0);
    for round in 0..15 * 60 {
        held.pass(&[], Duration::from_secs(4)).await;
        let sketch = held.queue.sketch(round > 0, Duration::ZERO).await.expect("a sketch");
        // Each polls every 20 s.
        let (of, slot) = (round % 5, sketch.slot);
        let Some(place) = polling.get(of) else { continue };
        polls += 1;
        if of == 1 && reported[of].is_some() && reported[of] != slot {
            // This one it knows in line.
            let seen = held.queue.seen(1).await.expect("a reading").expect("a slot");
            let mut polled = seen.polled();
            assert!(polled.add(place.ticket));
            assert_eq!(held.queue.mark_seen(&polled).await, Ok(true));
            reported[of] = slot;
        } else if slot.is_none() || reported[of] != slot {
            reported[of] = held.queue.heartbeat(*place).await.expect("a heartbeat");
            assert!(reported[of].is_some(), "round {round}: {place:?} is in line");
            reports += 1;
        }
        let shown = sketch.place(place.ticket).expect("in line").position();
        assert_eq!(shown, of as u64 + 1, "round {round}");
    }
    assert!(reports * 7 <= polls, "a slot lasts 150 s: {reports} reports for {polls} polls");
    assert_eq!(held.depth_and_away().await.0, 3);
    // So long ago that the reason is forgotten: it never polled.
    assert_eq!(held.queue.place(*silent).await, Ok(Visit::Gone(GoneReason::Ended)));
    // They are admitted in order.
    for place in polling {
        held.queue.leave(held.first).await.expect("a leave");
        assert_eq!(tick(&held.queue).await, 1);
        held.queue.claim(*place).await.expect("its turn");
        held.first = *place;
    }
}

/// A new slot, in which only this place has been seen.
async fn new_slot(held: &BusyQueue, opens: PlaceRef) {
    let before = held.queue.heartbeat(opens).await.expect("a heartbeat");
    held.pass(&[opens], Duration::from_secs(152)).await;
    let after = held.queue.heartbeat(opens).await.expect("a heartbeat");
    assert!(after > before, "{before:?}, {after:?}");
}

/// Who of these is in line, by one heartbeat after the other.
async fn in_line(queue: &Queue, places: &[PlaceRef]) -> Vec<bool> {
    let mut found = Vec::new();
    for of in places {
        found.push(queue.heartbeat(*of).await.expect("a heartbeat").is_some());
    }
    found
}

#[tokio::test]
async fn a_heartbeat_finds_no_place_in_line_that_has_left_it() {
    let held = BusyQueue::new(long_session()).await;
    let (opens, _) = join(&held.queue, 100).await;
    let places = join_many(&held.queue, 0..32).await;
    in_line(&held.queue, &places).await;
    let end = async |leaving: &[PlaceRef], evicted: &[PlaceRef]| {
        for of in leaving {
            assert_eq!(held.queue.leave(*of).await, Ok(Leave::Left(GoneReason::Left)));
        }
        for of in evicted {
            held.queue.evict(of.ticket).await.expect("an eviction");
        }
    };
    // In the slot in which they were seen, and in the next one.
    end(&places[..8], &places[8..16]).await;
    new_slot(&held, opens).await;
    end(&places[16..24], &places[24..]).await;
    assert_eq!(in_line(&held.queue, &places).await, [false; 32]);
}

#[tokio::test]
async fn a_heartbeat_finds_no_place_in_line_that_was_promoted() {
    let mut held = BusyQueue::new(long_session()).await;
    let places = join_many(&held.queue, 0..9).await;
    in_line(&held.queue, &places).await;
    new_slot(&held, places[8]).await;
    for place in &places[..8] {
        held.queue.leave(held.first).await.expect("a leave");
        assert_eq!(tick(&held.queue).await, 1);
        assert_eq!(held.queue.heartbeat(*place).await, Ok(None));
        held.queue.claim(*place).await.expect("its turn");
        held.first = *place;
    }
}

#[tokio::test]
async fn a_heartbeat_finds_no_place_in_line_that_was_silent_in_a_check_in_period() {
    let held = BusyQueue::new(long_session()).await;
    let places = join_many(&held.queue, 0..9).await;
    let (polling, silent) = places.split_first().expect("places");
    in_line(&held.queue, &places).await;
    // No visitor polls, then one does.
    held.pass(&[], Duration::from_secs(64)).await;
    held.pass(&[*polling], Duration::from_secs(72)).await;
    assert_eq!(held.depth_and_away().await, (1, 8));
    assert_eq!(in_line(&held.queue, silent).await, [false; 8]);
}

#[tokio::test]
async fn visitors_are_marked_as_seen_in_one_of_five_slots() {
    let held = BusyQueue::new(long_session()).await;
    let places = join_many(&held.queue, 0..3).await;
    let (opens, marked) = (places[0], places[1]);
    in_line(&held.queue, &places).await;
    let read = async || held.queue.seen(1).await.expect("a reading").expect("a slot");
    let polled = async || {
        let seen = read().await;
        let mut polled = seen.polled();
        assert!(polled.add(marked.ticket));
        polled
    };
    new_slot(&held, opens).await;
    let of_five_before = polled().await;
    new_slot(&held, opens).await;
    let of_four_before = polled().await;
    for _ in 0..4 {
        new_slot(&held, opens).await;
    }
    assert!(!read().await.has(marked.ticket));
    assert_eq!(held.queue.mark_seen(&of_five_before).await, Ok(false));
    assert_eq!(held.queue.mark_seen(&of_four_before).await, Ok(true));
    assert!(!read().await.has(marked.ticket), "it is of a slot before");
    assert_eq!(held.queue.mark_seen(&polled().await).await, Ok(true));
    let seen = read().await;
    let has: Vec<_> = places.iter().map(|of| seen.has(of.ticket)).collect();
    assert_eq!(has, [true, true, false], "who opened the slot was seen before");
    // In another epoch the ticket is of another place.
    let of_before = polled().await;
    held.queue.reset().await.expect("a reset");
    let again = join_many(&held.queue, 0..3).await;
    in_line(&held.queue, &again[..2]).await;
    assert_eq!(held.queue.mark_seen(&of_before).await, Ok(false));
}

#[tokio::test]
async fn no_bit_is_set_beyond_four_times_max_waiting() {
    let rules = Rules { max_waiting: 100, ..long_session() };
    let held = BusyQueue::new(rules).await;
    let near = join_many(&held.queue, 0..1).await[0];
    in_line(&held.queue, &[near]).await;
    new_slot(&held, near).await;
    // Each of these leaves again, so that the line is short and the tickets are far behind it.
    for n in 1..500 {
        let (of, _) = join(&held.queue, n).await;
        held.queue.leave(of).await.expect("a leave");
    }
    let far = join_many(&held.queue, 500..501).await[0];
    in_line(&held.queue, &[far]).await;
    let seen = held.queue.seen(1).await.expect("a reading").expect("a slot");
    let mut polled = seen.polled();
    assert!(polled.add(near.ticket) && polled.add(near.ticket + 399));
    assert!(!polled.add(near.ticket + 400), "it has the slot in its record");
    assert!(!polled.add(far.ticket) && !polled.add(near.ticket - 1));
    assert_eq!(polled.count(), 2);
    assert_eq!(held.queue.mark_seen(&polled).await, Ok(true));
}

#[tokio::test]
async fn promise_05_a_replica_gets_the_bits_of_a_report_once() {
    let held = BusyQueue::new(long_session()).await;
    let near = join_many(&held.queue, 0..1).await[0];
    in_line(&held.queue, &[near]).await;
    let primary = &held.world.redis;
    let replica = Redis::builder().replica_of(primary).start().await;
    let keys = async |of: &Redis| -> Vec<(String, Option<Vec<u8>>)> {
        let mut keys = Vec::new();
        for name in ["seen:0", "seen:1", "seen:2", "seen:3", "seen:4", "polled:0", "polled:1"] {
            let key = format!("anteroom:v1:queue:{{q}}:{name}");
            let value = of.run(&["GET", &key]).await;
            keys.push((key, value));
        }
        keys
    };
    let follows = async || {
        let kept = keys(primary).await;
        until("the replica follows", PATIENCE, || async { keys(&replica).await == kept }).await;
        kept
    };
    let before = follows().await;
    let seen = held.queue.seen(1).await.expect("a reading").expect("a slot");
    let (mut polled, bytes) = (seen.polled(), 60_000);
    assert!(polled.add(near.ticket) && polled.add(near.ticket + 8 * bytes));
    let sent = async || -> u64 {
        let info: String = primary.run(&["INFO", "replication"]).await;
        let offset = info.lines().find_map(|line| line.strip_prefix("master_repl_offset:"));
        offset.and_then(|it| it.parse().ok()).expect("an offset")
    };
    let sent_before = sent().await;
    assert_eq!(held.queue.mark_seen(&polled).await, Ok(true));
    let length = sent().await - sent_before;
    assert!((bytes..bytes * 5 / 4).contains(&length), "{length} bytes to the replica");
    assert_ne!(follows().await, before);
}
