//! Who is present: far behind the head, and after a time in which no visitor polled.

use std::time::Duration;

use anteroom_core::queue::{
    Departed, GoneReason, Join, Leave, PlaceRef, Queue, Rules, Status, Visit,
};
use futures_util::future::join_all;

use super::line::{capacity, join, look, room, status, tick, visitor};
use super::support::{SECOND, START, TimedStore};

const POLL: Duration = Duration::from_secs(20);

async fn join_many(queue: &Queue, numbers: std::ops::Range<u64>) -> Vec<PlaceRef> {
    join_all(numbers.map(|n| async move { join(queue, n).await.0 })).await
}

async fn poll_all(queue: &Queue, places: &[PlaceRef]) {
    join_all(places.iter().map(|of| queue.place(*of))).await;
}

/// A queue with a session that holds its one slot, renewed as time passes.
struct BusyQueue {
    world: TimedStore,
    queue: Queue,
    first: PlaceRef,
}

impl BusyQueue {
    async fn new(rules: Rules) -> Self {
        let (world, queue) = room(rules).await;
        let (first, _) = join(&queue, 1_000_000).await;
        queue.claim(first).await.expect("a claim");
        Self { world, queue, first }
    }

    /// Time passes with ticks, sweeps and polls of these places.
    async fn pass(&self, places: &[PlaceRef], time: Duration) {
        for _ in 0..time.as_secs() / 4 {
            self.world.run(&self.queue, Duration::from_secs(4)).await;
            poll_all(&self.queue, places).await;
            self.queue.renew(self.first).await.expect("a renewal");
        }
    }

    async fn depth_and_away(&self) -> (u64, u64) {
        let snapshot = self.queue.snapshot().await.expect("a snapshot");
        (snapshot.depth, snapshot.away)
    }
}

fn long_session() -> Rules {
    Rules { session_max: Duration::from_secs(7 * 86_400), ..capacity(1) }
}

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
            assert!(polled.add(&seen, place.ticket));
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

#[tokio::test]
async fn visitors_are_marked_as_seen_in_the_present_slot_or_the_one_before() {
    let held = BusyQueue::new(long_session()).await;
    let places = join_many(&held.queue, 0..3).await;
    let (opens, marked) = (places[0], places[1]);
    in_line(&held.queue, &places).await;
    let read = async || held.queue.seen(1).await.expect("a reading").expect("a slot");
    let polled = async || {
        let seen = read().await;
        let mut polled = seen.polled();
        assert!(polled.add(&seen, marked.ticket));
        polled
    };
    new_slot(&held, opens).await;
    let of_two_before = polled().await;
    new_slot(&held, opens).await;
    let of_the_one_before = polled().await;
    new_slot(&held, opens).await;
    assert!(!read().await.has(marked.ticket));
    assert_eq!(held.queue.mark_seen(&of_two_before).await, Ok(false));
    assert_eq!(held.queue.mark_seen(&of_the_one_before).await, Ok(true));
    assert!(!read().await.has(marked.ticket), "it is of the slot before");
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
    assert!(polled.add(&seen, near.ticket) && polled.add(&seen, near.ticket + 399));
    assert!(!polled.add(&seen, near.ticket + 400), "it has the slot in its record");
    assert!(!polled.add(&seen, far.ticket) && !polled.add(&seen, near.ticket - 1));
    assert_eq!(polled.len(), 2);
    assert_eq!(held.queue.mark_seen(&polled).await, Ok(true));
}

#[tokio::test]
async fn what_a_queue_of_before_has_left_behind_is_no_departure() {
    let held = BusyQueue::new(long_session()).await;
    let place = join_many(&held.queue, 0..1).await[0];
    let begin = held.queue.departures(None).await.expect("a reading").upto;
    let left_behind = ["ZADD", "anteroom:v1:queue:{q}:departures", "7", "99"];
    held.world.redis.run::<u64>(&left_behind).await;
    held.queue.leave(place).await.expect("a leave");
    let read = held.queue.departures(Some(begin)).await.expect("a reading");
    assert_eq!(read.tickets, Some(vec![place.ticket]));
}

#[tokio::test]
async fn all_are_named_who_have_left_the_line() {
    let held = BusyQueue::new(long_session()).await;
    let places = join_many(&held.queue, 0..1_500).await;
    let read = async |since| held.queue.departures(since).await.expect("a reading");
    let begin = read(None).await;
    assert_eq!((begin.upto.count, begin.tickets), (0, None));
    assert!(begin.upto.server.is_some());
    held.queue.leave(places[3]).await.expect("a leave");
    held.queue.evict(places[7].ticket).await.expect("an eviction");
    let [left, evicted] = [places[3].ticket, places[7].ticket];
    let two = read(Some(begin.upto)).await;
    assert_eq!((two.upto.count, two.tickets), (2, Some(vec![left, evicted])));
    let one = Departed { count: 1, ..begin.upto };
    assert_eq!(read(Some(one)).await.tickets, Some(vec![evicted]));
    assert_eq!(read(Some(two.upto)).await.tickets, Some(vec![]));
    // Redis does not keep them for ever.
    let keys = "anteroom:v1:queue:{q}:departures";
    let forget = ["ZREMRANGEBYRANK", keys, "0", "0"];
    held.world.redis.run::<u64>(&forget).await;
    assert_eq!(read(Some(begin.upto)).await.tickets, None, "the first one is forgotten");
    assert_eq!(read(Some(one)).await.tickets, Some(vec![evicted]));
    // More than fit in one call.
    for of in &places[100..1_300] {
        held.queue.leave(*of).await.expect("a leave");
    }
    let all = read(Some(two.upto)).await;
    assert_eq!(read(Some(begin.upto)).await.tickets, None, "more than one call reads");
    let tickets: Vec<_> = places[100..1_300].iter().map(|of| of.ticket).collect();
    assert_eq!((all.upto.count, all.tickets), (1_202, Some(tickets)));
    // An end that is no departure from the line.
    held.queue.leave(held.first).await.expect("a leave");
    assert_eq!(read(Some(all.upto)).await.tickets, Some(vec![]));
    // Of a server with other data.
    for other in [
        Departed { count: all.upto.count + 1, ..all.upto },
        Departed { server: Some(1), ..all.upto },
        Departed { server: None, ..all.upto },
    ] {
        assert_eq!(read(Some(other)).await.tickets, None, "{other:?}");
    }
    held.queue.reset().await.expect("a reset");
    assert_eq!(read(Some(all.upto)).await.tickets, None, "tickets of another epoch");
}
