//! One request, and where it counts; one second of them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::{Fault, Figures};

/// One request that ended.
pub struct Sample {
    /// Index of its step.
    pub step: usize,
    /// When it was to be sent.
    pub started: Instant,
    /// Its status, if there was an answer.
    pub status: Option<u16>,
    /// Whether its visit had made it before.
    pub again: bool,
    /// Why it brought nothing.
    pub fault: Option<Fault>,
}

/// One second of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Second {
    /// Seconds since the start.
    pub at: u64,
    /// Users, or visitors under way, at its end.
    pub users: u64,
    /// Requests that ended in it.
    pub requests: u64,
    /// Those that were completed.
    pub completed: u64,
    /// Those with a fault.
    pub errors: u64,
    /// Latencies in milliseconds.
    pub average_ms: f64,
    /// As `average_ms`.
    pub p50_ms: f64,
    /// As `average_ms`.
    pub p95_ms: f64,
    /// As `average_ms`.
    pub p99_ms: f64,
}

impl Sample {
    /// Whether the time that it took says something of the service.
    pub(super) fn waited(&self) -> bool {
        self.status.is_some() || self.fault == Some(Fault::Timeout)
    }

    /// A request counts where it began, as a completion where it ended: so no slow request and no
    /// timeout is left out, and nothing is throughput that came later.
    pub(super) fn add(&self, figures: &mut Figures, latency: Duration, begun: bool, ended: bool) {
        for tally in [&mut figures.total, &mut figures.steps[self.step]] {
            tally.completed += u64::from(ended && self.fault.is_none());
            if !begun {
                continue;
            }
            if self.waited() {
                tally.latency.note(latency);
            }
            tally.requests += 1;
            tally.again += u64::from(self.again);
            count(&mut tally.statuses, self.status);
            count(&mut tally.faults, self.fault);
        }
    }
}

fn count<K: Ord>(counts: &mut BTreeMap<K, u64>, key: Option<K>) {
    if let Some(key) = key {
        *counts.entry(key).or_default() += 1;
    }
}
