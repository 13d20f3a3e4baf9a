//! The promises one by one, where a random history would seldom come by.

use std::time::Duration;

use anteroom_core::queue::{
    GoneReason, Join, Leave, Override, Pace, PlaceRef, Queue, Rules, State, Status, Visit,
};
use anteroom_testkit::{Redis, docs};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use super::line::{capacity, join, join_each, look, rate, room, status, tick, visitor};
use super::support::{SECOND, START, TimedStore};

/// Lets time pass with a tick and the polls of these places every two seconds.
async fn poll(world: &TimedStore, queue: &Queue, places: &[PlaceRef], time: Duration) {
    for _ in 0..time.as_secs() / 2 {
        world.pass(Duration::from_secs(2));
        tick(queue).await;
        queue.sweep().await.expect("a sweep");
        for place in places {
            queue.place(*place).await.expect("a look");
        }
    }
}

fn paused() -> [Override; 1] {
    [Override::State(Some(State::Paused))]
}

#[tokio::test]
async fn promise_01_a_lowered_capacity_throws_nobody_out() {
    let (_world, queue) = room(capacity(3)).await;
    let places = join_each(&queue, 0..5).await;
    queue.override_rules(&[Override::Capacity(Some(1))], None).await.expect("an override");
    for place in &places[..3] {
        assert!(matches!(queue.claim(*place).await, Ok(Visit::Here(_))));
    }
    for place in &places[..2] {
        assert_eq!(tick(&queue).await, 0, "there is no room yet");
        assert_eq!(queue.leave(*place).await, Ok(Leave::Left(GoneReason::Completed)));
    }
    assert_eq!(tick(&queue).await, 0, "one is in, as many as may be");
    queue.leave(places[2]).await.expect("a leave");
    assert_eq!(tick(&queue).await, 1);
    assert_eq!(status(&queue, places[3]).await, Status::Ready);
}

#[tokio::test]
async fn promise_03_a_phone_that_slept_through_its_turn_is_next_when_it_wakes() {
    let (world, queue) = room(capacity(1)).await;
    let (first, _) = join(&queue, 0).await;
    queue.claim(first).await.expect("a claim");
    let (sleeper, _) = join(&queue, 1).await;
    look(&queue, sleeper).await;
    let awake = join_each(&queue, 2..5).await;
    let mut all = awake.clone();
    all.push(first);
    // The first renews, so none is promoted while the sleeper goes away.
    for _ in 0..15 {
        poll(&world, &queue, &all, Duration::from_secs(60)).await;
        queue.renew(first).await.expect("a renewal");
    }
    assert_eq!(queue.snapshot().await.expect("a snapshot").away, 1);
    assert_eq!(look(&queue, awake[0]).await.position(), 1, "no position counts who is away");
    queue.leave(first).await.expect("a leave");
    assert_eq!(tick(&queue).await, 1);
    assert_eq!(status(&queue, awake[0]).await, Status::Ready, "its turn went by");

    let place = look(&queue, sleeper).await;
    assert_eq!(
        (place.status(), place.position(), place.ticket),
        (Status::Waiting, 1, sleeper.ticket)
    );
    queue.leave(awake[0]).await.expect("a leave");
    assert_eq!(tick(&queue).await, 1);
    assert_eq!(status(&queue, sleeper).await, Status::Ready);
    assert_eq!(status(&queue, awake[1]).await, Status::Waiting);
}

/// One run of one visitor: up to five tabs join at once, some give up before the reply comes, and
/// each tab refreshes. Returns every place that a join returned.
async fn tabs(queue: Queue, n: u64) -> Vec<PlaceRef> {
    let mut random = StdRng::seed_from_u64(n);
    let mut tabs = tokio::task::JoinSet::new();
    for _ in 0..random.random_range(1..=5) {
        let queue = queue.clone();
        let lost = random.random_bool(0.3).then(|| random.random_range(0..2_000));
        let refreshes = random.random_range(0..3);
        tabs.spawn(async move {
            let mut returned = Vec::new();
            match lost {
                Some(micros) => {
                    let patience = Duration::from_micros(micros);
                    let _ = tokio::time::timeout(patience, join(&queue, n)).await;
                }
                None => returned.push(join(&queue, n).await.0),
            }
            for _ in 0..refreshes {
                returned.push(join(&queue, n).await.0);
            }
            returned
        });
    }
    tabs.join_all().await.concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_04_ten_thousand_runs_of_refresh_five_tabs_and_lost_reply_give_one_place() {
    const RUNS: u64 = 10_000;
    let (_world, queue) = room(capacity(50)).await;
    let mut places = std::collections::BTreeSet::new();
    for first in (0..RUNS).step_by(500) {
        let mut runs = tokio::task::JoinSet::new();
        for n in first..first + 500 {
            runs.spawn(tabs(queue.clone(), n));
        }
        for returned in runs.join_all().await {
            assert!(returned.windows(2).all(|pair| pair[0] == pair[1]), "two places: {returned:?}");
            places.extend(returned.first().map(|of| of.ticket));
        }
    }
    for n in 0..RUNS {
        // A visitor that lost every reply gets the place that was made for it, if its join arrived.
        places.insert(join(&queue, n).await.0.ticket);
    }
    let snapshot = queue.snapshot().await.expect("a snapshot");
    assert_eq!((places.len() as u64, snapshot.last_ticket), (RUNS, RUNS));
    assert_eq!(snapshot.depth + snapshot.ready, RUNS);
}

#[tokio::test]
async fn promise_04_the_same_place_also_when_full_or_closed_and_a_new_one_after_gone() {
    let (_world, queue) = room(Rules { max_waiting: 2, ..capacity(1) }).await;
    let (ready, _) = join(&queue, 0).await;
    let (waiting, _) = join(&queue, 1).await;
    join(&queue, 2).await;
    assert_eq!(queue.join(visitor(&queue, 3)).await, Ok(Join::Full));
    assert_eq!(join(&queue, 0).await.0, ready);
    assert_eq!(join(&queue, 1).await.0, waiting);
    let closed = [Override::State(Some(State::Closed))];
    queue.override_rules(&closed, None).await.expect("an override");
    assert_eq!(queue.join(visitor(&queue, 3)).await, Ok(Join::Closed { retry_in: None }));
    assert_eq!(join(&queue, 1).await.0, waiting);
    queue.leave(ready).await.expect("a leave");
    assert_eq!(tick(&queue).await, 1, "those in line are still served");
    queue.override_rules(&[Override::State(None)], None).await.expect("an override");
    let (again, _) = join(&queue, 0).await;
    assert_eq!((again.id, again.ticket), (ready.id, 4), "a new place at the end");
    assert_eq!(queue.place(ready).await, Ok(Visit::Gone(GoneReason::Left)));
}

#[tokio::test]
async fn promise_05_a_pause_longer_than_idle_ttl_abandons_nobody() {
    let (world, queue) = room(capacity(2)).await;
    queue.override_rules(&paused(), None).await.expect("an override");
    let places = join_each(&queue, 0..6).await;
    poll(&world, &queue, &places, Duration::from_secs(30 * 60)).await;
    let snapshot = queue.snapshot().await.expect("a snapshot");
    assert_eq!((snapshot.depth, snapshot.away), (6, 0));
    queue.override_rules(&[Override::State(None)], None).await.expect("an override");
    assert_eq!(tick(&queue).await, 2);
    assert_eq!(status(&queue, places[0]).await, Status::Ready);
}

#[tokio::test]
async fn promise_05_an_outage_of_store_or_admission_longer_than_idle_ttl_abandons_nobody() {
    let (world, queue) = room(capacity(1)).await;
    let places = join_each(&queue, 0..6).await;
    queue.claim(places[0]).await.expect("a claim");
    poll(&world, &queue, &places, Duration::from_secs(120)).await;
    let (late, _) = join(&queue, 6).await; // it has not polled yet
    // Admission is away for two hours: the scheduler ticks, no visitor polls.
    for _ in 0..2 * 60 {
        world.run(&queue, Duration::from_secs(4)).await;
        world.pass(Duration::from_secs(56));
    }
    let snapshot = queue.snapshot().await.expect("a snapshot");
    assert_eq!((snapshot.away, snapshot.depth), (0, 6), "none is gone, away or promoted unheard");
    assert_eq!(status(&queue, late).await, Status::Waiting);
    // The store is away for two hours: nothing happens at all.
    world.pass(Duration::from_secs(2 * 3600));
    for place in &places[2..] {
        assert_eq!(status(&queue, *place).await, Status::Waiting);
    }
    world.run(&queue, Duration::from_secs(2)).await;
    for place in &places[2..] {
        assert_eq!(status(&queue, *place).await, Status::Waiting);
    }
}

#[tokio::test]
async fn promise_05_a_lapsed_claim_gives_back_its_slot_and_its_share_of_the_rate() {
    let rules = Rules {
        capacity: Some(2),
        claim_ttl: Duration::from_secs(5),
        ..rate(2, Duration::from_secs(60), Pace::Batch)
    };
    let (world, queue) = room(rules).await;
    let places = join_each(&queue, 0..4).await;
    assert_eq!(tick(&queue).await, 0, "the batch and the capacity are used up");
    queue.claim(places[0]).await.expect("a claim");
    world.run(&queue, Duration::from_secs(6)).await;
    assert_eq!(queue.place(places[1]).await, Ok(Visit::Gone(GoneReason::Unclaimed)));
    assert_eq!(status(&queue, places[2]).await, Status::Ready, "one share came back");
    assert_eq!(status(&queue, places[3]).await, Status::Waiting, "and no more than one");
}

#[tokio::test]
async fn promise_05_never_polled_is_abandoned_and_says_so() {
    let (world, queue) = room(capacity(1)).await;
    let (active, _) = join(&queue, 0).await;
    queue.claim(active).await.expect("a claim");
    let (silent, _) = join(&queue, 1).await;
    let (polls, _) = join(&queue, 2).await;
    poll(&world, &queue, &[polls], Duration::from_secs(50)).await;
    assert_eq!(
        queue.inspect(silent.ticket).await.expect("a look").expect("given").joined_at,
        Some(START / SECOND)
    );
    poll(&world, &queue, &[polls], Duration::from_secs(30)).await;
    assert_eq!(queue.place(silent).await, Ok(Visit::Gone(GoneReason::Abandoned)));
}

#[tokio::test]
async fn promise_06_a_token_acts_only_on_the_place_of_its_id_and_ticket() {
    let mut world = TimedStore::new().await;
    let queue = world.queue("q", capacity(1)).await;
    // The store lost all joins of this epoch.
    let epoch = queue.snapshot().await.expect("a snapshot").epoch;
    let never = PlaceRef { epoch, id: visitor(&queue, 9), ticket: 3 };
    assert_eq!(queue.place(never).await, Ok(Visit::Gone(GoneReason::Lost)));
    assert_eq!(queue.leave(never).await, Ok(Leave::Already));
    join(&queue, 0).await;
    let (lost, _) = join(&queue, 1).await;
    // The store loses what it acknowledged, and gives the ticket to another.
    let keys: Vec<String> = world.redis.run(&["KEYS", "*"]).await;
    for key in keys.iter().filter(|key| key.ends_with(":waiting")) {
        world.redis.run::<i64>(&["DEL", key]).await;
    }
    let meta = keys.iter().find(|key| key.ends_with(":meta")).expect("a meta hash").clone();
    world.redis.run::<i64>(&["HSET", &meta, "ticket", "1"]).await;
    let (other, _) = join(&queue, 2).await;
    assert_eq!(other.ticket, lost.ticket);
    let gone = Ok(Visit::Gone(GoneReason::Lost));
    assert_eq!(queue.place(lost).await, gone);
    assert_eq!(queue.claim(lost).await, gone);
    assert_eq!(queue.authorize(lost, true).await, gone);
    assert_eq!(queue.renew(lost).await, gone);
    assert_eq!(queue.leave(lost).await, Ok(Leave::Already));
    assert_eq!(status(&queue, other).await, Status::Waiting, "the other one's place is untouched");
    // An emptied store has a new epoch; tickets begin again, old tokens act on nothing.
    world.redis.restart().await;
    assert!(world.store.wait_up(Duration::from_secs(10)).await);
    let (new, _) = join(&queue, 3).await;
    assert_eq!(new.ticket, 1);
    assert_ne!(new.epoch, other.epoch);
    assert_eq!(queue.place(other).await, gone);
    assert_eq!(queue.leave(PlaceRef { epoch: other.epoch, ..new }).await, Ok(Leave::Already));
    assert_eq!(status(&queue, new).await, Status::Ready);
}

#[tokio::test]
async fn promise_12_no_leap_of_the_clock_expires_anybody_at_once() {
    let (world, queue) = room(capacity(1)).await;
    let (active, _) = join(&queue, 0).await;
    queue.claim(active).await.expect("a claim");
    let (waiting, _) = join(&queue, 1).await;
    tick(&queue).await;
    let mut before = look(&queue, active).await.expires_in().expect("an end");
    for leap in [600i64, -600, -3600, 86_400, -86_400] {
        world.set_now(world.now().saturating_add_signed(leap * SECOND.cast_signed()));
        let left = look(&queue, active).await.expires_in().expect("an end");
        assert!(left <= before, "queue time went back at a leap of {leap} s");
        assert!(before - left <= Duration::from_secs(5), "a leap of {leap} s took {left:?}");
        tick(&queue).await;
        before = look(&queue, active).await.expires_in().expect("an end");
    }
    // From the tick on, time goes on as before: the session ends after what it had left.
    poll(&world, &queue, &[waiting], before + Duration::from_secs(2)).await;
    assert_eq!(queue.place(active).await, Ok(Visit::Gone(GoneReason::Expired)));
    assert_eq!(status(&queue, waiting).await, Status::Ready);
}

#[tokio::test]
async fn promise_11_overrides_and_eviction_again_change_nothing_more() {
    let (_world, queue) = room(capacity(5)).await;
    let (of, _) = join(&queue, 0).await;
    for _ in 0..2 {
        queue.override_rules(&[Override::Capacity(Some(7))], None).await.expect("an override");
        assert_eq!(queue.snapshot().await.expect("a snapshot").rules.capacity, Some(7));
    }
    assert_eq!(queue.apply_rules(&capacity(5)).await, Ok(false), "the file has not changed");
    assert_eq!(queue.snapshot().await.expect("a snapshot").rules.capacity, Some(7));
    assert_eq!(queue.evict(of.ticket).await.map(|it| it.is_some()), Ok(true));
    assert_eq!(queue.evict(of.ticket).await.map(|it| it.is_some()), Ok(false));
    assert_eq!(queue.place(of).await, Ok(Visit::Gone(GoneReason::Evicted)));
    assert_eq!(queue.evict(1 << 52).await.map(|it| it.is_some()), Ok(false), "never given");
}

#[tokio::test]
async fn tickets_go_on_beyond_2_to_the_40() {
    let (world, queue) = room(capacity(1)).await;
    let begin = (1u64 << 40) + 12_345;
    let meta = "anteroom:v1:queue:{q}:meta";
    world.redis.run::<i64>(&["HSET", meta, "ticket", &begin.to_string()]).await;
    let (first, _) = join(&queue, 0).await;
    assert_eq!(first.ticket, begin + 1);
    let places = join_each(&queue, 1..100).await;
    poll(&world, &queue, &places[..98], Duration::from_secs(5 * 60)).await;
    assert_eq!(
        queue.inspect(places[98].ticket).await.expect("a look").expect("given").joined_at,
        Some(START / SECOND)
    );
    let snapshot = queue.snapshot().await.expect("a snapshot");
    assert_eq!(snapshot.last_ticket, begin + 100);
    assert_eq!(queue.place(places[98]).await, Ok(Visit::Gone(GoneReason::Abandoned)));
    assert_eq!(queue.inspect(begin + 101).await, Ok(None));
    assert_eq!(queue.evict(places[5].ticket).await.map(|it| it.is_some()), Ok(true));
    // The bitmaps hold the distance from the head, not the ticket.
    let used: u64 = world.redis.run(&["STRLEN", "anteroom:v1:queue:{q}:seen:0"]).await;
    assert!(used < 64, "{used} bytes for a line of a hundred");
}

/// Every key is on the list of permanent keys, and none has a name of its own making.
#[tokio::test]
async fn promise_13_every_key_is_on_the_list() {
    let (world, queue) = room(capacity(1)).await;
    let places = join_each(&queue, 0..10).await;
    queue.claim(places[0]).await.expect("a claim");
    poll(&world, &queue, &places[..5], Duration::from_secs(20)).await;
    poll(&world, &queue, &places[..4], Duration::from_secs(60)).await;
    queue.override_rules(&paused(), None).await.expect("an override");
    let page = docs::read(docs::REDIS_KEYS).text;
    let keys: Vec<String> = world.redis.run(&["KEYS", "*"]).await;
    assert!(keys.len() >= 8, "the test touches most of them: {keys:?}");
    for key in keys {
        let name = key.strip_prefix("anteroom:v1:queue:{q}:").expect("a key of the queue");
        let name = match name.split_once(':') {
            Some(("seen", _)) => "seen:{0-4}",
            Some(("gone", _)) => "gone:{0-1}",
            _ if name.starts_with('o') && name.len() > 16 => "o<random>",
            _ => name,
        };
        assert!(page.contains(&format!("| `{name}` |")), "{name} is not in {}", docs::REDIS_KEYS);
    }
}

#[tokio::test]
async fn promise_06_the_store_holds_no_visitor_id() {
    let (world, queue) = room(capacity(1)).await;
    join_each(&queue, 0..5).await;
    let dump = everything(&world.redis).await;
    assert!(!dump.contains("visitor "), "a visitor_id is in the store");
}

/// Every value of the store as text.
async fn everything(redis: &Redis) -> String {
    let mut all = String::new();
    let keys: Vec<String> = redis.run(&["KEYS", "*"]).await;
    for key in keys {
        let kind: String = redis.run(&["TYPE", &key]).await;
        let values: Vec<Vec<u8>> = match kind.as_str() {
            "hash" => redis.run(&["HGETALL", &key]).await,
            "zset" => redis.run(&["ZRANGE", &key, "0", "-1"]).await,
            _ => vec![redis.run(&["GET", &key]).await],
        };
        all.push_str(&key);
        for value in values {
            all.push_str(&String::from_utf8_lossy(&value));
        }
    }
    all
}
