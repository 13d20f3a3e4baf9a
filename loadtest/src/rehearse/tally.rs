//! What is counted while the visitors go on.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::rehearse::{
    answer::{Answer, Failure},
    cheat::{FellFor, Trick, Tried},
    histogram::{histogram, record},
    mix::Habit,
    room::Look,
    traffic::{Error, Traffic},
};

/// How a visit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
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

/// Counts of one run.
pub struct Tally {
    started: Instant,
    counts: Mutex<Counts>,
}

/// What is counted.
pub struct Counts {
    /// Visitors that have come, by habit.
    pub came: BTreeMap<Habit, u64>,
    /// Visits that are over.
    pub ended: BTreeMap<Habit, BTreeMap<End, u64>>,
    /// Milliseconds from the join to the turn, of all who were told theirs.
    pub waits: Histogram<u64>,
    /// When places were promoted, in milliseconds, since `--follow` said so last.
    pub promoted_ms: Vec<u64>,
    /// Requests to the waiting room.
    pub room: Traffic,
    /// Requests to the protected service.
    pub service: Traffic,
    /// Refusals by code.
    pub refusals: BTreeMap<String, u64>,
    /// What cheaters tried.
    pub tricks: BTreeMap<Trick, Tried>,
    /// Tricks that the room fell for.
    pub fell_for: Vec<FellFor>,
    /// A look at the public state each second; absent when there was no answer.
    pub looks: Vec<Option<Look>>,
}

impl Tally {
    /// Nothing yet; time runs from now on.
    pub fn new() -> Self {
        let counts = Counts {
            came: BTreeMap::new(),
            ended: BTreeMap::new(),
            waits: histogram(),
            promoted_ms: Vec::new(),
            room: Traffic::default(),
            service: Traffic::default(),
            refusals: BTreeMap::new(),
            tricks: BTreeMap::new(),
            fell_for: Vec::new(),
            looks: Vec::new(),
        };
        Self { started: Instant::now(), counts: Mutex::new(counts) }
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// The counts.
    pub fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A visitor comes.
    pub fn comes(&self, habit: Habit) {
        *self.counts().came.entry(habit).or_default() += 1;
    }

    /// A visit is over.
    pub fn ends(&self, habit: Habit, end: End) {
        *self.counts().ended.entry(habit).or_default().entry(end).or_default() += 1;
    }

    /// A request to the waiting room took so long until now. Statuses from 400 on are errors.
    pub fn asked_room(&self, sent: Instant, answer: Result<&Answer, Failure>) {
        let at = self.elapsed();
        let status = answer.ok().map(|answer| answer.status);
        let error = match answer {
            Ok(answer) => (answer.status >= 400).then_some(Error::Status(answer.status)),
            Err(failure) => Some(Error::NoAnswer(failure)),
        };
        self.counts().room.add(at, sent.elapsed(), status, error);
    }

    /// A request to the protected service took so long until now. The scenario says what is an
    /// error.
    pub fn asked_service(&self, sent: Instant, status: Option<u16>, error: Option<Error>) {
        let at = self.elapsed();
        self.counts().service.add(at, sent.elapsed(), status, error);
    }

    /// A turn was told; it came so long after the join.
    pub fn waited(&self, micros: u64) {
        record(&mut self.counts().waits, micros / 1_000);
    }
}

impl Counts {
    /// Whether somebody tried to pass as another, and each way to do so had an answer.
    pub fn know_of_forgeries(&self) -> bool {
        let forges = |trick: &Trick| {
            matches!(trick, Trick::ForgedToken | Trick::ForeignToken | Trick::NoToken)
        };
        let answered = |tried: &Tried| tried.refused + tried.accepted > 0;
        let mut tried = self.tricks.iter().filter(|(trick, _)| forges(trick));
        !self.tricks.is_empty() && tried.all(|(_, tried)| answered(tried))
    }

    /// Tricks that the room fell for though it was to refuse them.
    pub fn accepted(&self) -> impl Iterator<Item = &FellFor> {
        let bypass = self.saw_bypass();
        let away = ["store_unavailable", "effect_unknown"];
        let store_away = away.iter().any(|code| self.refusals.contains_key(*code));
        self.fell_for.iter().filter(move |it| !it.is_excused(bypass, store_away))
    }

    /// Whether everybody was to pass at any look.
    pub fn saw_bypass(&self) -> bool {
        self.looks.iter().flatten().any(|look| look.bypass)
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

    #[test]
    fn of_forged_tokens_that_nobody_answers_nothing_is_known() {
        let tally = Tally::new();
        assert!(!tally.counts().know_of_forgeries());
        let put_off = Tried { tried: 79, ..Tried::default() };
        tally.counts().tricks.insert(Trick::ForgedToken, put_off);
        assert!(!tally.counts().know_of_forgeries());
        tally.counts().tricks.insert(Trick::ForgedToken, Tried { refused: 1, ..put_off });
        assert!(tally.counts().know_of_forgeries());
    }
}
