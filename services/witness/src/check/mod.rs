//! Runs over a record and reports what no history that keeps the promises could have answered.

mod cap;
mod epoch;
mod kept;
mod moments;
mod one_place;
mod order;
mod rate;

use serde::Serialize;

use crate::{
    Line, Rules,
    place::{Life, Place},
};

/// So many violations of one promise are reported; the rest follow from the same fault.
const MOST: usize = 5;
/// So many lines of the record are printed with a violation.
const SHOWN: usize = 12;

/// A promise that was broken, and the lines of the record that prove it.
#[derive(Debug, PartialEq, Eq)]
pub struct Violation {
    /// The number of the promise.
    pub promise: u8,
    /// What happened.
    pub what: String,
    /// Indexes of the lines in the record.
    pub lines: Vec<usize>,
}

impl Violation {
    pub(crate) fn new(promise: u8, what: String, lines: impl IntoIterator<Item = usize>) -> Self {
        let mut lines: Vec<_> = lines.into_iter().collect();
        lines.sort_unstable();
        lines.dedup();
        Self { promise, what, lines }
    }

    /// The violation with the lines that prove it, for a person to read.
    pub fn report(&self, record: &[impl Serialize]) -> String {
        let mut text = format!("promise {}: {}", self.promise, self.what);
        for at in self.lines.iter().take(SHOWN) {
            let line = serde_json::to_string(&record[*at]).unwrap_or_default();
            text.push_str(&format!("\n  line {}: {line}", at + 1));
        }
        if self.lines.len() > SHOWN {
            text.push_str(&format!("\n  and {} lines more", self.lines.len() - SHOWN));
        }
        text
    }
}

/// Holds a record to the promises 1 to 5 and to one life of the queue; empty when all were kept.
pub fn check(record: &[Line], rules: &Rules) -> Vec<Violation> {
    let mut violations = Vec::new();
    for life in Life::all(rules) {
        let places = Place::all(record, rules, life);
        for found in [
            cap::check(&places, rules),
            rate::check(&places, rules),
            order::check(&places),
            one_place::check(&places),
            kept::check(&places, rules),
            epoch::check(&places),
        ] {
            violations.extend(found.into_iter().take(MOST));
        }
    }
    violations
}

/// How close a record came to what the rules allow: a run that never does proves little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busiest {
    /// Certainly ready or active at once.
    pub inside: usize,
    /// Certainly promoted within one interval.
    pub promoted: usize,
}

/// The busiest instant and the busiest interval of a record.
pub fn busiest(record: &[Line], rules: &Rules) -> Busiest {
    let lives = Life::all(rules).into_iter().map(|life| Place::all(record, rules, life));
    lives.fold(Busiest { inside: 0, promoted: 0 }, |most, places| Busiest {
        inside: most.inside.max(cap::most(&places)),
        promoted: most.promoted.max(rate::most(&places, rules)),
    })
}
