//! A store in this process, on a Redis of its own, with a clock that the test moves.
//!
//! The tests of each subsystem stand on it: `#[path = "../support/mod.rs"] mod support;`. What is
//! the subsystem's they add in an `impl TimedStore` of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anteroom_core::store::{Clock, Config, Mode, Store};
use anteroom_testkit::{Cluster, PATIENCE, PERMISSIONS, PERMISSIONS_OF_CLUSTER, Redis};

/// The time at which every test begins, in microseconds since 1970.
pub const START: u64 = 1_800_000_000_000_000;
pub const SECOND: u64 = 1_000_000;
/// What all keys of Anteroom begin with.
const KEYS: &str = "anteroom:v1:";

/// A time in microseconds.
pub fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).expect("a short time")
}

/// Opens a store, with budgets so ample that no slow machine uses them up.
pub async fn open(config: Config) -> Store {
    open_counted(config, &prometheus::Registry::new()).await
}

/// [`open`] with the registry of its metrics.
pub async fn open_counted(config: Config, registry: &prometheus::Registry) -> Store {
    let config = Config { command_timeout: PATIENCE, request_timeout: PATIENCE, ..config };
    let store = Store::open(&config, &anteroom_core::scripts(), registry).expect("an address");
    assert!(store.wait_up(PATIENCE).await, "the store is up");
    store
}

/// How to reach a cluster.
pub fn of_cluster(cluster: &Cluster) -> Config {
    Config { mode: Mode::Cluster, urls: cluster.urls(), ..Config::new("") }
}

/// A user of the store, as [`Redis::user`] makes one.
pub fn as_ann(config: Config) -> Config {
    let password = Some("pass".to_owned().into());
    Config { username: Some("ann".into()), password, ..config }
}

/// Opens a store as a user who has no more than the documented permissions.
pub async fn permitted(redis: &Redis) -> Store {
    redis.user("ann", &PERMISSIONS).await;
    open(as_ann(Config::new(redis.url()))).await
}

/// [`permitted`] on a cluster.
pub async fn permitted_on(cluster: &Cluster) -> Store {
    for node in &cluster.primaries {
        node.user("ann", &[&PERMISSIONS[..], &PERMISSIONS_OF_CLUSTER].concat()).await;
    }
    open(as_ann(of_cluster(cluster))).await
}

pub struct TimedStore {
    pub redis: Redis,
    pub store: Store,
    time: Arc<AtomicU64>,
}

impl TimedStore {
    pub async fn new() -> Self {
        let redis = Redis::start().await;
        let store = open(Config::new(redis.socket_url())).await;
        Self { redis, store, time: Arc::new(AtomicU64::new(START)) }
    }

    /// For what is to go by this store's time.
    pub fn clock(&self) -> Clock {
        Clock::Given(self.time.clone())
    }

    pub fn now(&self) -> u64 {
        self.time.load(Ordering::SeqCst)
    }

    pub fn set_now(&self, micros: u64) {
        self.time.store(micros, Ordering::SeqCst);
    }

    /// Lets the store's clock go on, without a tick.
    pub fn pass(&self, time: Duration) {
        self.time.fetch_add(micros(time), Ordering::SeqCst);
    }

    /// It is the beginning again: nothing was ever written.
    pub async fn begin_again(&self) {
        self.set_now(START);
        self.redis.delete_keys("").await;
    }

    /// The store has no memory left, or enough again.
    pub async fn fill(&self, full: bool) {
        let limit = if full { "1" } else { "0" };
        self.redis.run::<()>(&["CONFIG", "SET", "maxmemory", limit]).await;
    }

    /// The store loses everything.
    pub async fn empty(&self) {
        self.redis.delete_keys(KEYS).await;
    }
}
