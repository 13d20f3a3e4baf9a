//! Requests and their outcome, in all and second by second.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    client::Fault,
    load::{Percentiles, Sample, Second, Seconds, Tally},
};

/// Requests to one side.
#[derive(Default, Serialize, Deserialize)]
pub struct Traffic {
    /// Of the whole run.
    pub total: Tally,
    seconds: Seconds,
}

impl Traffic {
    /// Adds a request that ended so long after the start.
    pub fn add(&mut self, at: Duration, sample: &Sample) {
        let latency = sample.started.elapsed();
        self.total.add(sample, latency, true, true);
        self.seconds.add(at, sample, latency, 0);
    }

    /// Ends the seconds up to this moment.
    pub fn end(&mut self, at: Duration) {
        self.seconds.turn(at + Duration::from_secs(1), 0);
    }

    /// Adds that of another machine, when both have ended.
    pub fn merge(&mut self, other: &Self) {
        self.total.merge(&other.total);
        self.seconds.merge(&other.seconds);
    }

    /// For the report, when it has ended.
    pub fn summary(&self) -> TrafficSummary {
        let Tally { requests, latency, statuses, faults, .. } = &self.total;
        TrafficSummary {
            requests: *requests,
            errors: self.total.errors(),
            error_share: self.total.error_share(),
            statuses: statuses.clone(),
            faults: faults.clone(),
            latency_ms: latency.into(),
            seconds: self.seconds.over().iter().map(SecondSummary::of).collect(),
        }
    }
}

/// Requests to one side, as reported.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TrafficSummary {
    /// Answered or given up.
    pub requests: u64,
    /// Without an answer, or with a wrong one: from the room a status from 400 on, from the service
    /// what the scenario does not expect.
    pub errors: u64,
    /// Of all requests, 0 to 1.
    pub error_share: f64,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Errors by kind.
    pub faults: BTreeMap<Fault, u64>,
    /// From the sending, with the connecting, to the end of the answer or the timeout.
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
    /// Absent without answers.
    pub p50_ms: Option<f64>,
    /// Absent without answers.
    pub p95_ms: Option<f64>,
}

impl SecondSummary {
    fn of(second: &Second) -> Self {
        let Percentiles { count, p50, p95, .. } = (&second.latency()).into();
        let answered = |millis| (count > 0).then_some(millis);
        let (p50_ms, p95_ms) = (answered(p50), answered(p95));
        Self { requests: second.requests, errors: second.errors, p50_ms, p95_ms }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_refused_connection_has_no_latency_and_a_timeout_has() {
        let mut traffic = Traffic::default();
        let ago = |time| Instant::now().checked_sub(time).expect("the machine has been up as long");
        let sample = |started, fault| Sample {
            step: 0,
            started,
            status: None,
            again: false,
            fault: Some(fault),
        };
        traffic.add(Duration::ZERO, &sample(Instant::now(), Fault::Connect));
        let objective: crate::size::objective::Objective = "p95<1s".parse().expect("one");
        assert!(!objective.judge(&traffic.total).held);
        traffic.add(Duration::ZERO, &sample(ago(Duration::from_secs(30)), Fault::Timeout));
        assert!(objective.judge(&traffic.total).value.starts_with("300"));
    }
}
