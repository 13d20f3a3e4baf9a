//! A batch that follows what becomes of the calls of those who were let in.

mod bounds;
mod capacity_changes;
mod steps;

use std::time::Duration;

use anteroom_core::breaker::{State as BreakerState, Totals};
use anteroom_core::queue::{Adaptive, BreakerReading, Health, Queue, Rules, StepReason};

use crate::line::join;
use crate::support::TimedStore;

const INTERVAL: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);
const AIM: Adaptive = Adaptive {
    min_batch: 10,
    max_batch: 110,
    success_target: 950_000,
    p95_target: Some(Duration::from_millis(200)),
    min_samples: 10,
};

/// A target of which everything is known.
struct Breaker {
    totals: Totals,
    state: BreakerState,
    version: u64,
}

impl Breaker {
    fn new() -> Self {
        Self { totals: Totals::default(), state: BreakerState::Closed, version: 1 }
    }

    fn calls(&mut self, successes: u64, failures: u64) {
        self.totals.successes += successes;
        self.totals.failures += failures;
    }

    fn turn(&mut self, state: BreakerState) {
        self.state = state;
        self.version += 1;
    }

    fn health(&self, adaptive: Adaptive) -> Health {
        let reading = BreakerReading {
            state: self.state,
            version: self.version,
            probes: 3,
            open_for: Duration::from_secs(2),
            totals: self.totals,
        };
        Health { reading: Some(reading), adaptive: Some(adaptive) }
    }
}

/// One tick to its end; how many were promoted, and the step.
async fn tick(queue: &Queue, health: &Health) -> (u64, Option<StepReason>) {
    let (mut promoted, mut step) = (0, None);
    loop {
        let promotion = queue.promote(health).await.expect("a tick");
        promoted += promotion.promoted;
        step = step.or(promotion.step);
        if !promotion.more {
            return (promoted, step);
        }
    }
}

/// An interval of ticks, after ten times these calls were reported; the steps in it. The first tick
/// takes the one that they call for.
async fn interval(
    world: &TimedStore,
    queue: &Queue,
    target: &mut Breaker,
    calls: (u64, u64),
) -> Vec<StepReason> {
    let mut steps = Vec::new();
    target.calls(10 * calls.0, 10 * calls.1);
    for _ in 0..10 {
        world.pass(TICK);
        steps.extend(tick(queue, &target.health(AIM)).await.1);
    }
    steps
}

async fn batch(queue: &Queue) -> u64 {
    queue.snapshot().await.expect("a snapshot").adaptive.expect("it adapts").batch
}

/// A queue with so many in line whose first polls may be long in coming.
async fn line(world: &TimedStore, name: &str, rules: Rules, visitors: u64) -> Queue {
    let rules = Rules { first_poll_ttl: rules.idle_ttl, ..rules };
    let queue = world.queue(name, rules).await;
    let joins = (0..visitors).map(|n| {
        let queue = queue.clone();
        async move { join(&queue, n).await }
    });
    futures_util::future::join_all(joins).await;
    queue
}
