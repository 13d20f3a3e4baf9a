//! A queue on a store whose clock the test moves, and those who come to it.

use std::time::Duration;

use anteroom_core::queue::{
    Health, Join, JoinedFrom, Pace, Place, PlaceId, PlaceRef, Promotion, Queue, Rules, Standing,
    Status, TokenKeys, Visit, Wait,
};

use crate::support::{SECOND, TimedStore, micros};

/// What the copies begin with that a loss goes back to.
const KEPT: &str = "kept:";

impl TimedStore {
    /// A queue of this name that goes by the test's clock; its rules are in force.
    pub async fn queue(&self, name: &str, rules: Rules) -> Queue {
        let queue = self.open(name, rules.clone());
        queue.apply_rules(&rules).await.expect("the rules are written");
        queue
    }

    /// The same as an admission holds it: these rules are for a store that holds none.
    pub fn open(&self, name: &str, rules: Rules) -> Queue {
        Queue::open_with_clock(&self.store, name, rules, 10_000, self.clock())
    }

    /// What a queue's keys hold now is what [`lose`](Self::lose) goes back to.
    pub async fn keep(&self, queue: &str) {
        self.redis.copy_keys(&keys(queue), KEPT).await;
    }

    /// The queue's keys hold again what they held when they were kept.
    pub async fn lose(&self, queue: &str) {
        self.redis.copy_keys(KEPT, &keys(queue)).await;
    }

    /// Lets time pass as under a running scheduler, with a tick and a sweep each second.
    pub async fn run(&self, queue: &Queue, time: Duration) -> u64 {
        let mut promoted = 0;
        let end = self.now() + micros(time);
        while self.now() < end {
            self.set_now(end.min(self.now() + SECOND));
            queue.sweep().await.expect("a sweep");
            promoted += tick(queue).await;
        }
        promoted
    }
}

/// A store of its own, and a queue on it by these rules.
pub async fn room(rules: Rules) -> (TimedStore, Queue) {
    let world = TimedStore::new().await;
    let queue = world.queue("q", rules).await;
    (world, queue)
}

/// What the keys of a queue begin with.
fn keys(queue: &str) -> String {
    format!("anteroom:v1:queue:{{{queue}}}:")
}

/// Rules with a capacity only.
pub fn capacity(capacity: u64) -> Rules {
    Rules { capacity: Some(capacity), ..Rules::default() }
}

/// Rules with a rate only.
pub fn rate(batch: u64, interval: Duration, pace: Pace) -> Rules {
    Rules { batch: Some(batch), interval, pace, ..Rules::default() }
}

/// The identity of the n-th visitor.
pub fn visitor(queue: &Queue, n: u64) -> PlaceId {
    PlaceId::of_visitor(queue.name(), &format!("visitor {n}"))
}

/// The n-th client address, as a queue knows it.
pub fn address(queue: &Queue, n: u64) -> JoinedFrom {
    let n = u32::try_from(n).expect("a few");
    joined_from(queue, std::net::Ipv4Addr::from_bits(0x0a00_0000 + n).into())
}

/// A client address, as a queue knows it.
pub fn joined_from(queue: &Queue, address: std::net::IpAddr) -> JoinedFrom {
    static KEYS: std::sync::LazyLock<TokenKeys> = std::sync::LazyLock::new(|| {
        TokenKeys::new(&["a secret of 32 bytes for the tests".to_owned().into()]).expect("one")
    });
    KEYS.joined_from(queue.name(), address)
}

/// Joins and expects a place.
pub async fn join(queue: &Queue, n: u64) -> (PlaceRef, Place) {
    match queue.join(visitor(queue, n)).await.expect("a join") {
        Join::Created(of, place) | Join::Same(of, place) => (of, place),
        other => panic!("no place: {other:?}"),
    }
}

/// The places of these visitors, who join one after the other.
pub async fn join_each(queue: &Queue, numbers: std::ops::Range<u64>) -> Vec<PlaceRef> {
    let mut places = Vec::new();
    for n in numbers {
        places.push(join(queue, n).await.0);
    }
    places
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

/// How many are promoted before a place whose wait is unknown.
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
        let promotion: Promotion = queue.promote(&Health::default()).await.expect("a tick");
        promoted += promotion.promoted;
        if !promotion.more {
            return promoted;
        }
    }
}
