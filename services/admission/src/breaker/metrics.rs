//! What admission counts of targets.

use anteroom_core::breaker::Snapshot;
use anteroom_runtime::{Families, SnapshotGauges, counters};
use prometheus::{IntCounter, IntCounterVec, Registry};

/// A gauge: its name, its meaning, and its value in a snapshot, if it has one there.
type Gauge = (&'static str, &'static str, fn(&Snapshot) -> Option<f64>);

/// What a snapshot shows of a target. All have the one label `target`.
const GAUGES: [Gauge; 2] = [
    (
        "anteroom_target_success_ratio",
        "The share of successes in the window. Absent without outcomes.",
        |it| it.window().success_rate(),
    ),
    (
        "anteroom_target_fallback",
        "1 while callers should use their fallback: the circuit breaker is not closed.",
        |it| Some(f64::from(u8::from(it.state.is_fallback()))),
    ),
];

/// The metrics of all targets, by name.
#[derive(Debug)]
pub struct BreakerFamilies {
    outcomes: IntCounterVec,
    degraded: IntCounterVec,
    /// The state of each target, from its snapshots.
    pub(crate) gauges: SnapshotGauges<Snapshot>,
}

impl Families for BreakerFamilies {
    fn register(registry: &Registry) -> prometheus::Result<Self> {
        Ok(Self {
            outcomes: counters(
                registry,
                "anteroom_target_outcomes_total",
                "Reported outcomes that were counted: `success`, `failure`. A repeated report with \
                 the same `id` is not counted.",
                &["target", "outcome"],
            )?,
            degraded: counters(
                registry,
                "anteroom_target_degraded_answers_total",
                "Answers about a target while Redis is down or full. They have the last known \
                 state for up to 5 s, then no fallback.",
                &["target"],
            )?,
            gauges: SnapshotGauges::register(registry, "target", GAUGES, [])?,
        })
    }

    fn forget(&self, name: &str) {
        self.gauges.forget(name);
    }
}

impl BreakerFamilies {
    /// The children of one target, so that no request formats a label.
    pub fn of(&self, name: &str) -> BreakerMetrics {
        BreakerMetrics {
            successes: self.outcomes.with_label_values(&[name, "success"]),
            failures: self.outcomes.with_label_values(&[name, "failure"]),
            degraded: self.degraded.with_label_values(&[name]),
        }
    }
}

/// What one target counts.
#[derive(Debug)]
pub struct BreakerMetrics {
    pub successes: IntCounter,
    pub failures: IntCounter,
    /// Answers without the store.
    pub degraded: IntCounter,
}
