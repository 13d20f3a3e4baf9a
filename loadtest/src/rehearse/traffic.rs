//! Requests and what came of them, whole and second by second.

use std::{collections::BTreeMap, fmt, time::Duration};

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::{
    rehearse::{
        answer,
        histogram::{histogram, record},
    },
    scenario,
    size::objective::Answers,
};

/// Why a request brought nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// There was no answer.
    NoAnswer(answer::Failure),
    /// One with a status that is none.
    Status(u16),
    /// One that the visit cannot go on with.
    Scenario(scenario::Failure),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAnswer(failure) => failure.fmt(f),
            Self::Status(status) => write!(f, "status {status}"),
            Self::Scenario(scenario::Failure::Retries) => f.write_str("tried too often"),
            Self::Scenario(_) => f.write_str("answer without the value"),
        }
    }
}

/// Requests to one side.
pub struct Traffic {
    requests: u64,
    /// Answers, by status.
    statuses: BTreeMap<u16, u64>,
    /// What failed, by kind.
    errors: BTreeMap<String, u64>,
    latency: Histogram<u64>,
    seconds: Vec<Second>,
}

/// Those that were answered, or given up, in one second.
struct Second {
    requests: u64,
    errors: u64,
    latency: Histogram<u64>,
}

impl Default for Traffic {
    fn default() -> Self {
        let (statuses, errors, seconds) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        Self { requests: 0, statuses, errors, latency: histogram(), seconds }
    }
}

impl Traffic {
    /// Adds a request that ended at `at` from the start, after `took`, with this status if it was
    /// answered.
    pub fn add(&mut self, at: Duration, took: Duration, status: Option<u16>, error: Option<Error>) {
        if let Some(status) = status {
            *self.statuses.entry(status).or_default() += 1;
        }
        let second = usize::try_from(at.as_secs()).unwrap_or(usize::MAX);
        while self.seconds.len() <= second {
            self.seconds.push(Second { requests: 0, errors: 0, latency: histogram() });
        }
        let second = &mut self.seconds[second];
        self.requests += 1;
        second.requests += 1;
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        // What a visitor waited is its latency, also in vain; a connection that was refused at once
        // says nothing of it.
        let in_vain = error == Some(Error::NoAnswer(answer::Failure::Timeout));
        if status.is_some() || in_vain {
            record(&mut self.latency, took);
            record(&mut second.latency, took);
        }
        if let Some(error) = error {
            *self.errors.entry(error.to_string()).or_default() += 1;
            second.errors += 1;
        }
    }

    /// What objectives are held against.
    pub fn answers(&self) -> Answers {
        Answers {
            latency: self.latency.clone().into(),
            requests: self.requests,
            errors: self.errors.values().sum(),
            statuses: self.statuses.clone(),
        }
    }

    /// What there is to report.
    pub fn summary(&self) -> TrafficSummary {
        let errors: u64 = self.errors.values().sum();
        TrafficSummary {
            requests: self.requests,
            errors,
            error_share: share(errors, self.requests),
            errors_by_kind: self.errors.clone(),
            latency_ms: Percentiles::of(&self.latency, 1_000.0),
            seconds: self.seconds.iter().map(Second::summary).collect(),
        }
    }
}

impl Second {
    fn summary(&self) -> SecondSummary {
        SecondSummary {
            requests: self.requests,
            errors: self.errors,
            p50_ms: millis(&self.latency, 0.5),
            p95_ms: millis(&self.latency, 0.95),
        }
    }
}

/// Requests to one side, as reported.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TrafficSummary {
    /// Answered or given up.
    pub requests: u64,
    /// Without an answer, or with one that is none: to the room a status from 400 on, to the
    /// service what the scenario does not expect.
    pub errors: u64,
    /// Of all requests, 0 to 1.
    pub error_share: f64,
    /// How many of each kind.
    pub errors_by_kind: BTreeMap<String, u64>,
    /// From the sending, with the connecting, to the end of the answer or the giving up.
    pub latency_ms: Percentiles,
    /// By the second in which requests ended, from the start on.
    pub seconds: Vec<SecondSummary>,
}

/// One second.
#[derive(Clone, Debug, Serialize)]
pub struct SecondSummary {
    /// Answered or given up in it.
    pub requests: u64,
    /// Of these.
    pub errors: u64,
    /// Absent without requests.
    pub p50_ms: Option<f64>,
    /// Absent without requests.
    pub p95_ms: Option<f64>,
}

/// A distribution.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Percentiles {
    pub count: u64,
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
}

impl Percentiles {
    /// Of a histogram whose unit is this part of the reported one.
    pub fn of(histogram: &Histogram<u64>, parts: f64) -> Self {
        let at = |quantile| float(histogram.value_at_quantile(quantile)) / parts;
        Self {
            count: histogram.len(),
            mean: histogram.mean() / parts,
            p50: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            max: float(histogram.max()) / parts,
        }
    }
}

/// A part of a whole, 0 to 1.
pub fn share(part: u64, whole: u64) -> f64 {
    float(part) / float(whole.max(1))
}

fn millis(latency: &Histogram<u64>, quantile: f64) -> Option<f64> {
    (!latency.is_empty()).then(|| float(latency.value_at_quantile(quantile)) / 1_000.0)
}

/// Counts and times here are far below 2^53.
pub fn float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_answers_holds_no_latency() {
        let mut traffic = Traffic::default();
        let refused = Error::NoAnswer(answer::Failure::Connect);
        traffic.add(Duration::ZERO, Duration::from_micros(200), None, Some(refused));
        let objective: crate::size::objective::Objective = "p95<1s".parse().expect("one");
        assert!(!objective.judge(&traffic.answers()).held);
        let late = Error::NoAnswer(answer::Failure::Timeout);
        traffic.add(Duration::ZERO, Duration::from_secs(30), None, Some(late));
        assert!(objective.judge(&traffic.answers()).value.starts_with("300"));
    }
}
