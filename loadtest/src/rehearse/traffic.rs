//! Requests to one side and their outcome, in all and second by second.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::client::Fault;
use crate::load::{Percentiles, Sample, Second, Seconds, Tally};

/// Requests to the waiting room, or to the protected service.
#[derive(Default, Serialize, Deserialize)]
pub struct Traffic {
    /// Of the whole run. Of the room a status from 400 on is an error, of the service what the
    /// scenario does not expect.
    pub total: Tally,
    seconds: Seconds,
}

impl Traffic {
    /// Adds a request that was sent at `sent` and ended now, `at` after the start.
    pub fn add(&mut self, at: Duration, sent: Instant, status: Option<u16>, fault: Option<Fault>) {
        let sample = Sample { step: 0, started: sent, status, again: false, fault };
        let latency = sent.elapsed();
        self.total.add(&sample, latency, true, true);
        self.seconds.add(at, &sample, latency, 0);
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

    /// By the second in which requests ended, from the start on.
    pub fn seconds(&self) -> &[Second] {
        self.seconds.over()
    }

    /// As `rehearse.json` shows it. A latency counts from the sending, with the connecting, to the
    /// end of the answer or the timeout.
    pub fn json(&self) -> Value {
        let second = |second: &Second| {
            json!({
                "requests": second.requests,
                "errors": second.errors,
                "p50_ms": second.quantile_ms(0.5),
                "p95_ms": second.quantile_ms(0.95),
            })
        };
        json!({
            "requests": self.total.requests,
            "errors": self.total.errors(),
            "error_share": self.total.error_share(),
            "statuses": self.total.statuses,
            "faults": self.total.faults,
            "latency_ms": Percentiles::from(&self.total.latency),
            "seconds": self.seconds().iter().map(second).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::objective::Objective;

    #[test]
    fn a_refused_connection_has_no_latency_and_a_timeout_has() {
        let mut traffic = Traffic::default();
        traffic.add(Duration::ZERO, Instant::now(), None, Some(Fault::Connect));
        let objective: Objective = "p95<1s".parse().expect("one");
        assert!(!objective.judge(&traffic.total).held);
        let ago = Instant::now().checked_sub(Duration::from_secs(30)).expect("uptime");
        traffic.add(Duration::ZERO, ago, None, Some(Fault::Timeout));
        assert!(objective.judge(&traffic.total).value.starts_with("300"));
    }
}
