//! A queue on a Redis of its own, with a clock that the test moves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anteroom_core::queue::{
    Join, Pace, Place, PlaceId, PlaceRef, Promotion, Queue, Rules, SCRIPTS, Standing, Status,
    Visit, Wait,
};
use anteroom_core::store::{Clock, Config, Store};
use anteroom_testkit::Redis;

/// The time at which every test begins, in microseconds since 1970.
pub const START: u64 = 1_800_000_000_000_000;
pub const SECOND: u64 = 1_000_000;

pub struct World {
    pub redis: Redis,
    pub store: Store,
    clock: Arc<AtomicU64>,
}

impl World {
    pub async fn new() -> Self {
        let redis = Redis::start().await;
        let store = open(&redis).await;
        Self { redis, store, clock: Arc::new(AtomicU64::new(START)) }
    }

    /// A queue of this name that goes by the world's clock; its rules are in force.
    pub async fn queue(&self, name: &str, rules: Rules) -> Queue {
        let queue = self.open(name, rules.clone());
        queue.apply_rules(&rules).await.expect("the rules are written");
        queue
    }

    /// The same as an admission holds it: these rules are for a store that holds none.
    pub fn open(&self, name: &str, rules: Rules) -> Queue {
        let clock = Clock::Given(self.clock.clone());
        Queue::open_with_clock(&self.store, name, rules, 10_000, clock)
    }

    /// It is the beginning again: nothing was ever written.
    pub async fn begin_again(&self) {
        self.set_now(START);
        self.delete("anteroom:v1:").await;
        self.delete("kept:").await;
    }

    /// The store loses everything.
    pub async fn empty(&self) {
        self.delete("anteroom:v1:").await;
    }

    async fn delete(&self, prefix: &str) {
        let script = "for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '*')) do \
            redis.call('DEL', key) end";
        self.redis.run::<()>(&["EVAL", script, "0", prefix]).await;
    }

    /// What a queue's keys hold now is what [`lose`](Self::lose) goes back to.
    pub async fn keep(&self, queue: &str) {
        self.copy(&format!("anteroom:v1:queue:{{{queue}}}:"), "kept:").await;
    }

    /// The queue's keys hold again what they held when they were kept.
    pub async fn lose(&self, queue: &str) {
        self.copy("kept:", &format!("anteroom:v1:queue:{{{queue}}}:")).await;
    }

    async fn copy(&self, from: &str, to: &str) {
        let script = "for _, key in ipairs(redis.call('KEYS', ARGV[2] .. '*')) do \
            redis.call('DEL', key) end \
            for _, key in ipairs(redis.call('KEYS', ARGV[1] .. '*')) do \
            redis.call('COPY', key, ARGV[2] .. key:sub(#ARGV[1] + 1)) end";
        self.redis.run::<()>(&["EVAL", script, "0", from, to]).await;
    }

    pub fn now(&self) -> u64 {
        self.clock.load(Ordering::SeqCst)
    }

    pub fn set_now(&self, micros: u64) {
        self.clock.store(micros, Ordering::SeqCst);
    }

    /// Lets the store's clock go on, without a tick.
    pub fn pass(&self, time: Duration) {
        self.clock
            .fetch_add(u64::try_from(time.as_micros()).expect("a short time"), Ordering::SeqCst);
    }

    /// Lets time pass as under a running scheduler, with a tick and a sweep each second.
    pub async fn run(&self, queue: &Queue, time: Duration) -> u64 {
        let mut promoted = 0;
        let end = self.now() + u64::try_from(time.as_micros()).expect("a short time");
        while self.now() < end {
            self.set_now(end.min(self.now() + SECOND));
            queue.sweep().await.expect("a sweep");
            promoted += tick(queue).await;
        }
        promoted
    }
}

async fn open(redis: &Redis) -> Store {
    // Slow machines must not turn a history into one of time-outs.
    let patient = Duration::from_secs(10);
    let config = Config {
        command_timeout: patient,
        request_timeout: patient,
        ..Config::new(redis.socket_url())
    };
    let store = Store::open(&config, &SCRIPTS, &prometheus::Registry::new()).expect("an address");
    assert!(store.wait_up(Duration::from_secs(10)).await, "the store is up");
    store
}

/// Rules with a capacity only.
pub fn capacity(capacity: u64) -> Rules {
    Rules { capacity: Some(capacity), batch: None, ..rules() }
}

/// Rules with a rate only.
pub fn rate(batch: u64, interval: Duration, pace: Pace) -> Rules {
    Rules { capacity: None, batch: Some(batch), interval, pace, ..rules() }
}

fn rules() -> Rules {
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    Rules {
        capacity: None,
        batch: None,
        interval: Duration::from_secs(10),
        pace: Pace::Even,
        claim_ttl: minutes(1),
        session_ttl: minutes(5),
        session_max: minutes(30),
        idle_ttl: minutes(10),
        keep_ttl: minutes(30),
        first_poll_ttl: minutes(1),
        max_waiting: 1_000_000,
        joins_at: None,
        opens_at: None,
        closes_at: None,
        local_answers: false,
    }
}

/// The identity of the n-th visitor.
pub fn visitor(queue: &Queue, n: u64) -> PlaceId {
    PlaceId::of_visitor(queue.name(), &format!("visitor {n}"))
}

/// Joins and expects a place.
pub async fn join(queue: &Queue, n: u64) -> (PlaceRef, Place) {
    match queue.join(visitor(queue, n)).await.expect("a join") {
        Join::Created(of, place) | Join::Same(of, place) => (of, place),
        other => panic!("no place: {other:?}"),
    }
}

/// Looks and expects the place to be there.
pub async fn look(queue: &Queue, of: PlaceRef) -> Place {
    match queue.place(of).await.expect("a look") {
        Visit::Here(place) => place,
        other => panic!("no place: {other:?}"),
    }
}

pub async fn status(queue: &Queue, of: PlaceRef) -> Status {
    look(queue, of).await.status()
}

/// How many are promoted before a place whose wait nobody knows.
pub fn before(place: &Place) -> Option<u64> {
    match place.standing {
        Standing::Waiting { wait: Wait::Unknown { before }, .. } => Some(before),
        _ => None,
    }
}

/// One tick to its end; how many it promoted.
pub async fn tick(queue: &Queue) -> u64 {
    let mut promoted = 0;
    loop {
        let promotion: Promotion = queue.promote().await.expect("a tick");
        promoted += promotion.promoted;
        if !promotion.more {
            return promoted;
        }
    }
}
