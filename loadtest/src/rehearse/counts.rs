//! What is counted while the visitors go on.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anteroom_witness::Heard;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::cheat::{Came, FellFor, Trick};
use super::delivery::Deliveries;
use super::kind::Kind;
use super::mix::Habit;
use super::room::Look;
use crate::client::Fault;
use crate::load::{Durations, Merge as _, Percentiles, Sample, Second, Seconds, Tally, merges};

/// How a visit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The visitor was inside, and did what it came for.
    Served,
    /// It was inside, and its visit broke off: by an error, or the gate let it pass no more.
    Failed,
    /// It gave its place up in line.
    GaveUp,
    /// It was not heard of any more.
    DroppedOut,
    /// It did not take its turn.
    NoShow,
    /// It was refused for good.
    Refused,
}

/// What comes of a join.
pub const PLACE: &str = "a place";

/// Counts by two things.
pub type Table<K, V> = BTreeMap<K, BTreeMap<V, u64>>;

/// What is counted.
#[derive(Default, Serialize, Deserialize)]
pub struct Counts {
    /// Visitors that have come.
    pub came: u64,
    /// Visits that are over.
    pub ended: Table<Habit, End>,
    /// From the join to the turn, of all visitors who learnt theirs.
    pub waits: Durations,
    /// When places were promoted, in milliseconds, since the last line of `--follow`.
    pub promoted_ms: Vec<u128>,
    /// Requests to the waiting room.
    pub room: Traffic,
    /// The same by kind, and the events of their streams.
    pub kinds: BTreeMap<Kind, u64>,
    /// Requests to the protected service.
    pub service: Traffic,
    /// All requests, by the kind of connection.
    pub connections: Deliveries,
    /// How long visitors waited for a connection of the harness before a request, in no latency.
    pub connection_waits: Durations,
    /// Refusals by code.
    pub refusals: BTreeMap<String, u64>,
    /// Joins by what came of them: [`PLACE`], or status and code.
    pub joins: BTreeMap<String, u64>,
    /// What cheaters tried, and what came of it.
    pub tricks: Table<Trick, Came>,
    /// Tricks that the room fell for.
    pub fell_for: Vec<FellFor>,
    /// A look at the public state each second; absent when there was no answer.
    pub looks: Vec<Option<Look>>,
}

/// Requests to the waiting room, or to the protected service.
#[derive(Default, Serialize, Deserialize)]
pub struct Traffic {
    /// Of the whole run. Of the room a status from 400 on is an error, of the service what the
    /// scenario does not expect.
    pub total: Tally,
    /// By the second in which requests ended, from the start on.
    pub seconds: Seconds,
}

// When both have ended.
merges!(Traffic { total, seconds });

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
            "seconds": self.seconds.over().iter().map(second).collect::<Vec<_>>(),
        })
    }
}

impl Counts {
    /// Adds those of another machine.
    pub fn merge(&mut self, other: Self) {
        self.came += other.came;
        self.ended.merge_with(&other.ended);
        self.tricks.merge_with(&other.tricks);
        self.waits.merge_with(&other.waits);
        self.room.merge_with(&other.room);
        self.kinds.merge_with(&other.kinds);
        self.service.merge_with(&other.service);
        self.connections.merge_with(&other.connections);
        self.connection_waits.merge_with(&other.connection_waits);
        self.refusals.merge_with(&other.refusals);
        self.joins.merge_with(&other.joins);
        self.fell_for.extend(other.fell_for);
        // All look at the same room.
        if other.looks.len() > self.looks.len() {
            self.looks = other.looks;
        }
    }

    /// A request to the waiting room, or an event of a stream.
    pub fn note(&mut self, kind: Kind) {
        *self.kinds.entry(kind).or_default() += 1;
    }

    /// The waiting room refused a request, if it did.
    pub fn refused(&mut self, Heard { status, code, .. }: &Heard) {
        if status.is_some_and(|status| status >= 400) {
            let code = if code.is_empty() { "no code" } else { code };
            *self.refusals.entry(code.to_owned()).or_default() += 1;
        }
    }

    /// A join was answered, or was not.
    pub fn joined(&mut self, Heard { status, code, token, .. }: &Heard) {
        let status = status.map_or_else(String::new, |status| status.to_string());
        let refusal = format!("{status} {code}");
        let came = if token.is_some() { PLACE } else { refusal.trim() };
        *self.joins.entry(came.to_owned()).or_default() += 1;
    }

    /// Whether all joins were refused for good, and so many that none of so many visitors will be
    /// taken.
    pub fn are_all_refused(&self, visitors: u32) -> bool {
        let for_good = |came: &String| came.starts_with('4') && !came.starts_with("429");
        let joins: u64 = self.joins.values().sum();
        joins >= visitors.clamp(1, 20).into() && self.joins.keys().all(for_good)
    }

    /// A trick was tried.
    pub fn tried(&mut self, trick: Trick, came: Came) {
        *self.tricks.entry(trick).or_default().entry(came).or_default() += 1;
    }

    /// Whether a cheater tried to pass as another, and each way to do so had an answer.
    pub fn know_of_forgeries(&self) -> bool {
        let forges = |trick: &Trick| {
            matches!(trick, Trick::ForgedToken | Trick::ForeignToken | Trick::NoToken)
        };
        let is_answer = |came: &Came| matches!(came, Came::Refused | Came::Accepted);
        let mut forgeries = self.tricks.iter().filter(|(trick, _)| forges(trick));
        !self.tricks.is_empty() && forgeries.all(|(_, came)| came.keys().any(is_answer))
    }

    /// Tricks that the room fell for though it was to refuse them.
    pub fn accepted(&self) -> impl Iterator<Item = &FellFor> {
        let bypass = self.saw_bypass();
        let away = ["store_unavailable", "effect_unknown"];
        let store_away = away.iter().any(|code| self.refusals.contains_key(*code));
        self.fell_for.iter().filter(move |it| !it.is_excused(bypass, store_away))
    }

    /// Whether all were to pass at any look.
    pub fn saw_bypass(&self) -> bool {
        self.looks.iter().flatten().any(|look| look.bypass)
    }

    /// The longest line at any look.
    pub fn greatest_depth(&self) -> u64 {
        self.looks.iter().flatten().map(|look| look.depth).max().unwrap_or(0)
    }

    /// Visits that are over, whichever way.
    pub fn over(&self) -> u64 {
        self.ended.values().flat_map(BTreeMap::values).sum()
    }

    /// Visits that ended so.
    pub fn ended_as(&self, end: End) -> u64 {
        self.ended.values().filter_map(|ends| ends.get(&end)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::objective::Objective;

    #[test]
    fn of_forged_tokens_without_an_answer_nothing_is_known() {
        let mut counts = Counts::default();
        assert!(!counts.know_of_forgeries());
        counts.tried(Trick::ForgedToken, Came::Unclear);
        assert!(!counts.know_of_forgeries());
        counts.tried(Trick::ForgedToken, Came::Refused);
        assert!(counts.know_of_forgeries());
    }

    #[test]
    fn a_wait_may_be_longer_than_any_request() {
        let mut waits = Durations::default();
        waits.note(Duration::from_secs(1_500));
        assert!(waits.max() >= Duration::from_secs(1_500), "{:?}", waits.max());
    }

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
