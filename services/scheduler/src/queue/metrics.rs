//! What the scheduler counts of queues.

use anteroom_core::queue::{GoneReason, Promotion, QueueCounts, Snapshot, StepReason, Sweep};
use anteroom_runtime::{Families, SnapshotGauges};
use prometheus::{
    Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, Opts, Registry,
};

/// Shorter waits count as this long when an error is compared with the wait.
const SHORTEST_WAIT_SECONDS: f64 = 1.0;

/// The metrics of all queues, by name.
#[derive(Clone, Debug)]
pub struct QueueFamilies {
    /// What the snapshots show.
    pub gauges: SnapshotGauges<Snapshot>,
    /// `anteroom_queue_promoted_total{queue}`, `anteroom_queue_gone_total{queue,reason}` and
    /// `anteroom_queue_wait_seconds{queue}`.
    counts: QueueCounts,
    /// `anteroom_queue_eta_error_ratio{queue}`: how wrong the estimate was that every 64th visitor
    /// got at the join, |estimate − true| ÷ true; 1 is wrong by the whole wait.
    eta_error: HistogramVec,
    /// `anteroom_queue_adaptive_steps_total{queue,reason}`, the reasons being those of
    /// [`StepReason`].
    steps: IntCounterVec,
    /// `anteroom_promotion_lag_seconds{queue}`: how late a slice or batch came, once per tick that
    /// promoted or should have; with a capacity only, the time since the last tick.
    lag: HistogramVec,
}

impl Families for QueueFamilies {
    fn register(registry: &Registry) -> prometheus::Result<Self> {
        let eta_error = HistogramVec::new(
            HistogramOpts::new(
                "anteroom_queue_eta_error_ratio",
                "Error of the wait estimate that every 64th visitor got at the join: |estimate − \
                 true wait| ÷ true wait. A wait below 1 s counts as 1 s.",
            )
            .buckets(vec![0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 2.0, 5.0]),
            &["queue"],
        )?;
        let steps = IntCounterVec::new(
            Opts::new(
                "anteroom_queue_adaptive_steps_total",
                "Decisions on the adaptive batch, at most 1 for each interval, if enough outcomes \
                 were reported. The batch rose (`raised`), or was cut: `cut_success` (too few \
                 calls succeeded), `cut_p95` (too many calls were slow). It did not change: \
                 `highest` (it is at its maximum), `unused` (it was not used up).",
            ),
            &["queue", "reason"],
        )?;
        let lag = HistogramVec::new(
            HistogramOpts::new(
                "anteroom_promotion_lag_seconds",
                "How late promotions came, at each tick that promoted visitors or should have done \
                 so. With `capacity` only: the time since the last tick. It should stay near 1 \
                 tick (100 ms).",
            )
            .buckets(vec![0.01, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0]),
            &["queue"],
        )?;
        registry.register(Box::new(eta_error.clone()))?;
        registry.register(Box::new(steps.clone()))?;
        registry.register(Box::new(lag.clone()))?;
        let gauges =
            SnapshotGauges::register(registry, "queue", Snapshot::GAUGES, Snapshot::STATES)?;
        let counts = QueueCounts::register(registry)?;
        Ok(Self { gauges, counts, eta_error, steps, lag })
    }

    fn forget(&self, name: &str) {
        self.gauges.forget(name);
    }
}

impl QueueFamilies {
    /// The children of one queue.
    pub fn of(&self, name: &str) -> QueueMetrics {
        let gone = |reason: GoneReason| self.counts.gone.with_label_values(&[name, reason.name()]);
        QueueMetrics {
            promoted: self.counts.promoted.with_label_values(&[name]),
            unclaimed: gone(GoneReason::Unclaimed),
            expired: gone(GoneReason::Expired),
            abandoned: gone(GoneReason::Abandoned),
            wait: self.counts.wait.with_label_values(&[name]),
            eta_error: self.eta_error.with_label_values(&[name]),
            steps: self.steps.clone(),
            queue: name.to_owned(),
            lag: self.lag.with_label_values(&[name]),
        }
    }
}

/// What one queue counts.
#[derive(Debug)]
pub struct QueueMetrics {
    promoted: IntCounter,
    unclaimed: IntCounter,
    expired: IntCounter,
    abandoned: IntCounter,
    wait: Histogram,
    eta_error: Histogram,
    steps: IntCounterVec,
    queue: String,
    /// How late a tick was, in seconds.
    pub lag: Histogram,
}

impl QueueMetrics {
    /// Counts what one call promoted.
    pub fn promoted(&self, promotion: &Promotion) {
        self.promoted.inc_by(promotion.promoted);
        self.abandoned.inc_by(promotion.abandoned);
        // A queue without an adaptive batch has no such series.
        if let Some(reason) = promotion.step.map(StepReason::name) {
            self.steps.with_label_values(&[self.queue.as_str(), reason]).inc();
        }
        let wait = self.wait.local();
        for (places, waited) in &promotion.waits {
            (0..*places).for_each(|_| wait.observe(waited.as_secs_f64()));
        }
        wait.flush();
        for (estimate, truth) in &promotion.estimates {
            let (estimate, truth) = (estimate.as_secs_f64(), truth.as_secs_f64());
            self.eta_error.observe((estimate - truth).abs() / truth.max(SHORTEST_WAIT_SECONDS));
        }
    }

    /// Counts what one call swept away.
    pub fn swept(&self, sweep: &Sweep) {
        self.unclaimed.inc_by(sweep.unclaimed);
        self.expired.inc_by(sweep.expired);
        self.abandoned.inc_by(sweep.abandoned);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_promotion_is_counted_place_by_place() {
        let metrics = QueueFamilies::register(&Registry::new()).expect("fresh names");
        let queue = metrics.of("concert");
        queue.promoted(&Promotion {
            promoted: 3,
            abandoned: 1,
            waits: vec![(2, Duration::from_secs(4)), (1, Duration::from_secs(10))],
            estimates: vec![
                (Duration::from_secs(30), Duration::from_secs(20)),
                (Duration::from_millis(100), Duration::ZERO),
            ],
            ..Promotion::default()
        });
        queue.swept(&Sweep { unclaimed: 5, expired: 6, away: 7, abandoned: 8, more: false });
        assert_eq!(queue.promoted.get(), 3);
        let gone = [queue.unclaimed.get(), queue.expired.get(), queue.abandoned.get()];
        assert_eq!(gone, [5, 6, 9], "who is away is not gone");
        assert_eq!((queue.wait.get_sample_count(), queue.wait.get_sample_sum()), (3, 18.0));
        assert_eq!(queue.eta_error.get_sample_count(), 2);
        assert!((queue.eta_error.get_sample_sum() - 0.6).abs() < 1e-9, "10 of 20, 0.1 of 1");
    }
}
