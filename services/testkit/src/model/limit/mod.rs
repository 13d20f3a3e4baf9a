//! Limits in plain Rust. An algorithm says only whether so many units fit at a time, and takes
//! them; what is left, and when there is room again, is found by trying.

mod counter;

use std::collections::BTreeMap;

pub use counter::{Algorithm, Rule};

use counter::Counter;

/// What names a counter: its limit, its group, its key.
type Name = (String, String, String);

/// One check.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of the specification")]
pub struct Check {
    pub limit: String,
    pub group: String,
    pub key: String,
    pub rule: Rule,
    pub cost: u64,
}

/// What a check says; times in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Whether its units fit.
    pub fits: bool,
    /// Whether its limit is a shadow, which refuses no call.
    pub shadow: bool,
    /// Units left.
    pub remaining: u64,
    /// Until all of them are back.
    pub reset: u64,
    /// Until its own units fit.
    pub retry_after: u64,
}

/// What a call says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Whether it is allowed, whether an earlier call decided it, and its checks.
    Decided(bool, bool, Vec<Checked>),
    /// The name was used for another call.
    Mismatch,
}

/// A call that had a name.
#[derive(Clone, Debug)]
struct Made {
    checks: Vec<(Name, u64)>,
    at: u64,
    fitted: Vec<bool>,
}

/// All limits.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    counters: BTreeMap<(Algorithm, Name), Counter>,
    made: BTreeMap<(bool, Name), Made>,
}

impl Limits {
    /// Decides a call at this time of the store's clock (µs). `several`: it is one of several
    /// checks, which have names of their own.
    pub fn check(
        &mut self,
        wall: u64,
        checks: &[Check],
        several: bool,
        id: Option<&str>,
    ) -> Answer {
        let looks: Vec<_> = checks.iter().map(|check| self.look(wall, check)).collect();
        let outcomes: Vec<_> = looks.iter().map(|(_, checked)| *checked).collect();
        let payload: Vec<_> = checks.iter().map(|check| (check.name(), check.cost)).collect();
        // The first of the longest windows decides when.
        let longest = checks.iter().map(|check| check.rule.window_ms).max().unwrap_or_default();
        let at = checks.iter().zip(&looks).find(|(check, _)| check.rule.window_ms == longest);
        let at = at.map_or(0, |(_, (now, _))| *now);
        let name = id.map(|id| {
            let mut limits: Vec<_> = checks.iter().map(|check| check.limit.as_str()).collect();
            limits.sort_unstable();
            (several, (limits.join(" "), checks[0].group.clone(), id.to_owned()))
        });
        if let Some(name) = &name
            && let Some(made) = self.made.get(name)
            && made.at + 1000 * longest > at
        {
            if made.checks != payload {
                return Answer::Mismatch;
            }
            let again = outcomes.into_iter().zip(&made.fitted);
            let again =
                again.map(|(checked, fits)| Checked { fits: *fits, retry_after: 0, ..checked });
            return Answer::Decided(true, true, again.collect());
        }
        if outcomes.iter().any(|it| !it.fits && !it.shadow) {
            return Answer::Decided(false, false, outcomes);
        }
        let mut taken = 0;
        for (check, checked) in checks.iter().zip(&outcomes).filter(|(_, it)| it.fits) {
            self.counter(check).take(wall, check.cost);
            taken += if checked.fits { check.cost } else { 0 };
        }
        if let Some(name) = name.filter(|_| taken > 0) {
            let fitted = outcomes.iter().map(|it| it.fits).collect();
            self.made.insert(name, Made { checks: payload, at, fitted });
        }
        let after = checks.iter().zip(&outcomes).map(|(check, before)| {
            let (_, now) = self.look(wall, check);
            let retry_after = if before.fits { 0 } else { now.retry_after };
            Checked { fits: before.fits, retry_after, ..now }
        });
        Answer::Decided(true, false, after.collect())
    }

    /// Forgets a key; whether there was anything.
    pub fn forget(&mut self, limit: &str, group: &str, key: &str) -> bool {
        let name = (limit.to_owned(), group.to_owned(), key.to_owned());
        let before = self.counters.len();
        self.counters.retain(|(_, other), counter| *other != name || !counter.is_written());
        self.counters.len() < before
    }

    fn counter(&mut self, check: &Check) -> &mut Counter {
        let name = (check.rule.algorithm, check.name());
        self.counters.entry(name).or_default().under(check.rule)
    }

    /// Limit time (µs), and what the check says of it.
    fn look(&mut self, wall: u64, check: &Check) -> (u64, Checked) {
        let counter = self.counter(check);
        let now = counter.now(wall);
        // Two windows later everything has gone.
        let until =
            |units| first(2 * check.rule.window_ms + 1, |ms| counter.fits(units, now + 1000 * ms));
        let needed = check.cost.max(1);
        let checked = Checked {
            fits: counter.fits(needed, now),
            shadow: check.rule.shadow,
            remaining: first(check.rule.limit, |units| !counter.fits(units + 1, now)),
            reset: until(check.rule.limit),
            retry_after: until(needed),
        };
        (now, checked)
    }
}

impl Check {
    fn name(&self) -> Name {
        (self.limit.clone(), self.group.clone(), self.key.clone())
    }
}

/// The least number, up to `most`, from which on something holds.
fn first(most: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut from, mut to) = (0, most);
    while from < to {
        let middle = u64::midpoint(from, to);
        if holds(middle) {
            to = middle;
        } else {
            from = middle + 1;
        }
    }
    from
}
