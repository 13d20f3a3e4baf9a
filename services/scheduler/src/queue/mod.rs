//! One queue: its ticks promote, sweep and read the gauges.

mod followed;
mod health;
pub mod metrics;
mod ticks;

use std::sync::Arc;

use anteroom_config::{Config, QueueConfig};
use anteroom_core::queue::{Queue, Rules};
use anteroom_core::store::Error;

use self::followed::Followed;
use self::metrics::{QueueFamilies, QueueMetrics};
use crate::entity::{Entity, Scheduled, Served, Tasks};
use crate::shared::Shared;
use crate::tick::{self, NEVER_LATE, Tick};

/// No visitor comes here, so nothing ever waits in a queue's lanes.
const LANE_BOUND: usize = 1;

/// The head of the line moves on. Never early: a slice that is not due yet would wait for the next
/// tick.
const PROMOTE: Tick =
    Tick { name: "promote", spread: (1.0, 1.2), interval: |config, _| config.scheduler.tick };
/// What has ended is cleared away.
const SWEEP: Tick =
    Tick { name: "sweep", spread: NEVER_LATE, interval: |config, _| config.scheduler.sweep_tick };
const SNAPSHOT: Tick = Tick::snapshot("snapshot");

/// A queue, its part of the configuration, and what its ticks share.
pub struct ScheduledQueue {
    /// The operations.
    pub queue: Queue,
    /// What it counts.
    pub metrics: QueueMetrics,
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
    type Families = QueueFamilies;

    const TICKS: &'static [Tick] = &[PROMOTE, SWEEP, SNAPSHOT];

    async fn serve(tasks: &Tasks) {
        tasks.keep::<ScheduledQueue>().await;
    }
}

impl Entity for ScheduledQueue {
    type Kind = Queue;
    type Rules = Rules;

    fn rules(table: &QueueConfig) -> &Rules {
        &table.rules
    }

    fn open(served: Served, rules: Rules) -> Self {
        let (shared, name) = (&served.shared, served.name.as_str());
        Self {
            queue: Queue::open(&shared.store, name, rules, LANE_BOUND),
            metrics: shared.metrics.queue.of(name),
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
            tick::keep(&PROMOTE, self, ticks::promote),
            tick::keep(&SWEEP, self, ticks::sweep),
            tick::keep(&SNAPSHOT, self, ticks::snapshot),
        );
    }
}
