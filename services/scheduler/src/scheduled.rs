//! One queue as the scheduler holds it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anteroom_core::queue::{Queue, Rules};
use anteroom_core::store::Error;
use anteroom_runtime::{Changes, Config};
use tokio_util::sync::CancellationToken;

use crate::followed::Followed;
use crate::metrics::QueueMetrics;
use crate::served::{Entity, Served};
use crate::shared::Shared;

/// No visitor comes here, so nothing ever waits in a queue's lanes.
const LANE_BOUND: usize = 1;

/// A queue, its part of the configuration, and what its ticks tell each other.
pub struct Scheduled {
    /// The operations.
    pub queue: Queue,
    /// What it counts.
    pub metrics: QueueMetrics,
    /// What the newest snapshot said of the line.
    pub line: LineLength,
    /// The target that it follows.
    pub followed: Followed,
    served: Served,
}

impl Scheduled {
    /// Opens the queue; `None` when the configuration does not name it any more.
    pub fn open(
        shared: &Arc<Shared>,
        name: &str,
        changes: Changes,
        stop: CancellationToken,
    ) -> Option<Self> {
        let config = changes.borrow().clone();
        let rules = config.queues.get(name)?.rules.clone();
        Some(Self {
            queue: Queue::open(&shared.store, name, rules, LANE_BOUND),
            metrics: shared.metrics.queue(name),
            line: LineLength::default(),
            followed: Followed::default(),
            served: Served::new(shared, "queue", name, changes, stop),
        })
    }

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

impl Entity for Scheduled {
    type Rules = Rules;

    fn rules_in(&self, config: &Config) -> Option<Rules> {
        config.queues.get(self.name()).map(|queue| queue.rules.clone())
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
