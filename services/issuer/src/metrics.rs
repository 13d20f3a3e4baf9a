//! What the issuer counts and times. Labels are the names of configured events and fixed words.

use std::time::Duration;

use anteroom_core::event::Snapshot;
use anteroom_runtime::SnapshotGauges;
use prometheus::{Histogram, HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry};

/// What an attempt came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has its unit.
    Issued,
    /// It is tried again.
    Retried,
    /// It is a dead letter.
    Dead,
    /// The claim was not ours any more; another issuer has it.
    LeaseLost,
    /// The claim was given back, unattempted or unfinished.
    GivenBack,
}

impl Outcome {
    const ALL: [Self; 5] =
        [Self::Issued, Self::Retried, Self::Dead, Self::LeaseLost, Self::GivenBack];

    /// The label.
    fn name(self) -> &'static str {
        match self {
            Self::Issued => "issued",
            Self::Retried => "retried",
            Self::Dead => "dead",
            Self::LeaseLost => "lease_lost",
            Self::GivenBack => "given_back",
        }
    }
}

/// All of the issuer's own metrics. With the shell's and the store's they are what it exports.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// What the snapshots of the events show.
    pub gauges: SnapshotGauges<Snapshot>,
    /// `anteroom_event_issue_seconds{event}`: from the application to its unit.
    issue: HistogramVec,
    /// `anteroom_event_attempts_total{event,outcome}`.
    attempts: IntCounterVec,
    /// `anteroom_webhook_call_seconds{event,outcome}`: one call, from the connection to the last
    /// byte. The outcomes are those of [`Answer::name`](crate::webhook::Answer::name).
    calls: HistogramVec,
}

impl Metrics {
    /// Registers everything.
    ///
    /// # Errors
    ///
    /// When a name is taken.
    pub fn register(registry: &Registry) -> prometheus::Result<Self> {
        let issue = HistogramVec::new(
            HistogramOpts::new(
                "anteroom_event_issue_seconds",
                "Time from an application to its item, measured with the clock of Redis. If the \
                 reply of Redis was lost and read later, the item is not included.",
            )
            .buckets(vec![
                0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
                1_800.0, 7_200.0,
            ]),
            &["event"],
        )?;
        let attempts = IntCounterVec::new(
            Opts::new(
                "anteroom_event_attempts_total",
                "Applications that this issuer worked on: `issued`, `retried`, `dead`, \
                 `lease_lost` (another issuer has it), `given_back` (at a graceful shutdown, or \
                 because no code was left).",
            ),
            &["event", "outcome"],
        )?;
        let calls = HistogramVec::new(
            HistogramOpts::new(
                "anteroom_webhook_call_seconds",
                "Duration of a webhook call, from the connection to the last byte. Final: `issued` \
                 (2xx, 409), `refused` (another 4xx). Retried: `busy` (408, 429), `failed` (5xx, \
                 3xx), `timed_out`, `unreachable`, `broke_off`.",
            )
            .buckets(vec![
                0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
            ]),
            &["event", "outcome"],
        )?;
        registry.register(Box::new(issue.clone()))?;
        registry.register(Box::new(attempts.clone()))?;
        registry.register(Box::new(calls.clone()))?;
        let gauges =
            SnapshotGauges::register(registry, "event", Snapshot::GAUGES, Snapshot::STATES)?;
        Ok(Self { gauges, issue, attempts, calls })
    }

    /// The children of one event.
    pub fn event(&self, name: &str) -> EventMetrics {
        for outcome in Outcome::ALL {
            self.attempts.with_label_values(&[name, outcome.name()]);
        }
        EventMetrics {
            event: name.to_owned(),
            issue: self.issue.with_label_values(&[name]),
            attempts: self.attempts.clone(),
            calls: self.calls.clone(),
        }
    }

    /// Takes away the gauges of an event that is no longer configured; its counters stay.
    pub fn forget(&self, name: &str) {
        self.gauges.forget(name);
    }
}

/// What one event counts.
#[derive(Clone, Debug)]
pub struct EventMetrics {
    event: String,
    issue: Histogram,
    attempts: IntCounterVec,
    calls: HistogramVec,
}

impl EventMetrics {
    /// Counts attempts.
    pub fn ended(&self, outcome: Outcome, count: usize) {
        let labels = [self.event.as_str(), outcome.name()];
        self.attempts.with_label_values(&labels).inc_by(count as u64);
    }

    /// Times a call of the webhook.
    pub fn called(&self, outcome: &str, took: Duration) {
        self.calls.with_label_values(&[&self.event, outcome]).observe(took.as_secs_f64());
    }

    /// Times one that was issued.
    pub fn issued(&self, after: Duration) {
        self.issue.observe(after.as_secs_f64());
    }
}
