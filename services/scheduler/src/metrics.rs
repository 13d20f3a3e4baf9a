//! What the scheduler counts and times. Labels are the names of configured queues and fixed words.
//!
//! A call whose effect is unknown may have promoted places that no process counted:
//! `promoted_total` and the waits come from the replies, the gauges are what is true.

use std::time::Duration;

use anteroom_core::kinds;
use anteroom_runtime::Families;
use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, Opts, Registry,
};

use crate::entity::Scheduled;
use crate::tick::Tick;

/// Where the metrics of a kind are; all kinds have this by core's list of them.
pub trait Counted: Scheduled {
    /// The metrics of this kind.
    fn families(metrics: &Metrics) -> &Self::Families;
}

macro_rules! define_metrics {
    (; $(($kind:ident $handle:ident $name:ident $section:ident))+) => {
        /// All of the scheduler's own metrics. With the shell's and the store's they are what it
        /// exports.
        #[derive(Clone, Debug)]
        pub struct Metrics {
            $(
                #[doc = concat!("Those of the kind `", stringify!($name), "`.")]
                pub $kind: <anteroom_core::$kind::$handle as Scheduled>::Families,
            )+
            /// `anteroom_tick_duration_seconds{tick}`: one tick of one entity, all its calls.
            tick_duration: HistogramVec,
            /// `anteroom_tick_errors_total{tick}`: ticks that the store failed.
            tick_errors: IntCounterVec,
        }

        impl Metrics {
            fn with_ticks(
                registry: &Registry,
                tick_duration: HistogramVec,
                tick_errors: IntCounterVec,
            ) -> prometheus::Result<Self> {
                $(let $kind = Families::register(registry)?;)+
                Ok(Self { $($kind,)+ tick_duration, tick_errors })
            }
        }

        $(impl Counted for anteroom_core::$kind::$handle {
            fn families(metrics: &Metrics) -> &Self::Families {
                &metrics.$kind
            }
        })+

        /// All ticks of all kinds.
        const TICKS: &[&[Tick]] = &[$(<anteroom_core::$kind::$handle as Scheduled>::TICKS),+];
    };
}

kinds!(define_metrics! {});

impl Metrics {
    /// Registers everything.
    pub fn register(registry: &Registry) -> prometheus::Result<Self> {
        let tick_duration = HistogramVec::new(
            HistogramOpts::new(
                "anteroom_tick_duration_seconds",
                "Duration of one tick of one queue, pool or event, with all its calls. Queues: \
                 `promote`, `sweep`, `snapshot`. Pools: `pool_sweep`, `pool_snapshot`. Events: \
                 `event_reclaim`, `event_kick`, `event_snapshot`.",
            )
            .buckets(vec![0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0]),
            &["tick"],
        )?;
        let tick_errors = IntCounterVec::new(
            Opts::new("anteroom_tick_errors_total", "Ticks that failed because of Redis."),
            &["tick"],
        )?;
        registry.register(Box::new(tick_duration.clone()))?;
        registry.register(Box::new(tick_errors.clone()))?;
        let metrics = Self::with_ticks(registry, tick_duration, tick_errors)?;
        // From the start each series shows a zero.
        TICKS.iter().copied().flatten().for_each(|tick| drop(metrics.of_tick(tick)));
        Ok(metrics)
    }

    /// What ticks of this kind are counted in.
    pub fn of_tick(&self, tick: &Tick) -> TickMetrics {
        TickMetrics {
            duration: self.tick_duration.with_label_values(&[tick.name]),
            errors: self.tick_errors.with_label_values(&[tick.name]),
        }
    }
}

/// The series of one kind of tick.
#[derive(Debug)]
pub struct TickMetrics {
    duration: Histogram,
    errors: IntCounter,
}

impl TickMetrics {
    /// Counts one tick of any entity.
    pub fn count(&self, took: Duration, ok: bool) {
        self.duration.observe(took.as_secs_f64());
        if !ok {
            self.errors.inc();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_tick_has_a_name_and_series_of_its_own() {
        let registry = Registry::new();
        Metrics::register(&registry).expect("fresh names");
        let ticks: Vec<_> = TICKS.iter().copied().flatten().map(|tick| tick.name).collect();
        let names: BTreeSet<_> = ticks.iter().copied().collect();
        assert_eq!(names.len(), ticks.len());
        let families = registry.gather();
        for name in ["anteroom_tick_duration_seconds", "anteroom_tick_errors_total"] {
            let family = families.iter().find(|family| family.name() == name).expect("shown");
            assert_eq!(family.get_metric().len(), ticks.len());
        }
    }
}
