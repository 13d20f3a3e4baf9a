//! What the scheduler counts and times. Labels are the names of configured queues and fixed words.
//!
//! A call whose effect is unknown may have promoted places that no process counted:
//! `promoted_total` and the waits come from the replies, the gauges are what is true.

use std::time::Duration;

use anteroom_core::{event, pool};
use anteroom_runtime::SnapshotGauges;
use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, Opts, Registry,
};

use crate::queue::metrics::QueueFamilies;
use crate::tick::Tick;

/// All of the scheduler's own metrics. With the shell's and the store's they are what it exports.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// Those of the queues.
    pub queues: QueueFamilies,
    /// What the snapshots of the pools show.
    pub pools: SnapshotGauges<pool::Snapshot>,
    /// What the snapshots of the events show.
    pub events: SnapshotGauges<event::Snapshot>,
    /// `anteroom_tick_duration_seconds{tick}`: one tick of one queue, pool or event, all its calls.
    tick_duration: [Histogram; Tick::ALL.len()],
    /// `anteroom_tick_errors_total{tick}`: ticks that the store failed.
    tick_errors: [IntCounter; Tick::ALL.len()],
}

impl Metrics {
    /// Registers everything.
    pub fn register(registry: &Registry) -> prometheus::Result<Self> {
        let tick_duration = HistogramVec::new(
            HistogramOpts::new(
                "anteroom_tick_duration_seconds",
                "Time of one tick of one queue, pool or event.",
            )
            .buckets(vec![0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0]),
            &["tick"],
        )?;
        let tick_errors = IntCounterVec::new(
            Opts::new("anteroom_tick_errors_total", "Ticks that the store failed."),
            &["tick"],
        )?;
        registry.register(Box::new(tick_duration.clone()))?;
        registry.register(Box::new(tick_errors.clone()))?;
        Ok(Self {
            queues: QueueFamilies::register(registry)?,
            pools: SnapshotGauges::register(registry, "pool", pool::Snapshot::GAUGES, [])?,
            events: SnapshotGauges::register(
                registry,
                "event",
                event::Snapshot::GAUGES,
                event::Snapshot::STATES,
            )?,
            tick_duration: Tick::ALL.map(|tick| tick_duration.with_label_values(&[tick.name()])),
            tick_errors: Tick::ALL.map(|tick| tick_errors.with_label_values(&[tick.name()])),
        })
    }

    /// Counts one tick of any queue, pool or event.
    pub fn ticked(&self, tick: Tick, took: Duration, ok: bool) {
        self.tick_duration[tick as usize].observe(took.as_secs_f64());
        if !ok {
            self.tick_errors[tick as usize].inc();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_have_their_own_children() {
        let metrics = Metrics::register(&Registry::new()).expect("fresh names");
        for (index, tick) in Tick::ALL.into_iter().enumerate() {
            assert_eq!(tick as usize, index);
            metrics.ticked(tick, Duration::from_millis(1), false);
            assert_eq!(metrics.tick_errors[index].get(), 1);
            assert_eq!(metrics.tick_duration[index].get_sample_count(), 1);
        }
    }
}
