//! The public state of a queue.

use std::time::Duration;

use anteroom_core::queue::{Snapshot, State};
use serde::Serialize;
use utoipa::ToSchema;

use crate::durations::{millis, moment};

/// Whether a queue takes in and lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum StateView {
    /// Joins and promotion go on.
    Open,
    /// Promotion stops; all else goes on.
    Paused,
    /// No new joins; those in line are still served.
    Closed,
    /// Everyone passes.
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
    /// The service that visitors wait for does not do well.
    Health,
}

/// A queue as anybody may see it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Queue)]
pub struct QueueView<'a> {
    /// The name.
    pub queue: &'a str,
    /// The state in force, opening times applied.
    pub state: StateView,
    /// Present while the service that visitors wait for does not do well and for that alone nobody
    /// is promoted, or only a few to find out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_by: Option<PausedBy>,
    /// What the operator gave as the reason for the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    /// Places waiting and present.
    pub depth: u64,
    /// Places whose turn has come, unclaimed.
    pub ready: u64,
    /// Places claimed.
    pub active: u64,
    /// Turns a minute while places waited, in the last five minutes of such time or the last 20
    /// turns; null when unknown.
    #[schema(required = true)]
    pub rate_per_minute: Option<f64>,
    /// From when on joins are taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2027-01-15T10:30:00Z")]
    pub joins_at: Option<String>,
    /// From when on places are promoted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2027-01-15T11:00:00Z")]
    pub opens_at: Option<String>,
    /// From when on the queue is closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "2027-01-15T14:00:00Z")]
    pub closes_at: Option<String>,
    /// How old this is, in milliseconds: at most 1 000 while Redis is up, at most 5 000 if it is
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
