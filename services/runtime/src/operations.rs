//! How many of a service's operations did not fail on Anteroom's side: in the last five minutes,
//! and since its start.
//!
//! A refusal is a success: the service did its task. Failures are Redis being down, a time-out, and
//! a bug.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use anteroom_config::Service;
use prometheus::{
    Gauge, IntCounterVec, Opts,
    core::{Collector, Desc},
    proto::MetricFamily,
};

/// The ratio is of five minutes, to this many seconds.
const STEP_SECONDS: u64 = 10;
/// Five minutes, and the step that is under way.
const STEPS: u64 = 31;

/// Counts operations; clones share the count.
#[derive(Clone, Debug)]
pub struct Operations {
    started: Instant,
    window: Arc<Window>,
}

impl Default for Operations {
    fn default() -> Self {
        Self::new()
    }
}

impl Operations {
    /// Nothing counted yet.
    pub fn new() -> Self {
        Self { started: Instant::now(), window: Arc::default() }
    }

    /// Counts one operation: `ok` unless it failed on our side. A few nanoseconds; a lock is taken
    /// once in ten seconds.
    pub fn record(&self, ok: bool) {
        self.record_at(ok, Instant::now());
    }

    /// [`Self::record`] for a caller that has read the clock.
    pub fn record_at(&self, ok: bool, now: Instant) {
        self.window.record(ok, now.saturating_duration_since(self.started));
    }

    /// The share that did not fail, 0 to 1; 1 when there were none.
    pub fn success_ratio(&self) -> f64 {
        self.window.success_ratio(self.started.elapsed())
    }
}

/// The totals, and what they were when each step began. Time comes in as an argument.
#[derive(Debug, Default)]
struct Window {
    /// Those that did not fail and those that did, from the start on.
    ok: AtomicU64,
    failed: AtomicU64,
    /// The newest step in `began`, plus one: before the first it is 0.
    next: AtomicU64,
    /// Of each step in which something was counted: its number, and the totals before it.
    began: Mutex<VecDeque<(u64, [u64; 2])>>,
}

impl Window {
    fn totals(&self) -> [u64; 2] {
        [&self.ok, &self.failed].map(|total| total.load(Relaxed))
    }

    fn record(&self, ok: bool, now: Duration) {
        self.begin(now.as_secs() / STEP_SECONDS);
        let total = if ok { &self.ok } else { &self.failed };
        total.fetch_add(1, Relaxed);
    }

    /// Notes the totals, unless this step has begun.
    fn begin(&self, step: u64) {
        if step < self.next.load(Relaxed) {
            return;
        }
        let mut began = self.began();
        if step >= self.next.load(Relaxed) {
            began.push_back((step, self.totals()));
            began.retain(|(old, _)| old + STEPS > step);
            self.next.store(step + 1, Relaxed);
        }
    }

    fn success_ratio(&self, now: Duration) -> f64 {
        let step = now.as_secs() / STEP_SECONDS;
        self.begin(step);
        let [ok, failed] = self.totals();
        // Between the oldest step of the window and the first that is noted nothing was counted.
        let before = self.began().iter().find(|(old, _)| old + STEPS > step).map(|(_, it)| *it);
        let [ok_before, failed_before] = before.unwrap_or([ok, failed]);
        let (ok, failed) = (ok.saturating_sub(ok_before), failed.saturating_sub(failed_before));
        if ok + failed == 0 { 1.0 } else { ok as f64 / (ok + failed) as f64 }
    }

    fn began(&self) -> MutexGuard<'_, VecDeque<(u64, [u64; 2])>> {
        // The list is whole after every single call, so a panic elsewhere cannot have broken it.
        self.began.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `anteroom_success_ratio` and `anteroom_service_operations_total`, calculated at each scrape.
pub(crate) struct OperationMetrics {
    ratio: Gauge,
    total: IntCounterVec,
    operations: Operations,
    /// Locked during a scrape: two at once must not count the same twice.
    scrape: Mutex<()>,
}

impl OperationMetrics {
    pub fn new(service: Service, operations: Operations) -> prometheus::Result<Self> {
        let opts = |name, help| Opts::new(name, help).const_label("service", service.name());
        let ratio = "The share of operations of the last 5 minutes that succeeded in this process. \
                     1 without operations. Failures: Redis is down, a time-out, a fault, or an \
                     attempt of an issuer that must be retried, whatever the cause. A refusal \
                     according to the rules is not a failure.";
        let total = "The operations of `anteroom_success_ratio` since the start: `ok`, `failed`.";
        Ok(Self {
            ratio: Gauge::with_opts(opts("anteroom_success_ratio", ratio))?,
            total: IntCounterVec::new(
                opts("anteroom_service_operations_total", total),
                &["outcome"],
            )?,
            operations,
            scrape: Mutex::default(),
        })
    }
}

impl Collector for OperationMetrics {
    fn desc(&self) -> Vec<&Desc> {
        self.ratio.desc().into_iter().chain(self.total.desc()).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let _one_at_a_time = self.scrape.lock().unwrap_or_else(PoisonError::into_inner);
        self.ratio.set(self.operations.success_ratio());
        let window = &self.operations.window;
        for (outcome, total) in [("ok", &window.ok), ("failed", &window.failed)] {
            let counter = self.total.with_label_values(&[outcome]);
            counter.inc_by(total.load(Relaxed) - counter.get());
        }
        self.ratio.collect().into_iter().chain(self.total.collect()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn counts_the_last_five_minutes_only() {
        let window = Window::default();
        assert_eq!(window.success_ratio(at(0)), 1.0, "nothing failed yet");
        window.record(false, at(0));
        assert_eq!(window.success_ratio(at(0)), 0.0);
        for _ in 0..3 {
            window.record(true, at(5));
        }
        assert_eq!(window.success_ratio(at(9)), 0.75);
        assert_eq!(window.success_ratio(at(300)), 0.75, "five minutes later it still counts");
        assert_eq!(window.success_ratio(at(310)), 1.0, "one step later it does not");
    }

    #[test]
    fn what_is_too_old_counts_no_more() {
        let window = Window::default();
        window.record(false, at(3));
        window.record(true, at(310));
        assert_eq!(window.success_ratio(at(310)), 1.0);
        window.record(false, at(319));
        assert_eq!(window.success_ratio(at(319)), 0.5);
    }

    #[test]
    fn sums_over_steps() {
        let window = Window::default();
        for second in 0..300 {
            window.record(second % 10 != 0, at(second));
        }
        assert_eq!(window.success_ratio(at(299)), 0.9);
    }

    #[test]
    fn no_number_is_too_large() {
        let window = Window::default();
        window.record(false, at(60));
        window.ok.store(1 << 40, Relaxed);
        let ratio = window.success_ratio(at(69));
        assert!(ratio < 1.0 && 1.0 - ratio < 1e-11, "{ratio}");
        assert_eq!(window.success_ratio(at(370)), 1.0);
    }

    #[test]
    fn counts_from_many_threads_exactly() {
        let operations = Operations::new();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let operations = operations.clone();
                scope.spawn(move || (0..10_000).for_each(|_| operations.record(thread != 0)));
            }
        });
        assert_eq!(operations.success_ratio(), 0.75);
    }
}
