//! The rules that a record is held to.

use std::time::Duration;

/// What was configured, for the whole time of the record, and when the store is known to have lost
/// writes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the configuration")]
pub struct Rules {
    pub capacity: Option<usize>,
    pub batch: Option<usize>,
    pub interval: Duration,
    pub claim_ttl: Duration,
    pub session_ttl: Duration,
    pub idle_ttl: Duration,
    pub first_poll_ttl: Duration,
    /// Whether a position can be up to 3 % off.
    pub local_answers: bool,
    /// Spans (µs of the record's clock) at whose end the store had lost acknowledged writes: from
    /// the moment it stopped until it answered again. Between them the promises hold for what it
    /// still has.
    pub losses: Vec<(u64, u64)>,
}

impl Rules {
    /// What both these and other rules forbid, where now these and now those are in force.
    #[must_use]
    pub fn or(self, other: &Self) -> Self {
        let most = |one: Option<usize>, other: Option<usize>| Some(one?.max(other?));
        // A turn is dated back by them: with others nothing is known of a rate.
        let times = |rules: &Self| (rules.interval, rules.claim_ttl);
        let batch = (times(&self) == times(other)).then(|| most(self.batch, other.batch));
        Self {
            capacity: most(self.capacity, other.capacity),
            batch: batch.flatten(),
            interval: self.interval.min(other.interval),
            claim_ttl: self.claim_ttl.min(other.claim_ttl),
            session_ttl: self.session_ttl.min(other.session_ttl),
            idle_ttl: self.idle_ttl.min(other.idle_ttl),
            first_poll_ttl: self.first_poll_ttl.min(other.first_poll_ttl),
            local_answers: self.local_answers || other.local_answers,
            losses: self.losses,
        }
    }
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
            local_answers: false,
            losses: Vec::new(),
        }
    }
}

/// Microseconds of a duration.
pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
