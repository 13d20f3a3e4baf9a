//! What a run costs this process, and whether its figures are those of the process itself.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use hdrhistogram::Histogram;
use nix::sys::resource::{UsageWho, getrusage};
use serde::Serialize;
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep_until},
};

use crate::{
    cpu,
    rehearse::{
        connection::Connections,
        histogram::{histogram, record},
        traffic::float,
    },
};

/// Between two looks at the clock.
const LOOKS: Duration = Duration::from_millis(20);
/// Latencies of a harness that is later than that are its own.
const LATE_MS: f64 = 50.0;

/// What a run cost this process.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Cost {
    /// Of processor time, in all threads.
    pub cpu_seconds: f64,
    /// The most memory so far that was resident.
    pub max_rss_bytes: u64,
    /// Connections that were opened.
    pub connections: u64,
    /// How late what was due in this process began, at the 95th percentile.
    pub late_p95_ms: f64,
    /// How long its visitors waited for one of its connections before they asked, at the 95th
    /// percentile; in no latency.
    pub connection_wait_p95_ms: f64,
}

impl Cost {
    /// Whether this process, or its machine, was at its limit.
    pub fn is_late(&self) -> bool {
        self.late_p95_ms > LATE_MS || self.connection_wait_p95_ms > LATE_MS
    }
}

/// Measures from its start on.
pub struct Meter {
    cpu_before: f64,
    late: JoinHandle<()>,
    lateness: Arc<Mutex<Histogram<u64>>>,
}

impl Meter {
    /// Starts.
    pub fn start() -> Self {
        let lateness = Arc::new(Mutex::new(histogram()));
        let noted = Arc::clone(&lateness);
        let late = tokio::spawn(async move {
            let mut due = Instant::now();
            loop {
                due += LOOKS;
                sleep_until(due).await;
                let late = u64::try_from(due.elapsed().as_micros()).unwrap_or(u64::MAX);
                let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
                record(&mut noted, late);
            }
        });
        Self { cpu_before: cpu::seconds(), late, lateness }
    }

    /// What it has cost so far.
    pub fn cost(self, connections: &Connections) -> Cost {
        self.late.abort();
        let lateness = self.lateness.lock().unwrap_or_else(PoisonError::into_inner);
        let kibibytes = getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| usage.max_rss());
        Cost {
            cpu_seconds: cpu::seconds() - self.cpu_before,
            max_rss_bytes: 1_024 * u64::try_from(kibibytes).unwrap_or(0),
            connections: connections.opened(),
            late_p95_ms: float(lateness.value_at_quantile(0.95)) / 1e3,
            connection_wait_p95_ms: float(connections.waited_p95()) / 1e3,
        }
    }
}
