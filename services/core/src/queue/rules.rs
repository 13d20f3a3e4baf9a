//! The rules of a queue, as the configuration declares them.

use std::time::Duration;

/// How a batch is spread over its interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// In slices, so that the protected service feels a stream.
    Even,
    /// All at once at each interval.
    Batch,
}

impl Pace {
    /// The name in the configuration and the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Even => "even",
            Self::Batch => "batch",
        }
    }
}

/// Whether a queue takes in and lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Joins and promotion go on.
    Open,
    /// Promotion stops; joins, claims, renewals and expiry go on.
    Paused,
    /// No new joins; those in line are still served.
    Closed,
    /// Authorize passes everyone; needs an end.
    Bypass,
}

impl State {
    /// The name in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Paused => "paused",
            Self::Closed => "closed",
            Self::Bypass => "bypass",
        }
    }
}

/// The rules of one queue. At least one of `capacity` and `batch` is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Most places ready + active at any instant, 1 to 1 000 000 000.
    pub capacity: Option<u64>,
    /// Most promotions in any interval, 1 to 1 000 000.
    pub batch: Option<u64>,
    /// The interval of `batch`, 1 s to 1 h.
    pub interval: Duration,
    /// How the batch is spread over the interval.
    pub pace: Pace,
    /// How long a turn is held for its visitor, 5 s to 1 h.
    pub claim_ttl: Duration,
    /// How long an active place lives without renewal, 5 s to 24 h.
    pub session_ttl: Duration,
    /// How long an active place lives at most, `session_ttl` to 7 d.
    pub session_max: Duration,
    /// How long a waiting place may be unseen before it is passed over, 60 s to 24 h.
    pub idle_ttl: Duration,
    /// How long a place that is away keeps its ticket, 60 s to 7 d.
    pub keep_ttl: Duration,
    /// How long a new place may go without its first poll, 30 s to `idle_ttl`.
    pub first_poll_ttl: Duration,
    /// Most places waiting, 1 to 10 000 000.
    pub max_waiting: u64,
    /// Seconds since 1970 by the store's clock from which joins are taken.
    pub joins_at: Option<u64>,
    /// Seconds since 1970 from which places are promoted.
    pub opens_at: Option<u64>,
    /// Seconds since 1970 from which the queue is closed.
    pub closes_at: Option<u64>,
    /// Whether admission answers for active places by itself; then a slot that is freed before its time
    /// is given away a moment later.
    pub local_answers: bool,
}
