//! Figures of requests and visits over a stretch of time.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

use super::Fault;

/// Longest latency that is told apart.
const LONGEST: Duration = Duration::from_secs(600);

/// Durations, to a thousandth.
#[derive(Clone, Debug)]
pub struct Durations(Histogram<u64>);

impl Default for Durations {
    fn default() -> Self {
        // Bounds and digits are constants that it takes.
        Self(Histogram::new(3).expect("three digits are allowed"))
    }
}

impl From<Histogram<u64>> for Durations {
    /// Of microseconds.
    fn from(micros: Histogram<u64>) -> Self {
        Self(micros)
    }
}

impl Durations {
    /// Adds one.
    pub fn note(&mut self, duration: Duration) {
        let micros = u64::try_from(duration.min(LONGEST).as_micros()).unwrap_or(u64::MAX);
        // It grows to any value.
        let _ = self.0.record(micros);
    }

    pub(super) fn clear(&mut self) {
        self.0.reset();
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The least duration that this share of all does not exceed, 0 to 1; zero of none.
    pub fn quantile(&self, share: f64) -> Duration {
        Duration::from_micros(self.0.value_at_quantile(share))
    }

    /// How many are longer, to a thousandth.
    pub fn above(&self, duration: Duration) -> u64 {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        self.count() - self.0.count_between(0, micros)
    }

    /// Their average; zero of none.
    pub fn mean(&self) -> Duration {
        Duration::from_secs_f64(self.0.mean() / 1e6)
    }

    /// The longest, to a thousandth; zero of none.
    pub fn max(&self) -> Duration {
        Duration::from_micros(self.0.max())
    }
}

/// What came of requests.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// From the (intended) start to the last byte, or to the timeout.
    pub latency: Durations,
    /// Requests that began in this stretch and ended, however.
    pub requests: u64,
    /// Those among them that their visit had made before.
    pub again: u64,
    /// Requests that ended in this stretch, answered as the scenario expects or with what it tries
    /// again after.
    pub completed: u64,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Those that brought nothing, by kind.
    pub faults: BTreeMap<Fault, u64>,
}

impl Tally {
    /// Requests with a fault.
    pub fn errors(&self) -> u64 {
        self.faults.values().sum()
    }

    /// Requests with a fault, of all; 0 of none.
    pub fn error_share(&self) -> f64 {
        share(self.errors(), self.requests)
    }

    /// Requests made ÷ requests that the same visits need when nothing is tried again; 1 of none.
    pub fn retry_factor(&self) -> f64 {
        let first = self.requests - self.again;
        if first == 0 { 1.0 } else { self.requests as f64 / first as f64 }
    }

    /// Statuses and kinds of errors with their counts, for people.
    pub fn outcomes(&self) -> String {
        let statuses = self.statuses.iter().map(|(status, count)| format!("{status}: {count}"));
        let unanswered = |(fault, _): &(&Fault, &u64)| !matches!(fault, Fault::Status);
        let faults = self.faults.iter().filter(unanswered);
        let faults = faults.map(|(fault, count)| format!("{}: {count}", fault.name()));
        statuses.chain(faults).collect::<Vec<_>>().join(", ")
    }
}

/// All figures of a stretch of time.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// How long it was.
    pub length: Duration,
    /// Of all requests.
    pub total: Tally,
    /// Of each step of the scenario, in its order.
    pub steps: Vec<Tally>,
    /// Of visits that came to their last step, from arrival to end.
    pub visits: Durations,
    /// Visits that began in this stretch and ended before their last step.
    pub visits_failed: u64,
}

impl Figures {
    pub(super) fn of(steps: usize) -> Self {
        Self { steps: vec![Tally::default(); steps], ..Self::default() }
    }

    /// Requests completed ÷ time, in requests a second.
    pub fn tps(&self) -> f64 {
        self.per_second(self.total.completed)
    }

    /// Visits completed ÷ time, in visits a second.
    pub fn visits_per_second(&self) -> f64 {
        self.per_second(self.visits.count())
    }

    fn per_second(&self, count: u64) -> f64 {
        if self.length.is_zero() { 0.0 } else { count as f64 / self.length.as_secs_f64() }
    }
}

/// A part of a whole; 0 of nothing.
pub(super) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
