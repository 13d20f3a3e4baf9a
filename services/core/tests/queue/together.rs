//! Joins that share one call: each is decided in order, as if it had come alone.

use std::time::Duration;

use anteroom_core::Kind as _;
use anteroom_core::queue::{
    GoneReason, Override, Pace, PlaceId, Queue, Rules, State, Status, Visit,
};
use redis::Value;

use super::line::{capacity, join, join_each, look, rate, room, status, tick, visitor};
use super::support::TimedStore;

/// Joins these identities in one call; code and status of each.
async fn join_together(world: &TimedStore, queue: &Queue, ids: &[PlaceId]) -> Vec<(i64, i64)> {
    let script =
        Queue::scripts().iter().find(|script| script.name == "queue.join").expect("the join");
    let keys = script.keys_of(queue.name());
    let mut eval = redis::cmd("EVAL");
    eval.arg(script.source()).arg(keys.len());
    for key in keys.iter() {
        eval.arg(key);
    }
    // The time; no address counts, and no estimate is kept.
    eval.arg(world.now()).arg("").arg("").arg(0).arg("");
    for id in ids {
        eval.arg(id.0.as_slice());
    }
    let mut connection = world.redis.connection().await;
    let reply: Vec<Value> = eval.query_async(&mut connection).await.expect("a reply");
    let Value::BulkString(outcomes) = &reply[2] else { panic!("{reply:?} without outcomes") };
    let mut numbers = outcomes
        .chunks(8)
        .map(|double| f64::from_be_bytes(double.try_into().expect("eight bytes")) as i64);
    // Per item its ticket, then code + 8 × status + 128 × value, and of a waiting place its turn.
    let mut returned = Vec::new();
    while let Some(_ticket) = numbers.next() {
        let head = numbers.next().expect("an outcome");
        let (code, status) = (head & 7, head >> 3 & 15);
        if status == 1 {
            numbers.next();
        }
        returned.push((code, status));
    }
    returned
}

const SAME: i64 = 0;
const CREATED: i64 = 2;
const CLOSED: i64 = 6;

#[tokio::test]
async fn promise_04_five_tabs_in_one_call_are_one_place() {
    let (world, queue) = room(capacity(1)).await;
    let [one, two] = [visitor(&queue, 1), visitor(&queue, 2)];
    let returned = join_together(&world, &queue, &[one, one, two, one, two]).await;
    assert_eq!(returned, [(CREATED, 2), (SAME, 2), (CREATED, 1), (SAME, 2), (SAME, 1)]);
    assert_eq!(queue.snapshot().await.expect("a snapshot").last_ticket, 2);
}

#[tokio::test]
async fn promise_02_a_lapsed_turn_gives_its_share_back_once_for_all_tabs() {
    let rules = Rules {
        claim_ttl: Duration::from_secs(5),
        ..rate(3, Duration::from_secs(60), Pace::Batch)
    };
    let (world, queue) = room(rules).await;
    join_each(&queue, 0..6).await;
    tick(&queue).await;
    world.pass(Duration::from_secs(5));
    let closed = [Override::State(Some(State::Closed))];
    queue.override_rules(&closed, None).await.expect("an override");
    let tabs = [visitor(&queue, 0); 5];
    assert_eq!(join_together(&world, &queue, &tabs).await, [(CLOSED, 0); 5]);
    assert_eq!(tick(&queue).await, 1, "one lapsed, one share came back");
}

#[tokio::test]
async fn promise_03_who_returns_is_before_who_joins_in_the_same_call() {
    let (world, queue) = room(capacity(1)).await;
    let (active, _) = join(&queue, 0).await;
    queue.claim(active).await.expect("a claim");
    let (sleeper, _) = join(&queue, 1).await;
    look(&queue, sleeper).await;
    let (awake, _) = join(&queue, 2).await;
    for _ in 0..400 {
        world.pass(Duration::from_secs(2));
        queue.renew(active).await.expect("a renewal");
        look(&queue, awake).await;
        tick(&queue).await;
        queue.sweep().await.expect("a sweep");
    }
    assert_eq!(queue.snapshot().await.expect("a snapshot").away, 1);
    queue.leave(awake).await.expect("a leave");
    queue.leave(active).await.expect("a leave");
    let returned = join_together(&world, &queue, &[sleeper.id, visitor(&queue, 9)]).await;
    assert_eq!(returned, [(SAME, 1), (CREATED, 1)], "both wait, the sleeper in front");
    assert_eq!(tick(&queue).await, 1);
    assert_eq!(status(&queue, sleeper).await, Status::Ready);
}

#[tokio::test]
async fn a_lowered_session_max_ends_no_session_at_once() {
    let (world, queue) = room(capacity(1)).await;
    let (of, _) = join(&queue, 0).await;
    queue.claim(of).await.expect("a claim");
    for _ in 0..60 {
        world.pass(Duration::from_secs(4));
        tick(&queue).await;
        queue.renew(of).await.expect("a renewal");
    }
    let before = look(&queue, of).await.expires_in();
    let minute = [Override::SessionMax(Some(Duration::from_secs(60)))];
    queue.override_rules(&minute, None).await.expect("an override");
    let renewed = queue.renew(of).await;
    assert!(matches!(renewed, Ok(Visit::Here(place)) if place.expires_in() == before));
}

#[tokio::test]
async fn records_that_the_store_lost_poison_nothing() {
    let (world, queue) = room(capacity(3)).await;
    let places = join_each(&queue, 0..4).await;
    queue.claim(places[0]).await.expect("a claim");
    world.redis.run::<i64>(&["DEL", "anteroom:v1:queue:{q}:held"]).await;
    assert!(queue.inspect(places[0].ticket).await.is_ok());
    assert!(queue.evict(places[1].ticket).await.is_ok());
    for place in [places[0], places[2]] {
        assert!(matches!(queue.authorize(place, true).await, Ok(Visit::Gone(GoneReason::Lost))));
    }
    for _ in 0..100 {
        world.pass(Duration::from_secs(4));
        queue.place(places[3]).await.expect("an answer");
        queue.sweep().await.expect("a sweep");
        tick(&queue).await;
    }
    let snapshot = queue.snapshot().await.expect("a snapshot");
    assert_eq!((snapshot.active, snapshot.depth), (0, 0), "the slots are free again");
}

#[tokio::test]
async fn a_longer_interval_at_the_same_rate_goes_on_as_before() {
    let rules = Rules {
        first_poll_ttl: Duration::from_secs(600),
        ..rate(100, Duration::from_secs(10), Pace::Even)
    };
    let (world, queue) = room(rules).await;
    let mut next = 0;
    let mut second = async |promoted: &mut u64| {
        for _ in 0..20 {
            join(&queue, next).await;
            next += 1;
        }
        for _ in 0..5 {
            world.pass(Duration::from_millis(200));
            *promoted += tick(&queue).await;
        }
    };
    let mut before = 0;
    for _ in 0..300 {
        second(&mut before).await;
    }
    let overrides = [Override::Interval(Some(Duration::from_secs(60))), Override::Batch(Some(600))];
    queue.override_rules(&overrides, None).await.expect("an override");
    let mut after = 0;
    for _ in 0..20 {
        second(&mut after).await;
    }
    assert!(after >= 100, "{after} in twenty seconds at ten a second");
}
