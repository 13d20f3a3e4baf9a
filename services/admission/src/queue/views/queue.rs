//! The public state of a queue.

use std::time::Duration;

use anteroom_authorize::durations::{millis, moment};
use anteroom_authorize::queue::latest::until;
use anteroom_core::queue::{Snapshot, State};
use serde::Serialize;
use utoipa::ToSchema;

/// The state of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum StateView {
    /// Visitors can join and are admitted.
    Open,
    /// No visitor is admitted. Visitors can join, and admitted visitors stay.
    Paused,
    /// No new visitors can join. Waiting visitors are still admitted.
    Closed,
    /// Every visitor passes without waiting.
    Bypass,
}

impl From<State> for StateView {
    fn from(state: State) -> Self {
        match state {
            State::Open => Self::Open,
            State::Paused => Self::Paused,
            State::Closed => Self::Closed,
            State::Bypass => Self::Bypass,
        }
    }
}

/// What pauses a queue besides its state and its opening times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PausedBy {
    /// The protected service is unhealthy: the circuit breaker (target) is open or half open.
    Health,
}

/// The public state of a queue.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Queue)]
pub struct QueueView<'a> {
    /// The name of the queue.
    pub queue: &'a str,
    /// The state in force, including opening times.
    pub state: StateView,
    /// Present only while the protected service is unhealthy and this alone stops admission, or
    /// limits it to a few test visitors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_by: Option<PausedBy>,
    /// The operator's reason for the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    /// Waiting visitors, without inactive ones.
    pub depth: u64,
    /// Visitors who were called and have not entered yet.
    pub ready: u64,
    /// Visitors who have entered.
    pub active: u64,
    /// Visitors called per minute while others waited: over the last 5 minutes of such time, or the
    /// last 20 visitors. Null if unknown.
    #[schema(required = true)]
    pub rate_per_minute: Option<f64>,
    /// The time from which visitors can join.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2027-01-15T10:30:00Z")]
    pub joins_at: Option<String>,
    /// The time until then in milliseconds, by the clock of Redis; absent once it has come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joins_in_ms: Option<u64>,
    /// The time from which visitors are admitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2027-01-15T11:00:00Z")]
    pub opens_at: Option<String>,
    /// The time from which the queue is closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2027-01-15T14:00:00Z")]
    pub closes_at: Option<String>,
    /// Age of this data in milliseconds: at most 1 000 while Redis is up, at most 5 000 if it is
    /// down.
    pub age_ms: u64,
}

impl<'a> QueueView<'a> {
    /// The public part of a snapshot.
    pub fn new(queue: &'a str, snapshot: &'a Snapshot, age: Duration) -> Self {
        Self {
            queue,
            state: snapshot.state.into(),
            paused_by: paused_by(snapshot),
            reason: snapshot.reason.as_deref(),
            depth: snapshot.depth,
            ready: snapshot.ready,
            active: snapshot.active,
            rate_per_minute: snapshot.rate_per_second.map(|rate| (rate * 6_000.0).round() / 100.0),
            joins_at: snapshot.rules.joins_at.and_then(moment),
            joins_in_ms: until(snapshot.rules.joins_at, snapshot, age).map(millis),
            opens_at: snapshot.rules.opens_at.and_then(moment),
            closes_at: snapshot.rules.closes_at.and_then(moment),
            age_ms: millis(age),
        }
    }
}

/// What pauses the queue besides its state, by a snapshot.
pub fn paused_by(snapshot: &Snapshot) -> Option<PausedBy> {
    snapshot.paused_by_health.then_some(PausedBy::Health)
}
