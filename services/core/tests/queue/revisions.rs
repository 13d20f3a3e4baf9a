//! Which rules are in force when the store has lost some: the newest file and the newest overrides
//! that any service has seen, in whatever order the services come by.

use std::time::Duration;

use anteroom_core::queue::{Override, Queue, Rules, Snapshot, State};
use anteroom_core::store::Error;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand::{Rng as _, SeedableRng as _};

use super::line::{capacity, join, room, tick};
use super::support::{SECOND, START, TimedStore};

const OLD: u64 = 5;
const NEW: u64 = 7;

fn paused() -> [Override; 1] {
    [Override::State(Some(State::Paused))]
}

async fn pause(queue: &Queue) {
    queue.override_rules(&paused(), None).await.expect("an override");
}

/// The capacity in force, and the state.
async fn seen(queue: &Queue) -> (Option<u64>, State) {
    let snapshot = queue.snapshot().await.expect("a snapshot");
    (snapshot.rules.capacity, snapshot.state)
}

/// An operator gets its answer within the time of a request. What Redis gets later must not take
/// effect, because the operator may have looked and acted since.
#[tokio::test]
async fn promise_11_a_change_counts_for_the_time_of_a_request() {
    let world = TimedStore::new().await;
    let queue = world.queue("q", capacity(OLD)).await;
    let found = queue.snapshot().await.expect("a snapshot");
    // Another operator was faster. Without a revision the change is for any rules.
    queue.override_rules(&[Override::MaxWaiting(Some(9))], None).await.expect("an override");
    let change = [Override::Capacity(Some(NEW))];
    world.pass(Duration::from_millis(900));
    queue.override_rules_after(&found, &change, None).await.expect("in time");
    assert_eq!(seen(&queue).await.0, Some(NEW));
    world.pass(Duration::from_secs(60));
    let back = [Override::Capacity(None)];
    let late = queue.override_rules_after(&found, &back, None).await;
    assert!(matches!(late, Err(Error::Unknown(_))), "{late:?}");
    assert_eq!(seen(&queue).await.0, Some(NEW));
}

/// The key of a call is there also if the clock of Redis leaps ahead while the call counts.
#[tokio::test]
async fn promise_12_a_call_is_known_for_longer_than_it_counts() {
    let world = TimedStore::new().await;
    let queue = world.queue("q", capacity(OLD)).await;
    let known = async || world.redis.ttls().await.into_iter().filter(|ttl| *ttl > 0).collect();
    queue.override_rules(&[Override::Capacity(Some(NEW))], None).await.expect("an override");
    let after_override: Vec<i64> = known().await;
    queue.reset().await.expect("a reset");
    let after_both: Vec<i64> = known().await;
    assert_eq!((after_override.len(), after_both.len()), (1, 2));
    // A request lasts at most a minute.
    let of_both = [after_override, after_both].concat();
    assert!(of_both.iter().all(|ttl| *ttl > 110_000), "{of_both:?}");
}

/// A change for one revision takes effect once, and not after a change by the file or an override,
/// nor in a store that was emptied and got newer rules back.
#[tokio::test]
async fn a_change_is_for_the_rules_that_were_read() {
    let world = TimedStore::new().await;
    let queue = world.queue("q", capacity(OLD)).await;
    let revision = async || queue.snapshot().await.expect("a snapshot").revision;
    let change = async |revision, capacity| {
        let found = Snapshot { revision, ..queue.snapshot().await.expect("a snapshot") };
        let overrides = [Override::Capacity(Some(capacity))];
        let made = queue.override_rules_of(&found, &overrides, None).await.expect("an answer");
        if let Some(made) = made {
            assert_eq!(made, queue.snapshot().await.expect("a snapshot").revision);
        }
        made.is_some()
    };
    let first = revision().await;
    assert_eq!(first, revision().await);
    assert!(change(first, 2).await);
    assert!(!change(first, 3).await, "the rules are others now");
    let second = revision().await;
    assert!(change(second, 2).await);
    assert_eq!(revision().await, second, "the same again changes nothing");
    queue.override_rules(&[Override::Batch(None)], None).await.expect("an override");
    assert_eq!(revision().await, second, "there was none to take back");
    assert_eq!(seen(&queue).await.0, Some(2));
    queue.apply_rules(&Rules { max_waiting: 9, ..capacity(OLD) }).await.expect("a file");
    assert!(!change(second, 4).await, "the file has changed");
    let third = revision().await;
    pause(&queue).await;
    assert!(!change(third, 5).await, "another override has changed");
    // The end of an override changes the rules in force, too.
    let soon = START / SECOND + 10;
    queue.override_rules(&[Override::MaxWaiting(Some(7))], Some(soon)).await.expect("an override");
    let before_its_end = revision().await;
    world.pass(Duration::from_secs(20));
    assert_ne!(revision().await, before_its_end);
    assert!(!change(before_its_end, 5).await, "an override has ended");
    assert_eq!(seen(&queue).await, (Some(2), State::Paused));
    // What this process has seen goes back into an emptied store, with its revisions.
    let fourth = revision().await;
    world.empty().await;
    assert!(!change(third, 6).await);
    assert!(change(fourth, 6).await);
    assert_eq!(seen(&queue).await, (Some(6), State::Paused));
}

/// What a service does with an emptied store before any has settled what it holds.
#[derive(Clone, Copy, Debug)]
enum Turn {
    /// A visitor joins at an admission with the old file, …
    Join,
    /// … at one that has just started with it.
    JoinRestarted,
    /// The admission looks at the queue.
    Look,
    /// The scheduler promotes, and looks at the queue.
    Promote,
    SchedulerLooks,
}

/// Every order of these.
fn orders(of: &[Turn]) -> Vec<Vec<Turn>> {
    let mut orders = vec![Vec::new()];
    for (at, turn) in of.iter().enumerate() {
        let inserted = |order: Vec<Turn>| {
            (0..=at).map(move |place| {
                let mut order = order.clone();
                order.insert(place, *turn);
                order
            })
        };
        orders = orders.into_iter().flat_map(inserted).collect();
    }
    orders
}

#[tokio::test]
async fn who_comes_first_to_an_emptied_store_the_newest_rules_are_in_force_in_the_end() {
    use Turn::{Join, JoinRestarted, Look, Promote, SchedulerLooks};
    let world = TimedStore::new().await;
    for order in orders(&[Join, JoinRestarted, Look, Promote, SchedulerLooks]) {
        world.begin_again().await;
        let scheduler = world.queue("q", capacity(NEW)).await;
        let admission = world.open("q", capacity(OLD));
        pause(&admission).await;
        seen(&scheduler).await;
        world.pass(Duration::from_secs(1));
        world.empty().await;
        let fresh = world.open("q", capacity(OLD));
        for turn in &order {
            match turn {
                Join => {
                    join(&admission, 1).await;
                }
                JoinRestarted => {
                    join(&fresh, 2).await;
                }
                Look => drop(seen(&admission).await),
                Promote => drop(tick(&scheduler).await),
                SchedulerLooks => drop(seen(&scheduler).await),
            }
        }
        for queue in [&scheduler, &admission, &fresh] {
            assert_eq!(seen(queue).await, (Some(NEW), State::Paused), "{order:?}");
        }
        join(&fresh, 3).await;
        assert_eq!(tick(&scheduler).await, 0, "{order:?}: paused");
    }
}

#[tokio::test]
async fn a_file_that_seeded_a_store_loses_against_any_schedulers_file() {
    let world = TimedStore::new().await;
    let admission = world.open("q", capacity(OLD));
    join(&admission, 1).await;
    assert_eq!(seen(&admission).await.0, Some(OLD));
    // A scheduler that has run for long, and one that starts.
    let scheduler = world.queue("q", capacity(NEW)).await;
    for _ in 0..2 {
        assert_eq!(seen(&scheduler).await.0, Some(NEW));
        world.empty().await;
        let fresh = world.open("q", capacity(OLD));
        join(&fresh, 1).await;
        assert_eq!(seen(&fresh).await.0, Some(OLD));
    }
    // Its file is the one that seeded the store: nothing to write, and yet it is a scheduler's now.
    let same = world.queue("q", capacity(OLD)).await;
    world.empty().await;
    join(&world.open("q", capacity(3)), 1).await;
    assert_eq!(seen(&same).await.0, Some(OLD));
}

#[tokio::test]
async fn two_versions_of_a_file_do_not_alternate() {
    let (world, old) = room(capacity(OLD)).await;
    let new = world.queue("q", capacity(NEW)).await;
    for round in 0..6 {
        if round == 3 {
            world.empty().await;
        }
        for queue in [&old, &new] {
            tick(queue).await;
            assert_eq!(seen(queue).await.0, Some(NEW), "round {round}");
        }
        world.pass(Duration::from_secs(1));
    }
}

#[tokio::test]
async fn an_older_replica_gets_back_what_it_lacks() {
    let (world, scheduler) = room(capacity(OLD)).await;
    let admission = world.open("q", capacity(OLD));
    admission.override_rules(&[Override::Capacity(Some(2))], None).await.expect("an override");
    world.keep("q").await;
    world.pass(Duration::from_secs(1));
    pause(&admission).await;
    let taken_back = [Override::Capacity(None)];
    admission.override_rules(&taken_back, None).await.expect("an override");
    scheduler.apply_rules(&capacity(NEW)).await.expect("written");
    seen(&scheduler).await;
    world.lose("q").await;
    assert_eq!(seen(&scheduler).await, (Some(NEW), State::Paused), "all of it by one look");
    assert_eq!(seen(&world.open("q", capacity(1))).await, (Some(NEW), State::Paused));
}

#[tokio::test]
async fn a_change_of_an_emptied_or_older_store_comes_after_what_is_remembered() {
    let (world, scheduler) = room(capacity(NEW)).await;
    let admission = world.open("q", capacity(OLD));
    world.keep("q").await;
    world.pass(Duration::from_secs(1));
    pause(&admission).await;
    seen(&scheduler).await;
    for older in [false, true] {
        if older {
            world.lose("q").await;
        } else {
            world.empty().await;
        }
        if !older {
            // A scheduler with an older file was here first.
            join(&world.open("q", capacity(OLD)), 1).await;
        }
        let batch = [Override::Batch(Some(9))];
        admission.override_rules(&batch, None).await.expect("an override");
        let snapshot = admission.snapshot().await.expect("a snapshot");
        assert_eq!((snapshot.state, snapshot.rules.batch), (State::Paused, Some(9)));
        assert_eq!(seen(&scheduler).await, (Some(NEW), State::Paused));
    }
    // A file's change, too.
    world.empty().await;
    scheduler.apply_rules(&capacity(8)).await.expect("written");
    assert_eq!(seen(&scheduler).await, (Some(8), State::Paused));
}

#[tokio::test]
async fn a_scheduler_that_starts_on_an_emptied_store_undoes_no_override() {
    let (world, before) = room(capacity(OLD)).await;
    let admission = world.open("q", capacity(OLD));
    pause(&admission).await;
    drop(before);
    world.pass(Duration::from_secs(1));
    world.empty().await;
    let scheduler = world.queue("q", capacity(NEW)).await;
    assert_eq!(seen(&scheduler).await, (Some(NEW), State::Open), "it cannot know");
    assert_eq!(seen(&admission).await, (Some(NEW), State::Paused));
    assert_eq!(seen(&scheduler).await, (Some(NEW), State::Paused));
}

#[tokio::test]
async fn what_is_written_on_a_clock_that_leapt_back_is_newer_all_the_same() {
    let (world, scheduler) = room(capacity(OLD)).await;
    let admission = world.open("q", capacity(OLD));
    pause(&admission).await;
    world.set_now(START - 3_600_000_000);
    let open = [Override::State(Some(State::Open))];
    admission.override_rules(&open, None).await.expect("an override");
    scheduler.apply_rules(&capacity(NEW)).await.expect("written");
    for queue in [&scheduler, &admission, &scheduler] {
        assert_eq!(seen(queue).await, (Some(NEW), State::Open));
    }
}

/// One of several services that come and go.
struct Holder {
    queue: Queue,
    /// Whether it writes its file.
    is_scheduler: bool,
}

/// Services look, roll and restart in any order while the store loses this and that: in the end the
/// last file that a scheduler wrote and the last override are in force, and stay.
#[tokio::test]
async fn in_any_order_the_last_file_and_the_last_override_win() {
    let world = TimedStore::new().await;
    for seed in 0..100 {
        let mut random = StdRng::seed_from_u64(seed);
        world.begin_again().await;
        let file = |batch| Rules { batch: Some(batch), ..capacity(50) };
        let (mut batch, mut over) = (1, None);
        let mut services = Vec::new();
        for at in 0..4 {
            let is_scheduler = at < 2;
            let queue = if is_scheduler {
                batch += 1;
                world.queue("q", file(batch)).await
            } else {
                world.open("q", file(1))
            };
            services.push(Holder { queue, is_scheduler });
        }
        // The last writer knows what it wrote; it is not restarted.
        let (mut wrote_file, mut wrote_over) = (1, None);
        let mut done = Vec::new();
        for _ in 0..random.random_range(5..40) {
            world.pass(Duration::from_millis(random.random_range(1..2000)));
            let at = *[0, 1, 2, 3].choose(&mut random).expect("four");
            let service = &mut services[at];
            let what = random.random_range(0..9);
            done.push((what, at));
            match what {
                0 => {
                    join(&service.queue, random.random_range(0..5)).await;
                }
                1 => drop(tick(&service.queue).await),
                2 => drop(seen(&service.queue).await),
                3 if service.is_scheduler => {
                    batch += 1;
                    wrote_file = at;
                    service.queue.apply_rules(&file(batch)).await.expect("written");
                }
                3 | 4 => {
                    let value = batch + 100 + random.random_range(0..1000);
                    let capacity = [Override::Capacity(Some(value))];
                    service.queue.override_rules(&capacity, None).await.expect("an override");
                    (over, wrote_over) = (Some(value), Some(at));
                }
                5 if wrote_over != Some(at) && wrote_file != at => {
                    if service.is_scheduler {
                        batch += 1;
                        service.queue = world.queue("q", file(batch)).await;
                        wrote_file = at;
                    } else {
                        service.queue = world.open("q", file(1));
                    }
                }
                6 => world.keep("q").await,
                7 => world.lose("q").await,
                8 => world.empty().await,
                _ => {}
            }
        }
        services.shuffle(&mut random);
        for service in &services {
            seen(&service.queue).await;
        }
        for round in 0..3 {
            for service in &services {
                let rules = service.queue.snapshot().await.expect("a snapshot").rules;
                let returned = (rules.batch, rules.capacity);
                let last = (Some(batch), over.or(Some(50)));
                assert_eq!(returned, last, "seed {seed}, round {round}: {done:?}");
            }
        }
    }
}
