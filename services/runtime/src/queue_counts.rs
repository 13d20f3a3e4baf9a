//! What happened in the queues, as far as this process made it happen.
//!
//! Admission and the schedulers fill the same families: a join that finds nobody waiting is
//! promoted by admission, all others by a scheduler. Each process counts its own part once, so
//! dashboards `sum` these, and names and buckets must be the same everywhere.

use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry};

/// The families; their children are made per queue.
#[derive(Clone, Debug)]
pub struct QueueCounts {
    /// `anteroom_queue_promoted_total{queue}`.
    pub promoted: IntCounterVec,
    /// `anteroom_queue_gone_total{queue,reason}`, the reasons being those of
    /// [`GoneReason`](anteroom_core::queue::GoneReason).
    pub gone: IntCounterVec,
    /// `anteroom_queue_wait_seconds{queue}`: from the join to the promotion.
    pub wait: HistogramVec,
}

impl QueueCounts {
    /// Upper bounds of the waits in seconds: from at once to four hours.
    const WAIT_BUCKETS: [f64; 14] = [
        0.1, 1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_200.0, 1_800.0, 3_600.0, 7_200.0,
        14_400.0,
    ];

    /// Registers the families.
    pub fn register(registry: &Registry) -> prometheus::Result<Self> {
        let counts = Self {
            promoted: IntCounterVec::new(
                Opts::new(
                    "anteroom_queue_promoted_total",
                    "Places whose turn came. Admission counts the joins that were promoted at \
                     once, the schedulers all others.",
                ),
                &["queue"],
            )?,
            gone: IntCounterVec::new(
                Opts::new("anteroom_queue_gone_total", "Places that ended, by reason."),
                &["queue", "reason"],
            )?,
            wait: HistogramVec::new(
                HistogramOpts::new(
                    "anteroom_queue_wait_seconds",
                    "Time from join to promotion. Admission shows the joins that were promoted at \
                     once, the schedulers all others.",
                )
                .buckets(Self::WAIT_BUCKETS.to_vec()),
                &["queue"],
            )?,
        };
        registry.register(Box::new(counts.promoted.clone()))?;
        registry.register(Box::new(counts.gone.clone()))?;
        registry.register(Box::new(counts.wait.clone()))?;
        Ok(counts)
    }
}
