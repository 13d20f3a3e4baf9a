//! The queue's part: every operation called, and what its arguments repeat.

use std::time::Duration;

use anteroom_core::Kind as _;
use anteroom_core::breaker::{State, Totals};
use anteroom_core::queue::{
    Adaptive, BreakerReading, Health, Join, Override, PlaceId, PlaceName, PlaceRef, Queue, Rules,
};
use anteroom_core::store::Store;
use futures_util::future::join_all;

use super::{MANY, Subsystem};

pub const SUBSYSTEM: Subsystem = Subsystem {
    name: Queue::NAME,
    folder: Queue::FOLDER,
    repeated: &[
        ("(id)*", |ids| ids.iter().all(|id| is_id(id))),
        ("(rule, value)*", |pairs| pairs.len() % 2 == 0),
        ("(epoch, how, tickets, (id)*)*", are_runs),
        ("(first, bits)*", are_masks),
    ],
    call_everything: |store| Box::pin(call_everything(store)),
};

fn is_id(arg: &[u8]) -> bool {
    arg.len() == 14
}

/// Runs of an epoch, how, as many tickets as ids, and the ids.
fn are_runs(mut rest: &[Vec<u8>]) -> bool {
    while let [epoch, how, tickets, more @ ..] = rest {
        let ids = tickets.len() / 8;
        let is_run = epoch.len() == 8
            && ["0", "1", "2"].iter().any(|known| how == known.as_bytes())
            && ids > 0
            && tickets.len() % 8 == 0
            && more.len() >= ids
            && more[..ids].iter().all(|id| is_id(id));
        if !is_run {
            return false;
        }
        rest = &more[ids..];
    }
    rest.is_empty()
}

/// What BITFIELD sets.
fn are_masks(args: &[Vec<u8>]) -> bool {
    let is_mask = |mask: &[Vec<u8>]| {
        let first = std::str::from_utf8(&mask[0]).ok().and_then(|first| first.parse::<u64>().ok());
        first.is_some_and(|first| first.is_multiple_of(4)) && mask[1].len().is_multiple_of(4)
    };
    args.len().is_multiple_of(2) && args.chunks(2).all(is_mask)
}

/// The identity of the n-th visitor.
fn visitor(n: u64) -> PlaceId {
    PlaceId::of_visitor("q", &format!("visitor {n}"))
}

async fn join(queue: &Queue, n: u64) -> PlaceRef {
    match queue.join(visitor(n)).await.expect("a join") {
        Join::Created(of, _) | Join::Same(of, _) => of,
        other => panic!("no place: {other:?}"),
    }
}

fn reading() -> BreakerReading {
    BreakerReading {
        state: State::Closed,
        version: 1_800_000_000_000_000,
        probes: 5,
        open_for: Duration::from_secs(10),
        totals: Totals::default(),
    }
}

fn adaptive() -> Adaptive {
    let (success_target, p95_target) = (950_000, Some(Duration::from_millis(500)));
    Adaptive { min_batch: 1, max_batch: 9, success_target, p95_target, min_samples: 20 }
}

async fn call_everything(store: &Store) {
    let capacity = |most| Rules { capacity: Some(most), ..Rules::default() };
    // The first join finds no rules, and seeds them.
    let queue = Queue::open(store, "q", capacity(1), 1_000);
    join(&queue, 0).await;
    queue.apply_rules(&capacity(2)).await.expect("the rules are written");
    let first = join(&queue, 1).await;
    join_all((0..MANY).map(|n| queue.join(visitor(n)))).await;
    join_all((0..MANY).map(|_| queue.place(first))).await;
    join_all((0..MANY).map(|_| queue.heartbeat(first))).await;
    queue.sketch(true, Duration::ZERO).await.expect("a sketch");
    let departures = queue.departures(None).await.expect("a reading");
    queue.departures(Some(departures.upto)).await.expect("a reading");
    let seen = queue.seen(0).await.expect("a reading").expect("a slot");
    let mut polled = seen.polled();
    for ticket in 2..MANY {
        assert!(polled.add(ticket));
    }
    queue.mark_seen(&polled).await.expect("polled");
    join_all((0..MANY).map(|_| queue.claim(first))).await;
    join_all((0..MANY).map(|_| queue.authorize(first, true))).await;
    let (plain, renewing) = (queue.authorize(first, false), queue.authorize(first, true));
    let all = tokio::join!(plain, renewing, queue.authorize_joined(first));
    all.0.and(all.1).and(all.2).expect("a pass");
    join_all((0..MANY).map(|_| queue.renew(first))).await;
    join_all((0..MANY).map(|_| queue.leave(first))).await;
    for reading in [None, Some(reading())] {
        let health = Health { reading, adaptive: Some(adaptive()) };
        queue.promote(&health).await.expect("a tick");
    }
    queue.promote(&Health::default()).await.expect("a tick");
    queue.sweep().await.expect("a sweep");
    let overrides = [Override::Capacity(Some(3)), Override::Reason(None)];
    let queue = queue.by("ops");
    queue.override_rules(&overrides, Some(2_000_000_000)).await.expect("an override");
    queue.snapshot().await.expect("a snapshot");
    queue.revocations(None).await.expect("a reading");
    queue.revocations(Some(7)).await.expect("a reading");
    queue.inspect(1).await.expect("a look");
    for name in [PlaceName::Handle(first), PlaceName::Holder(first.id)] {
        queue.find(name).await.expect("a look");
    }
    queue.places(None, 0, 10).await.expect("a look");
    queue.evict(2).await.expect("an eviction");
    queue.reset().await.expect("a reset");
    queue.changes(None, 1).await.expect("a look");
    queue.changes(Some(7), 1).await.expect("a look");
    Queue::purge(store, "q").await.expect("a purge");
}
