//! A store that has no memory left: what frees some goes on, what needs some is refused by itself.

use std::time::Duration;

use anteroom_core::queue::{GoneReason, Join, Leave, Override, Queue, Rules, State, Status, Visit};
use anteroom_core::store::Error;
use futures_util::future::join_all;

use super::line::{capacity, join, join_each, look, room, status, tick, visitor};
use super::support::{SECOND, TimedStore};

/// A queue with one ready, one active and three waiting, on a store that is full now.
async fn full() -> (TimedStore, Queue, Vec<anteroom_core::queue::PlaceRef>) {
    let (world, queue) = room(capacity(2)).await;
    let places = join_each(&queue, 0..5).await;
    queue.claim(places[1]).await.expect("a claim");
    for of in &places[2..] {
        look(&queue, *of).await;
    }
    world.fill(true).await;
    (world, queue, places)
}

#[tokio::test]
async fn a_join_that_needs_memory_is_refused_and_those_beside_it_are_answered() {
    let (world, queue, places) = full().await;
    let ids = [0, 100, 1, 2, 101].map(|n| visitor(&queue, n));
    let joins = join_all(ids.map(|id| queue.join(id))).await;
    for (at, join) in joins.iter().enumerate() {
        match at {
            1 | 4 => assert!(matches!(join, Err(Error::Full)), "join {at}: {join:?}"),
            _ => assert!(matches!(join, Ok(Join::Same(..))), "join {at}: {join:?}"),
        }
    }
    assert_eq!(queue.snapshot().await.expect("a snapshot").last_ticket, 5);
    assert_eq!(look(&queue, places[2]).await.position(), 1);
    world.fill(false).await;
    assert_eq!(join(&queue, 100).await.0.ticket, 6);
}

/// The end of an override is written before anything else, however full the store.
#[tokio::test]
async fn a_join_that_an_override_s_end_meets_is_refused_too() {
    let (world, queue, _) = full().await;
    let soon = Some(world.now() / SECOND + 1);
    queue.override_rules(&[Override::Capacity(Some(1))], soon).await.expect("an override");
    world.pass(Duration::from_secs(2));
    let join = queue.join(visitor(&queue, 100)).await;
    assert!(matches!(join, Err(Error::Full)), "{join:?}");
    assert_eq!(queue.snapshot().await.expect("a snapshot").last_ticket, 5);
}

#[tokio::test]
async fn an_override_that_changes_nothing_is_answered_too() {
    let (_world, queue, _) = full().await;
    for capacity in [3, 3] {
        let overrides = [Override::Capacity(Some(capacity))];
        queue.override_rules(&overrides, None).await.expect("an override");
    }
}

#[tokio::test]
async fn the_line_moves_on_until_the_room_is_empty() {
    let (world, queue, places) = full().await;
    assert!(matches!(queue.claim(places[0]).await, Ok(Visit::Here(_))));
    assert!(matches!(queue.renew(places[1]).await, Ok(Visit::Here(_))));
    assert!(matches!(queue.authorize(places[0], true).await, Ok(Visit::Here(_))));
    assert_eq!(queue.leave(places[0]).await, Ok(Leave::Left(GoneReason::Completed)));
    assert_eq!(tick(&queue).await, 1);
    assert_eq!(status(&queue, places[2]).await, Status::Ready);
    queue.override_rules(&[Override::State(Some(State::Paused))], None).await.expect("a pause");
    queue.override_rules(&[Override::State(None)], None).await.expect("taken back");
    assert_eq!(queue.evict(places[3].ticket).await.map(|it| it.is_some()), Ok(true));
    for _ in 0..60 {
        world.pass(Duration::from_secs(4));
        tick(&queue).await;
        queue.sweep().await.expect("a sweep");
        queue.place(places[4]).await.expect("a look");
        queue.claim(places[4]).await.expect("a claim");
    }
    assert_eq!(queue.place(places[2]).await, Ok(Visit::Gone(GoneReason::Unclaimed)));
    assert_eq!(status(&queue, places[4]).await, Status::Active);
    assert_eq!(queue.leave(places[4]).await, Ok(Leave::Left(GoneReason::Completed)));
    let snapshot = queue.snapshot().await.expect("a snapshot");
    assert_eq!((snapshot.depth, snapshot.ready), (0, 0));
    queue.reset().await.expect("a reset");
}

/// A session that lowered rules cut is noted for the gates that answer by themselves, also when
/// that needs memory.
#[tokio::test]
async fn renewals_that_cut_sessions_go_on() {
    let (world, queue) = room(Rules { local_answers: true, ..capacity(3) }).await;
    // At the birth of a queue slots are withheld for a moment.
    world.pass(Duration::from_millis(200));
    tick(&queue).await;
    let mut places = Vec::new();
    for n in 0..3 {
        let (of, _) = join(&queue, n).await;
        queue.claim(of).await.expect("a claim");
        places.push(of);
    }
    let shorter = [Override::SessionTtl(Some(Duration::from_secs(60)))];
    queue.override_rules(&shorter, None).await.expect("an override");
    world.fill(true).await;
    for renewed in join_all(places.iter().map(|of| queue.renew(*of))).await {
        let Ok(Visit::Here(place)) = renewed else { panic!("{renewed:?}") };
        assert_eq!(place.expires_in(), Some(Duration::from_secs(60)));
    }
}
