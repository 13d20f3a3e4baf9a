//! The rules that a record is held to.

use std::time::Duration;

/// What was configured, for the whole time of the record, and when the store is known to have lost
/// writes.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names of the configuration")]
pub struct Rules {
    pub capacity: Option<usize>,
    pub batch: Option<usize>,
    pub interval: Duration,
    pub claim_ttl: Duration,
    pub session_ttl: Duration,
    pub idle_ttl: Duration,
    pub first_poll_ttl: Duration,
    /// Spans (µs of the record's clock) at whose end the store had lost acknowledged writes: from
    /// the moment it stopped until it answered again. Between them the promises hold for what it
    /// still has.
    pub losses: Vec<(u64, u64)>,
}

impl Default for Rules {
    /// The defaults of the configuration, without capacity and batch.
    fn default() -> Self {
        Self {
            capacity: None,
            batch: None,
            interval: Duration::from_secs(10),
            claim_ttl: Duration::from_secs(60),
            session_ttl: Duration::from_secs(300),
            idle_ttl: Duration::from_secs(600),
            first_poll_ttl: Duration::from_secs(60),
            losses: Vec::new(),
        }
    }
}

/// Microseconds of a duration.
pub(super) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
