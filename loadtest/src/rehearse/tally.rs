//! What is counted while the visitors go on.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::cheat::{FellFor, Trick, Tried};
use super::lock;
use super::mix::Habit;
use super::room::Look;
use super::traffic::Traffic;
use crate::load::{Durations, add_counts};

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

/// Counts of one run.
pub struct Tally {
    started: Instant,
    counts: Mutex<Counts>,
}

/// What is counted.
#[derive(Default, Serialize, Deserialize)]
pub struct Counts {
    /// Visitors that have come, by habit.
    pub came: BTreeMap<Habit, u64>,
    /// Visits that are over.
    pub ended: BTreeMap<Habit, BTreeMap<End, u64>>,
    /// From the join to the turn, of all visitors who learnt theirs.
    pub waits: Durations,
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
        Self { started: Instant::now(), counts: Mutex::default() }
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// The counts.
    pub fn counts(&self) -> MutexGuard<'_, Counts> {
        lock(&self.counts)
    }

    /// A visitor comes.
    pub fn comes(&self, habit: Habit) {
        *self.counts().came.entry(habit).or_default() += 1;
    }

    /// A visit is over.
    pub fn ends(&self, habit: Habit, end: End) {
        *self.counts().ended.entry(habit).or_default().entry(end).or_default() += 1;
    }

    /// A turn was told; it came so long after the join.
    pub fn waited(&self, micros: u64) {
        self.counts().waits.note(Duration::from_micros(micros));
    }
}

impl Counts {
    /// Adds those of another machine.
    pub fn merge(&mut self, other: Self) {
        add_counts(&mut self.came, &other.came);
        for (habit, ends) in &other.ended {
            add_counts(self.ended.entry(*habit).or_default(), ends);
        }
        self.waits.merge(&other.waits);
        self.room.merge(&other.room);
        self.service.merge(&other.service);
        add_counts(&mut self.refusals, &other.refusals);
        for (trick, tried) in &other.tricks {
            self.tricks.entry(*trick).or_default().merge(tried);
        }
        self.fell_for.extend(other.fell_for);
        // All look at the same room.
        if other.looks.len() > self.looks.len() {
            self.looks = other.looks;
        }
    }

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

    /// The longest line at any look.
    pub fn greatest_depth(&self) -> u64 {
        self.looks.iter().flatten().map(|look| look.depth).max().unwrap_or(0)
    }

    /// Visitors that have come.
    pub fn all_came(&self) -> u64 {
        self.came.values().sum()
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
