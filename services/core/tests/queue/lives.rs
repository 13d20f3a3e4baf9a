//! A queue from its birth on: opening times, overrides, its last ticket, a reset, an emptied store.

use std::time::Duration;

use anteroom_core::queue::{GoneReason, Join, Override, Pace, Rules, State, Status, Visit};

use super::line::{capacity, join, join_each, rate, room, status, tick, visitor};
use super::support::{SECOND, START};

#[tokio::test]
async fn overrides_end_each_at_its_own_time() {
    let (world, queue) = room(capacity(5)).await;
    let at = |seconds| Some((START / SECOND) + seconds);
    queue.override_rules(&[Override::Capacity(Some(9))], at(60)).await.expect("an override");
    queue.override_rules(&[Override::MaxWaiting(Some(3))], at(120)).await.expect("an override");
    queue.override_rules(&[Override::State(Some(State::Bypass))], at(30)).await.expect("one");
    for (seconds, state, most, waiting) in [
        (0, State::Bypass, 9, 3),
        (30, State::Open, 9, 3),
        (60, State::Open, 5, 3),
        (120, State::Open, 5, 1_000_000),
    ] {
        world.set_now(START + seconds * SECOND);
        let snapshot = queue.snapshot().await.expect("a snapshot");
        assert_eq!(snapshot.state, state, "after {seconds} s");
        assert_eq!(snapshot.rules.capacity, Some(most), "after {seconds} s");
        assert_eq!(snapshot.rules.max_waiting, waiting, "after {seconds} s");
    }
    assert_eq!(queue.snapshot().await.expect("a snapshot").overridden, []);
}

#[tokio::test]
async fn opening_times_take_joins_then_promote_then_close() {
    let at = |seconds| Some((START / SECOND) + seconds);
    let rules = Rules { joins_at: at(10), opens_at: at(20), closes_at: at(30), ..capacity(1) };
    let (world, queue) = room(rules).await;
    let retry_in = Some(Duration::from_secs(10));
    assert_eq!(queue.join(visitor(&queue, 0)).await, Ok(Join::Closed { retry_in }));
    world.set_now(START + 10 * SECOND);
    let (first, place) = join(&queue, 0).await;
    assert_eq!(place.status(), Status::Waiting, "the room fills before it opens");
    assert_eq!(tick(&queue).await, 0);
    world.set_now(START + 20 * SECOND);
    assert_eq!(tick(&queue).await, 1);
    assert_eq!(status(&queue, first).await, Status::Ready);
    join(&queue, 1).await;
    world.set_now(START + 30 * SECOND);
    assert_eq!(queue.join(visitor(&queue, 2)).await, Ok(Join::Closed { retry_in: None }));
    assert_eq!(queue.snapshot().await.expect("a snapshot").state, State::Closed);
    queue.leave(first).await.expect("a leave");
    assert_eq!(tick(&queue).await, 1, "those in line are still served");
}

#[tokio::test]
async fn the_last_ticket_a_double_can_count_is_never_passed() {
    let (world, queue) = room(capacity(1)).await;
    let last = anteroom_core::queue::MAX_TICKET;
    let meta = "anteroom:v1:queue:{q}:meta";
    world.redis.run::<i64>(&["HSET", meta, "ticket", &(last - 1).to_string()]).await;
    let (of, _) = join(&queue, 0).await;
    assert_eq!(of.ticket, last);
    assert_eq!(queue.join(visitor(&queue, 1)).await, Ok(Join::Full));
    assert_eq!(status(&queue, of).await, Status::Ready);
}

#[tokio::test]
async fn reset_begins_a_new_life_and_keeps_rules_and_rate() {
    let (world, queue) = room(rate(3, Duration::from_secs(60), Pace::Batch)).await;
    queue.override_rules(&[Override::MaxWaiting(Some(4))], None).await.expect("an override");
    let (old, _) = join(&queue, 0).await;
    join_each(&queue, 1..6).await;
    queue.reset().await.expect("a reset");
    let snapshot = queue.snapshot().await.expect("a snapshot");
    assert_eq!((snapshot.depth, snapshot.ready, snapshot.last_ticket), (0, 0, 0));
    assert_eq!(snapshot.rules.max_waiting, 4);
    assert_eq!(queue.place(old).await, Ok(Visit::Gone(GoneReason::Lost)));
    let (new, place) = join(&queue, 0).await;
    assert_eq!((new.ticket, place.status()), (1, Status::Waiting), "the interval is used up");
    assert_eq!(tick(&queue).await, 0);
    let keys: Vec<String> = world.redis.run(&["KEYS", "*"]).await;
    assert!(keys.len() <= 6, "the old life is cleared away, 2 name calls: {keys:?}");
}

/// The estimate of every 64th ticket goes to Redis with the next join.
#[tokio::test]
async fn an_estimate_of_the_old_life_is_not_compared_in_the_new_one() {
    let (world, queue) = room(rate(1, Duration::from_secs(60), Pace::Even)).await;
    let marked = async || -> u64 {
        world.redis.run(&["ZCOUNT", "anteroom:v1:queue:{q}:marks", "64", "64"]).await
    };
    for (lives, kept) in [(1, 1), (2, 0)] {
        join_each(&queue, 0..64).await;
        if lives == 2 {
            queue.reset().await.expect("a reset");
        }
        join(&queue, 64).await;
        assert_eq!(marked().await, kept, "in life {lives}");
        queue.reset().await.expect("a reset");
    }
}

/// So that no promotion between two looks at a queue is missed.
#[tokio::test]
async fn a_reset_keeps_the_totals_and_a_loss_begins_others() {
    let (world, queue) = room(capacity(3)).await;
    let began = queue.snapshot().await.expect("a snapshot");
    assert_eq!(began.totals_of, Some(began.epoch));
    join_each(&queue, 0..2).await;
    queue.reset().await.expect("a reset");
    join_each(&queue, 0..1).await;
    let after = queue.snapshot().await.expect("a snapshot");
    assert_eq!((after.totals.at_once, after.totals_of), (3, began.totals_of));
    assert_ne!(after.epoch, began.epoch);
    world.empty().await;
    let lost = queue.snapshot().await.expect("a snapshot");
    assert_eq!((lost.totals.at_once, lost.totals_of), (0, Some(lost.epoch)));
}

/// A queue loses its places with its meta hash, or with its epoch alone: none of them counts in the
/// new epoch, whose tickets start at 1.
#[tokio::test]
async fn promise_04_a_queue_whose_meta_hash_is_lost_begins_empty() {
    let meta = "anteroom:v1:queue:{q}:meta";
    for loss in [&["DEL", meta][..], &["HDEL", meta, "epoch"]] {
        let (world, queue) = room(capacity(1)).await;
        queue.override_rules(&[Override::MaxWaiting(Some(4))], None).await.expect("an override");
        let old = join_each(&queue, 0..5).await;
        queue.snapshot().await.expect("it sees the override");
        world.redis.run::<i64>(loss).await;
        for of in &old {
            assert_eq!(queue.place(*of).await, Ok(Visit::Gone(GoneReason::Lost)), "{loss:?}");
        }
        let snapshot = queue.snapshot().await.expect("a snapshot");
        let returned = (snapshot.depth, snapshot.ready, snapshot.last_ticket);
        assert_eq!(returned, (0, 0, 0), "{loss:?}");
        assert_eq!(snapshot.rules.max_waiting, 4, "{loss:?}");
        // In other order: a ticket that was known of an identity would be returned again.
        for (n, ticket) in [(3, 1), (0, 2), (4, 3), (1, 4), (2, 5)] {
            let (of, place) = join(&queue, n).await;
            assert_eq!((of.ticket, place.position()), (ticket, ticket - 1), "{loss:?}");
            assert_eq!(queue.place(old[n as usize]).await, Ok(Visit::Gone(GoneReason::Lost)));
        }
        assert_eq!(tick(&queue).await, 0, "the first has the slot: {loss:?}");
    }
}

#[tokio::test]
async fn a_store_without_rules_is_given_them_by_the_first_call() {
    let (world, queue) = room(capacity(2)).await;
    let (of, _) = join(&queue, 0).await;
    let keys: Vec<String> = world.redis.run(&["KEYS", "*"]).await;
    for key in keys {
        world.redis.run::<i64>(&["DEL", &key]).await;
    }
    assert_eq!(queue.place(of).await, Ok(Visit::Gone(GoneReason::Lost)));
    assert_eq!(queue.snapshot().await.expect("a snapshot").rules.capacity, Some(2));
    assert_eq!(join(&queue, 0).await.0.ticket, 1);
}
