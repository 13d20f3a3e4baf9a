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
use crate::shared::Shared;

/// No visitor comes here, so nothing ever waits in a queue's lanes.
const LANE_BOUND: usize = 1;

/// A queue, its part of the configuration, and what its ticks tell each other.
pub struct Scheduled {
    /// The operations.
    pub queue: Queue,
    /// What it counts.
    pub metrics: QueueMetrics,
    /// Cancelled when it is to be served no longer.
    pub stop: CancellationToken,
    /// What the newest snapshot said of the line.
    pub line: LineLength,
    /// The target that it follows.
    pub followed: Followed,
    shared: Arc<Shared>,
    changes: Changes,
    rules_written: CancellationToken,
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
            stop,
            line: LineLength::default(),
            followed: Followed::default(),
            shared: shared.clone(),
            changes,
            rules_written: CancellationToken::new(),
        })
    }

    /// The name of the queue.
    pub fn name(&self) -> &str {
        self.queue.name()
    }

    /// The configuration in force, again at each change.
    pub fn changes(&self) -> Changes {
        self.changes.clone()
    }

    /// The configuration in force.
    pub fn config(&self) -> Arc<Config> {
        self.changes.borrow().clone()
    }

    /// The way to Redis and what else all queues share.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Notes that the file's rules stand in the store.
    pub fn set_rules_written(&self) {
        self.rules_written.cancel();
    }

    /// Waits until the file's rules were written once, or until there is nothing to wait for.
    pub async fn rules_written(&self) {
        tokio::select! {
            () = self.rules_written.cancelled() => {}
            () = self.stop.cancelled() => {}
        }
    }

    /// Counts how a call for this queue went, and logs it when it begins or ends to fail.
    pub fn note<T>(&self, call: &'static str, result: &Result<T, Error>) {
        let error = result.as_ref().err();
        self.shared.operations.record(error.is_none());
        self.shared.failures.note(self.name(), call, error);
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
