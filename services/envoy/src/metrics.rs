//! What the service counts itself; queues and limits count as in admission.

use std::time::Duration;

use anteroom_runtime::registered;
use prometheus::{Histogram, HistogramOpts, HistogramVec, IntCounter, Registry};

/// Upper bounds in seconds: half a millisecond to the longest usual time-out.
const BUCKETS: [f64; 12] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5];

/// The metrics of the gRPC port.
#[derive(Debug)]
pub struct EnvoyMetrics {
    check: [Histogram; 2],
    should_rate_limit: [Histogram; 2],
    /// Descriptors that no `[[envoy.descriptors]]` matches.
    pub unmatched: IntCounter,
}

impl EnvoyMetrics {
    /// Registers everything.
    ///
    /// # Errors
    ///
    /// When a name is taken.
    pub fn register(registry: &Registry) -> prometheus::Result<Self> {
        let times = HistogramOpts::new(
            "anteroom_envoy_request_seconds",
            "Duration of a call of Envoy. `method` is `check` (ext_authz) or `should_rate_limit` \
             (RLS), `answer` is `ok` or `denied` (also: over the limit).",
        );
        let times = HistogramVec::new(times.buckets(BUCKETS.to_vec()), &["method", "answer"])?;
        let times = registered(registry, times)?;
        let of = |method| ["ok", "denied"].map(|answer| times.with_label_values(&[method, answer]));
        let unmatched = IntCounter::new(
            "anteroom_envoy_unmatched_descriptors_total",
            "Descriptors of Envoy that no `[[envoy.descriptors]]` matches. They are allowed.",
        )?;
        Ok(Self {
            check: of("check"),
            should_rate_limit: of("should_rate_limit"),
            unmatched: registered(registry, unmatched)?,
        })
    }

    /// Notes one check.
    pub fn checked(&self, passed: bool, took: Duration) {
        self.check[usize::from(!passed)].observe(took.as_secs_f64());
    }

    /// Notes one request to the rate limit service.
    pub fn limited(&self, allowed: bool, took: Duration) {
        self.should_rate_limit[usize::from(!allowed)].observe(took.as_secs_f64());
    }
}
