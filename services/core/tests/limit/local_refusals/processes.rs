//! Two processes on one store, whose calls are counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anteroom_core::limit::Limits;
use anteroom_core::store::{Config, Store};
use prometheus::Registry;

use crate::support::{TimedStore, open_counted};

/// A store with a clock of its own, and two processes that share another.
pub struct Processes {
    pub world: TimedStore,
    /// Microseconds since the test began, for the processes.
    time: Arc<AtomicU64>,
    began: Instant,
    all: [Counted; 2],
}

/// The way of a process to the store, and what it counts.
struct Counted {
    store: Store,
    registry: Registry,
}

impl Processes {
    pub async fn new() -> Self {
        let world = TimedStore::new().await;
        let start = async || {
            let registry = Registry::new();
            let store = open_counted(Config::new(world.redis.socket_url()), &registry).await;
            Counted { store, registry }
        };
        let all = [start().await, start().await];
        Self { world, time: Arc::default(), began: Instant::now(), all }
    }

    /// Both stores are empty, and it is the beginning again.
    pub async fn begin_again(&self) {
        self.world.begin_again().await;
    }

    /// The limits of a process that has just started.
    pub fn limits(&self, process: usize) -> Limits {
        let (time, began) = (self.time.clone(), self.began);
        let now = move || began + Duration::from_micros(time.load(Ordering::SeqCst));
        let store = &self.all[process].store;
        Limits::open_with_clock(store, 10_000, self.world.clock()).repeating_refusals(now)
    }

    pub fn store(&self, process: usize) -> &Store {
        &self.all[process].store
    }

    /// Microseconds since the test began.
    pub fn now(&self) -> u64 {
        self.time.load(Ordering::SeqCst)
    }

    /// Time passes for the store and for both processes.
    pub fn pass(&self, time: Duration) {
        self.world.pass(time);
        let micros = u64::try_from(time.as_micros()).expect("a short time");
        self.time.fetch_add(micros, Ordering::SeqCst);
    }

    /// The clock of the store alone leaps.
    pub fn leap(&self, seconds: i64) {
        self.world.set_now(self.world.now().saturating_add_signed(1_000_000 * seconds));
    }

    /// How many checks a process has sent to the store.
    pub fn sent(&self, process: usize) -> u64 {
        let families = self.all[process].registry.gather();
        let operations = families.iter().find(|it| it.name() == "anteroom_operations_total");
        let of_checks = operations.into_iter().flat_map(|family| family.get_metric());
        let of_checks = of_checks
            .filter(|metric| metric.get_label().iter().any(|label| label.value() == "limit.check"));
        of_checks.map(|metric| metric.get_counter().get_value() as u64).sum()
    }
}
