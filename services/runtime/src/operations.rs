//! How many of a service's operations did not fail on our side: in the last five minutes, and since
//! its start.
//!
//! A refusal is a success: the service did what it is for. A failure is an answer that we owe:
//! the store is away, a time-out, a bug.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
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

/// Seconds in a bucket.
const BUCKET_SECONDS: u64 = 10;
/// Five minutes, and the bucket that is being filled.
const BUCKETS: usize = 31;

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
        Self { started: Instant::now(), window: Arc::new(Window::new()) }
    }

    /// Counts one operation: `ok` unless it failed on our side. A few nanoseconds, without a lock.
    pub fn record(&self, ok: bool) {
        self.window.record(ok, self.started.elapsed());
    }

    /// The share that did not fail, 0 to 1; 1 when there were none.
    pub fn success_ratio(&self) -> f64 {
        self.window.success_ratio(self.started.elapsed())
    }
}

/// A ring of buckets. Time comes in as an argument.
#[derive(Debug)]
struct Window {
    buckets: [AtomicU64; BUCKETS],
    /// Those that failed and those that did not, from the start on.
    failed: AtomicU64,
    ok: AtomicU64,
}

/// What a bucket holds, in one word so that it changes in one step: the number of its ten seconds
/// (20 bits, round after 121 days), successes and failures (22 bits each, which is 400 000 a
/// second; more is not counted).
#[derive(Clone, Copy)]
struct Bucket {
    slot: u64,
    ok: u64,
    failed: u64,
}

const COUNT_BITS: u32 = 22;
const COUNT_MAX: u64 = (1 << COUNT_BITS) - 1;
const SLOT_MAX: u64 = (1 << 20) - 1;

impl Bucket {
    const fn unpack(word: u64) -> Self {
        Self {
            slot: word >> (2 * COUNT_BITS),
            ok: (word >> COUNT_BITS) & COUNT_MAX,
            failed: word & COUNT_MAX,
        }
    }

    const fn pack(self) -> u64 {
        (self.slot << (2 * COUNT_BITS)) | (self.ok << COUNT_BITS) | self.failed
    }
}

impl Window {
    fn new() -> Self {
        let buckets = [const { AtomicU64::new(0) }; BUCKETS];
        Self { buckets, failed: AtomicU64::new(0), ok: AtomicU64::new(0) }
    }

    fn record(&self, ok: bool, now: Duration) {
        let total = if ok { &self.ok } else { &self.failed };
        total.fetch_add(1, Relaxed);
        let slot = slot(now);
        let Some(place) = self.buckets.get(index(slot)) else { return };
        // The closure never declines, so there is always a result.
        let _ = place.fetch_update(Relaxed, Relaxed, |word| {
            let mut bucket = Bucket::unpack(word);
            if bucket.slot != slot & SLOT_MAX {
                bucket = Bucket { slot: slot & SLOT_MAX, ok: 0, failed: 0 };
            }
            let count = if ok { &mut bucket.ok } else { &mut bucket.failed };
            *count = (*count + 1).min(COUNT_MAX);
            Some(bucket.pack())
        });
    }

    fn success_ratio(&self, now: Duration) -> f64 {
        let newest = slot(now);
        let oldest = newest.saturating_sub(BUCKETS as u64 - 1);
        let (mut ok, mut all) = (0, 0);
        for slot in oldest..=newest {
            let Some(place) = self.buckets.get(index(slot)) else { continue };
            let bucket = Bucket::unpack(place.load(Relaxed));
            if bucket.slot == slot & SLOT_MAX {
                ok += bucket.ok;
                all += bucket.ok + bucket.failed;
            }
        }
        // Both are below 2^28, which a float holds exactly.
        if all == 0 { 1.0 } else { ok as f64 / all as f64 }
    }
}

/// The ten seconds in which a moment lies; from 1, for an empty bucket says 0.
fn slot(now: Duration) -> u64 {
    now.as_secs() / BUCKET_SECONDS + 1
}

fn index(slot: u64) -> usize {
    // The remainder is below BUCKETS.
    (slot % BUCKETS as u64) as usize
}

/// `anteroom_success_ratio` and `anteroom_service_operations_total`, worked out when they are asked
/// for.
pub(crate) struct OperationMetrics {
    ratio: Gauge,
    total: IntCounterVec,
    operations: Operations,
    /// Held while they are worked out: two scrapes at once must not count the same twice.
    scrape: Mutex<()>,
}

impl OperationMetrics {
    pub fn new(service: Service, operations: Operations) -> prometheus::Result<Self> {
        let opts = |name, help| Opts::new(name, help).const_label("service", service.name());
        let ratio = "Share of the operations of the last 5 minutes that did not fail on our side; \
                     1 without operations";
        let total = "Operations since the start: ok, or failed on our side. A refusal is ok.";
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
        let window = Window::new();
        assert_eq!(window.success_ratio(at(0)), 1.0, "nothing failed yet");
        window.record(false, at(0));
        assert_eq!(window.success_ratio(at(0)), 0.0);
        for _ in 0..3 {
            window.record(true, at(5));
        }
        assert_eq!(window.success_ratio(at(9)), 0.75);
        assert_eq!(window.success_ratio(at(300)), 0.75, "five minutes later it still counts");
        assert_eq!(window.success_ratio(at(310)), 1.0, "one bucket later it does not");
    }

    #[test]
    fn a_reused_bucket_starts_from_nothing() {
        let window = Window::new();
        window.record(false, at(3));
        window.record(true, at(310));
        assert_eq!(window.success_ratio(at(310)), 1.0);
        window.record(false, at(319));
        assert_eq!(window.success_ratio(at(319)), 0.5);
    }

    #[test]
    fn sums_over_buckets() {
        let window = Window::new();
        for second in 0..300 {
            window.record(second % 10 != 0, at(second));
        }
        assert_eq!(window.success_ratio(at(299)), 0.9);
    }

    #[test]
    fn a_full_bucket_spills_nowhere() {
        let full = Bucket { slot: 7, ok: COUNT_MAX, failed: 5 };
        let window = Window::new();
        window.buckets[index(7)].store(full.pack(), Relaxed);
        window.record(true, at(60));
        let bucket = Bucket::unpack(window.buckets[index(7)].load(Relaxed));
        assert_eq!((bucket.slot, bucket.ok, bucket.failed), (7, COUNT_MAX, 5));
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
