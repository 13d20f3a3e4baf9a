//! An adaptive batch against a service whose capacity halves and doubles, simulated in the store's
//! time: the real script decides on a real Redis, and the service fails what exceeds its capacity.
//!
//! With the capacity C, in visitors an interval, a batch B > C fails B − C of its calls, so the aim
//! of 95 % is missed as soon as B > C ÷ 0.95. A step is judged by the interval before it, so the
//! first that knows of a change comes at the end of the interval in which it was made.
//!
//! - *Afterwards* B rises by a twentieth of what lies between its bounds, here 0.12 of the lower
//!   capacity, until it has passed C ÷ 0.95 by less than a rise, and is cut to 0.8 of that: it
//!   stays between 0.8 × C ÷ 0.95 = 0.84 C and C ÷ 0.95 plus a rise, at most 1.18 C.
//! - *Halving.* From at most 1.12 C (of the higher C) three cuts lead to 0.57 C, which is 1.15 of
//!   the half.
//! - *Doubling.* From at least 0.84 of the lower C it takes (1.5 − 0.84) ÷ 0.12, so six rises, to
//!   three quarters of the double.

use std::time::Duration;

use anteroom_core::breaker::{State, Totals};
use anteroom_core::queue::{Adaptive, BreakerReading, Health, Pace, Queue, Rules};

use crate::line::{join, rate, room};
use crate::support::TimedStore;

const INTERVAL: Duration = Duration::from_secs(1);
const TICKS: u64 = 10;
const HIGH: u64 = 100;
const LOW: u64 = 50;
const ADAPTIVE: Adaptive = Adaptive {
    min_batch: 10,
    max_batch: 130,
    success_target: 950_000,
    p95_target: None,
    min_samples: 10,
};

/// A service that serves so many visitors an interval and fails the rest.
struct Service {
    capacity: u64,
    /// How many tenths of that it can take at once.
    at_once: u64,
    totals: Totals,
    /// What it can serve at the moment, in tenths of a visitor.
    budget: u64,
}

impl Service {
    fn serve(&mut self, visitors: u64) {
        self.budget = (self.budget + self.capacity).min(self.at_once * self.capacity);
        let served = visitors.min(self.budget / TICKS);
        self.budget -= served * TICKS;
        self.totals.successes += served;
        self.totals.failures += visitors - served;
    }

    fn health(&self) -> Health {
        let reading = BreakerReading {
            state: State::Closed,
            version: 1,
            probes: 1,
            open_for: Duration::from_secs(10),
            totals: self.totals,
        };
        Health { reading: Some(reading), adaptive: Some(ADAPTIVE) }
    }
}

/// The batch at the end of each of these intervals; those promoted come to the service at once.
async fn intervals(
    world: &TimedStore,
    queue: &Queue,
    service: &mut Service,
    intervals: u32,
) -> Vec<u64> {
    let mut batches = Vec::new();
    for _ in 0..intervals {
        for _ in 0..TICKS {
            world.pass(INTERVAL / 10);
            let (health, mut promoted, mut more) = (service.health(), 0, true);
            while more {
                let promotion = queue.promote(&health).await.expect("a call");
                (promoted, more) = (promoted + promotion.promoted, promotion.more);
            }
            service.serve(promoted);
        }
        let snapshot = queue.snapshot().await.expect("a snapshot");
        batches.push(snapshot.adaptive.expect("it adapts").batch);
    }
    batches
}

fn within_a_quarter(batch: u64, capacity: u64) -> bool {
    (3 * capacity..=5 * capacity).contains(&(4 * batch))
}

#[tokio::test]
async fn a_batch_follows_a_capacity_that_halves_and_doubles() {
    // A stream, and an interval's visitors all at once.
    for (pace, at_once) in [(Pace::Even, 2), (Pace::Batch, TICKS)] {
        let rules = rate(HIGH, INTERVAL, pace);
        let (world, queue) = room(Rules { first_poll_ttl: rules.idle_ttl, ..rules }).await;
        for wave in 0..2 {
            let joins = (0..7_000).map(|n| {
                let queue = queue.clone();
                async move { join(&queue, 7_000 * wave + n).await }
            });
            futures_util::future::join_all(joins).await;
        }
        let mut service = Service { capacity: HIGH, at_once, totals: Totals::default(), budget: 0 };
        intervals(&world, &queue, &mut service, 20).await;
        for _ in 0..2 {
            for (capacity, followed_within) in [(LOW, 3), (HIGH, 10)] {
                service.capacity = capacity;
                let all = intervals(&world, &queue, &mut service, 31).await;
                let (until, after) = all[1..].split_at(followed_within);
                let last = until.last().expect("intervals");
                assert!(within_a_quarter(*last, capacity), "{pace:?}, {capacity}: {all:?}");
                let steady = after.iter().all(|batch| within_a_quarter(*batch, capacity));
                assert!(steady, "{pace:?}, {capacity}: {all:?}");
            }
        }
    }
}
