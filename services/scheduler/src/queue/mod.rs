//! One queue: its ticks promote, sweep and read the gauges.

mod followed;
mod health;
pub mod metrics;
mod ticks;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anteroom_config::Config;
use anteroom_core::queue::{Queue, Rules};
use anteroom_core::store::Error;

use self::followed::Followed;
use self::metrics::QueueMetrics;
use crate::entity::{Entity, Scheduled, Served, Tasks};
use crate::metrics::Metrics;
use crate::shared::Shared;
use crate::tick::{self, Tick};

/// No visitor comes here, so nothing ever waits in a queue's lanes.
const LANE_BOUND: usize = 1;

/// A queue, its part of the configuration, and what its ticks share.
pub struct ScheduledQueue {
    /// The operations.
    pub queue: Queue,
    /// What it counts.
    pub metrics: QueueMetrics,
    /// What the newest snapshot shows of the line.
    pub line: LineLength,
    /// The target that it follows.
    pub followed: Followed,
    served: Served,
}

impl ScheduledQueue {
    /// The name of the queue.
    pub fn name(&self) -> &str {
        self.queue.name()
    }

    /// The configuration in force.
    pub fn config(&self) -> Arc<Config> {
        self.served.config()
    }

    /// The way to Redis and what else all queues share.
    pub fn shared(&self) -> &Shared {
        &self.served.shared
    }
}

impl Scheduled for Queue {
    async fn serve(tasks: &Tasks) {
        tasks.keep::<ScheduledQueue>().await;
    }

    fn has_any(config: &Config) -> bool {
        !config.queues.is_empty()
    }
}

impl Entity for ScheduledQueue {
    type Kind = Queue;
    type Rules = Rules;

    fn names(config: &Config) -> Vec<String> {
        config.queues.keys().cloned().collect()
    }

    fn rules_in(config: &Config, name: &str) -> Option<Rules> {
        config.queues.get(name).map(|queue| queue.rules.clone())
    }

    fn open(served: Served, rules: Rules) -> Self {
        let (shared, name) = (&served.shared, served.name.as_str());
        Self {
            queue: Queue::open(&shared.store, name, rules, LANE_BOUND),
            metrics: shared.metrics.queues.of(name),
            line: LineLength::default(),
            followed: Followed::default(),
            served,
        }
    }

    fn set_rules(&self, rules: Rules) {
        self.queue.set_rules(rules);
    }

    async fn apply_rules(&self, rules: &Rules) -> Result<bool, Error> {
        self.queue.apply_rules(rules).await
    }

    fn served(&self) -> &Served {
        &self.served
    }

    async fn tick(&self) {
        tokio::join!(
            tick::keep(Tick::Promote, self, ticks::promote),
            tick::keep(Tick::Sweep, self, ticks::sweep),
            tick::keep(Tick::Snapshot, self, ticks::snapshot),
        );
    }

    fn forget(metrics: &Metrics, name: &str) {
        metrics.queues.gauges.forget(name);
    }
}

/// What the sweep needs of the newest snapshot; zero before the first.
#[derive(Default)]
pub struct LineLength {
    depth: AtomicU64,
    idle_ttl_ms: AtomicU64,
}

impl LineLength {
    /// Takes what a snapshot says.
    pub fn set(&self, depth: u64, rules: &Rules) {
        let idle_ttl_ms = u64::try_from(rules.idle_ttl.as_millis()).unwrap_or(u64::MAX);
        self.depth.store(depth, Ordering::Relaxed);
        self.idle_ttl_ms.store(idle_ttl_ms, Ordering::Relaxed);
    }

    /// Places waiting, and how long one may be unseen.
    pub fn get(&self) -> (u64, Duration) {
        let idle_ttl = Duration::from_millis(self.idle_ttl_ms.load(Ordering::Relaxed));
        (self.depth.load(Ordering::Relaxed), idle_ttl)
    }
}
