//! One request that ended, and a second of them.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{Durations, Packed, merges};
use crate::client::Fault;

/// One request that ended.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Index of its step.
    pub step: usize,
    /// When it was to be sent.
    pub started: Instant,
    /// Its status, if there was an answer.
    pub status: Option<u16>,
    /// Whether its visit had made it before.
    pub again: bool,
    /// Why it failed.
    pub fault: Option<Fault>,
}

impl Sample {
    /// Whether the time that it took says something of the service.
    pub(super) fn waited(&self) -> bool {
        self.status.is_some() || self.fault == Some(Fault::Timeout)
    }
}

/// One second of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Second {
    /// Users, or visitors under way, at its end.
    pub users: u64,
    /// Requests that ended in it.
    pub requests: u64,
    /// Those that were completed.
    pub completed: u64,
    /// Those with a fault.
    pub errors: u64,
    latency: Packed,
}

impl Second {
    /// Of requests with an answer, and of timeouts.
    pub fn latency(&self) -> Durations {
        self.latency.durations()
    }

    /// A quantile of the latency in milliseconds; NaN without answers, a gap in a plot and null in
    /// JSON.
    pub fn quantile_ms(&self, share: f64) -> f64 {
        let latency = self.latency();
        let millis = latency.quantile(share).as_secs_f64() * 1e3;
        if latency.count() > 0 { millis } else { f64::NAN }
    }
}

merges!(Second { users, requests, completed, errors, latency });

/// A run, second by second.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Seconds {
    over: Vec<Second>,
    now: Second,
    latency: Durations,
}

// Those of another machine that are over.
merges!(Seconds { over });

impl Seconds {
    /// Adds a request that ended so long after the start, when there were so many users.
    pub fn add(&mut self, at: Duration, sample: &Sample, latency: Duration, users: u64) {
        self.turn(at, users);
        self.now.requests += 1;
        self.now.completed += u64::from(sample.fault.is_none());
        self.now.errors += u64::from(sample.fault.is_some());
        if sample.waited() {
            self.latency.note(latency);
        }
    }

    /// Ends the seconds before this moment, of which there were so many users in the last.
    pub fn turn(&mut self, at: Duration, users: u64) {
        while (self.over.len() as u64) < at.as_secs() {
            let latency = self.latency.pack();
            self.latency.clear();
            self.over.push(Second { users, latency, ..std::mem::take(&mut self.now) });
        }
    }

    /// Those that are over.
    pub fn over(&self) -> &[Second] {
        &self.over
    }
}
