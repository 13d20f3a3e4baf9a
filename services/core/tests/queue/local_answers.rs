//! What the store does so that admission may answer for active places by itself: a place that ends
//! before the time is named, and the slot is withheld for a moment.

use std::time::Duration;

use anteroom_core::queue::{Override, PlaceRef, Queue, Revocations, Rules, Status, Visit};

use super::line::{capacity, join, look, room, status, tick};
use super::overrides::known_before;
use super::support::TimedStore;

const WITHHELD: Duration = Duration::from_millis(150);

fn local(most: u64) -> Rules {
    Rules { local_answers: true, ..capacity(most) }
}

/// A queue some time after its birth, which withholds too, and a tick just now.
async fn begun(rules: Rules) -> (TimedStore, Queue) {
    let (world, queue) = room(rules).await;
    world.pass(WITHHELD);
    assert_eq!(tick(&queue).await, 0);
    (world, queue)
}

/// So many active places.
async fn active(queue: &Queue, count: u64) -> Vec<PlaceRef> {
    let mut places = Vec::new();
    for n in 0..count {
        let (of, place) = join(queue, n).await;
        assert_eq!(place.status(), Status::Ready);
        queue.claim(of).await.expect("a claim");
        places.push(of);
    }
    places
}

async fn read(queue: &Queue, since: Option<u64>) -> Revocations {
    queue.revocations(since).await.expect("a reading")
}

/// No place is promoted until exactly the time that a freed slot is withheld has passed.
async fn is_given_away_later(world: &TimedStore, queue: &Queue, next: PlaceRef) {
    let freed = world.now();
    for micros in [0, 100_000, 149_999] {
        world.set_now(freed + micros);
        assert_eq!(tick(queue).await, 0, "it is withheld");
    }
    world.set_now(freed + 150_000);
    assert_eq!(tick(queue).await, 1);
    assert_eq!(status(queue, next).await, Status::Ready);
}

#[tokio::test]
async fn promise_01_a_slot_freed_by_a_leave_is_given_away_150_ms_later() {
    let (world, queue) = begun(local(1)).await;
    let places = active(&queue, 1).await;
    let (next, _) = join(&queue, 1).await;
    queue.leave(places[0]).await.expect("a leave");
    is_given_away_later(&world, &queue, next).await;
}

#[tokio::test]
async fn promise_01_a_slot_freed_by_an_eviction_is_given_away_150_ms_later() {
    let (world, queue) = begun(local(1)).await;
    let places = active(&queue, 1).await;
    let (next, _) = join(&queue, 1).await;
    assert_eq!(queue.evict(places[0].ticket).await.map(|it| it.is_some()), Ok(true));
    is_given_away_later(&world, &queue, next).await;
}

#[tokio::test]
async fn promise_01_the_slots_of_a_reset_queue_are_given_away_150_ms_later() {
    let (world, queue) = begun(local(1)).await;
    active(&queue, 1).await;
    queue.reset().await.expect("a reset");
    let (next, place) = join(&queue, 1).await;
    assert_eq!(place.status(), Status::Waiting, "no join is promoted at once either");
    is_given_away_later(&world, &queue, next).await;
}

#[tokio::test]
async fn promise_01_who_answered_by_the_rule_is_waited_for_when_it_is_taken_back() {
    let (world, queue) = begun(local(1)).await;
    let places = active(&queue, 1).await;
    let (next, _) = join(&queue, 1).await;
    let off = [Override::LocalAnswers(Some(false))];
    queue.override_rules(&off, None).await.expect("an override");
    queue.leave(places[0]).await.expect("a leave");
    is_given_away_later(&world, &queue, next).await;
    let place = look(&queue, next).await;
    assert_eq!(place.status(), Status::Ready);
    queue.claim(next).await.expect("a claim");
    let (last, _) = join(&queue, 2).await;
    queue.leave(next).await.expect("a leave");
    assert_eq!(tick(&queue).await, 1, "without the rule the slot is free at once");
    assert_eq!(status(&queue, last).await, Status::Ready);
}

/// No visitor passes with a turn or a place in line without the store, so these need not be waited
/// for.
#[tokio::test]
async fn a_turn_that_is_given_up_and_a_session_that_ends_by_itself_free_the_slot_at_once() {
    let session = Duration::from_secs(5);
    let (world, queue) =
        begun(Rules { session_ttl: session, session_max: session, ..local(1) }).await;
    let (first, _) = join(&queue, 0).await;
    let (second, _) = join(&queue, 1).await;
    let (third, _) = join(&queue, 2).await;
    queue.leave(first).await.expect("a leave");
    assert_eq!(tick(&queue).await, 1);
    queue.claim(second).await.expect("a claim");
    for _ in 0..50 {
        assert_eq!(tick(&queue).await, 0);
        world.pass(Duration::from_millis(100));
    }
    assert_eq!(tick(&queue).await, 1);
    assert_eq!(status(&queue, third).await, Status::Ready);
    assert_eq!(read(&queue, Some(0)).await.version, read(&queue, None).await.version);
}

#[tokio::test]
async fn promise_01_a_leap_of_the_clock_gives_no_slot_away_at_once() {
    let session = Duration::from_secs(5);
    let rules = Rules { session_ttl: session, session_max: session, ..local(2) };
    let (world, queue) = begun(rules).await;
    let places = active(&queue, 2).await;
    let (next, _) = join(&queue, 2).await;
    queue.leave(places[0]).await.expect("a leave");
    world.pass(Duration::from_secs(600));
    assert_eq!(queue.place(places[1]).await.map(|visit| matches!(visit, Visit::Gone(_))), Ok(true));
    // Between the leap and the tick a join finds room, by the clock.
    queue.leave(next).await.expect("a leave");
    let (next, place) = join(&queue, 3).await;
    assert_eq!(place.status(), Status::Waiting);
    is_given_away_later(&world, &queue, next).await;
}

#[tokio::test]
async fn a_scheduler_that_is_always_late_still_promotes() {
    let (world, queue) = begun(local(1)).await;
    let late = Duration::from_millis(400);
    world.pass(late);
    let (of, place) = join(&queue, 0).await;
    assert_eq!(place.status(), Status::Waiting, "the clock may have leapt");
    assert_eq!(tick(&queue).await, 0, "it still may");
    world.pass(late);
    assert_eq!(tick(&queue).await, 1, "twice in a row is a late scheduler");
    assert_eq!(status(&queue, of).await, Status::Ready);
}

#[tokio::test]
async fn a_scheduler_that_is_late_every_other_time_still_promotes() {
    let (world, queue) = begun(local(1)).await;
    let (late, in_time) = (Duration::from_millis(300), Duration::from_millis(100));
    world.pass(late);
    let (of, _) = join(&queue, 0).await;
    assert_eq!(tick(&queue).await, 0, "the clock may have leapt");
    world.pass(in_time);
    assert_eq!(tick(&queue).await, 0, "slots are withheld for longer than that");
    world.pass(late);
    assert_eq!(tick(&queue).await, 1, "this one does not begin again");
    assert_eq!(status(&queue, of).await, Status::Ready);
}

#[tokio::test]
async fn a_reading_names_only_places_that_ended_before_the_time() {
    let (_world, queue) = begun(local(5)).await;
    let places = active(&queue, 4).await;
    let (ready, _) = join(&queue, 4).await;
    let (waiting, _) = join(&queue, 5).await;
    let start = read(&queue, None).await;
    assert_eq!((start.local_answers, start.whole, &start.ended), (true, false, &vec![]));
    let (left, right) = tokio::join!(queue.leave(places[0]), queue.leave(places[1]));
    assert!(left.is_ok() && right.is_ok());
    queue.evict(places[2].ticket).await.expect("an eviction");
    for other in [ready, waiting] {
        queue.leave(other).await.expect("a leave");
    }
    let mut first = read(&queue, Some(start.version)).await;
    first.ended.sort_unstable();
    let mut ended: Vec<_> = places[..3].iter().map(|of| (of.id, of.ticket)).collect();
    ended.sort_unstable();
    assert_eq!((first.whole, first.ended), (true, ended));
    queue.leave(places[3]).await.expect("a leave");
    let second = read(&queue, Some(first.version)).await;
    assert_eq!((second.whole, second.ended), (true, vec![(places[3].id, places[3].ticket)]));
    let third = read(&queue, Some(second.version)).await;
    assert_eq!((third.whole, third.version, third.ended), (true, second.version, vec![]));
}

#[tokio::test]
async fn a_session_that_lowered_rules_cut_is_named_too() {
    let (_world, queue) = begun(local(1)).await;
    let places = active(&queue, 1).await;
    let before = read(&queue, None).await.version;
    queue.renew(places[0]).await.expect("a renewal");
    assert_eq!(read(&queue, Some(before)).await.ended, [], "it lives as long as before");
    let short = [Override::SessionTtl(Some(Duration::from_secs(5)))];
    queue.override_rules(&short, None).await.expect("an override");
    queue.renew(places[0]).await.expect("a renewal");
    assert_eq!(read(&queue, Some(before)).await.ended, [(places[0].id, places[0].ticket)]);
}

#[tokio::test]
async fn a_reading_says_when_it_does_not_name_all() {
    let (world, queue) = begun(local(5)).await;
    let places = active(&queue, 5).await;
    let start = read(&queue, None).await.version;
    let whole = async |since| read(&queue, Some(since)).await.whole;

    queue.leave(places[0]).await.expect("a leave");
    let read_first = read(&queue, Some(start)).await.version;
    world.pass(Duration::from_secs(2));
    queue.leave(places[1]).await.expect("a leave");
    assert!(!whole(start).await, "the next entry made the first be forgotten");
    assert!(whole(read_first).await);
    world.pass(Duration::from_secs(2));
    queue.sweep().await.expect("a sweep");
    assert!(!whole(read_first).await, "the sweep forgets too");

    // The rule was off for a moment, and the leave in it is nowhere.
    let now = read(&queue, None).await.version;
    for on in [false, true] {
        let switch = [Override::LocalAnswers(Some(on))];
        queue.override_rules(&switch, None).await.expect("an override");
        if !on {
            assert!(!read(&queue, Some(now)).await.local_answers);
            queue.leave(places[2]).await.expect("a leave");
        }
    }
    assert!(!whole(now).await);
    let now = read(&queue, None).await;
    assert!(now.local_answers && whole(now.version).await);
}

#[tokio::test]
async fn a_reading_of_very_many_is_refused_and_the_list_stays_bounded() {
    const MANY: u64 = 1_500;
    let (world, queue) = begun(local(MANY)).await;
    let places = active(&queue, MANY).await;
    let start = read(&queue, None).await.version;
    for place in &places[..1_000] {
        queue.leave(*place).await.expect("a leave");
    }
    let thousand = read(&queue, Some(start)).await;
    assert_eq!((thousand.whole, thousand.ended.len()), (true, 1_000));
    queue.leave(places[1_000]).await.expect("a leave");
    let more = read(&queue, Some(start)).await;
    assert_eq!((more.whole, more.ended.len()), (false, 0));
    world.pass(Duration::from_secs(3));
    for place in &places[1_001..1_100] {
        queue.leave(*place).await.expect("a leave");
    }
    let size: u64 = world.redis.run(&["ZCARD", "anteroom:v1:queue:{q}:revoked"]).await;
    assert_eq!(size, 99, "each ending forgets more than it adds");
    queue.reset().await.expect("a reset");
    let size: u64 = world.redis.run(&["ZCARD", "anteroom:v1:queue:{q}:revoked"]).await;
    assert_eq!(size, 0);
}

/// An older version knows nothing of the rule and writes the rules in force without it.
#[tokio::test]
async fn rules_of_a_version_that_does_not_know_it_mean_off() {
    let (world, queue) = begun(capacity(1)).await;
    known_before(&world, &["state", "reason", "capacity", "session_ttl", "max_waiting"]).await;
    assert!(!queue.snapshot().await.expect("a snapshot").rules.local_answers);
    assert!(!read(&queue, None).await.local_answers);
    let places = active(&queue, 1).await;
    queue.leave(places[0]).await.expect("a leave");
    let (_, place) = join(&queue, 1).await;
    assert_eq!(place.status(), Status::Ready);
    let capacity = [Override::Capacity(Some(2))];
    queue.override_rules(&capacity, None).await.expect("an override");
    assert!(!queue.snapshot().await.expect("a snapshot").rules.local_answers);
}
