//! Promise 10, from the outside: the answers that callers of one pool got.
//!
//! A call takes effect between its sending and the reception of its answer; one without an answer
//! at any moment after its sending, or never. So at each moment there is a most that can have been
//! funded, and a least that was certainly taken; and the other way round.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde::Serialize;

use crate::{Violation, rules::micros};

/// What was requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// More money.
    Fund {
        /// How much.
        amount: u64,
    },
    /// A reservation.
    Hold {
        /// The most that it can pay.
        amount: u64,
    },
    /// The end of a hold that pays.
    Settle {
        /// What is paid of it.
        amount: u64,
    },
    /// The end of a hold that pays nothing.
    Cancel,
    /// A longer hold.
    Extend,
    /// Hold and settle in one.
    Draw {
        /// What is paid.
        amount: u64,
    },
    /// The pool as a whole.
    Look,
}

/// The sums that an answer to [`Call::Look`] shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the names of the interface")]
pub struct Sums {
    pub funded: u64,
    pub balance: u64,
    pub held: u64,
    pub paid: u64,
}

/// One request and what came of it. Times are microseconds of the record's own clock.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// The operation: of a hold also the calls that end it, and of all their repeats.
    pub operation: u64,
    /// What was requested.
    pub call: Call,
    /// When it was sent.
    pub sent: u64,
    /// When the answer was there, or waiting for it was given up.
    pub received: u64,
    /// Absent when no whole answer came.
    pub status: Option<u16>,
    /// The code of a refusal.
    pub code: String,
    /// What a look showed.
    pub sums: Option<Sums>,
}

impl Call {
    fn amount(self) -> u64 {
        match self {
            Self::Fund { amount }
            | Self::Hold { amount }
            | Self::Settle { amount }
            | Self::Draw { amount } => amount,
            Self::Cancel | Self::Extend | Self::Look => 0,
        }
    }

    fn funds(self) -> bool {
        matches!(self, Self::Fund { .. })
    }

    fn takes(self) -> bool {
        matches!(self, Self::Hold { .. } | Self::Draw { .. })
    }

    fn settles(self) -> bool {
        matches!(self, Self::Settle { .. })
    }
}

impl Line {
    fn done(&self) -> bool {
        matches!(self.status, Some(200..=204))
    }

    /// Whether it may have had an effect: refusals have none.
    fn may_be_done(&self) -> bool {
        self.done() || self.status.is_none_or(|status| status >= 500)
    }
}

/// All calls of one operation, in the order in which they were sent.
struct Operation<'a> {
    lines: Vec<(usize, &'a Line)>,
}

impl<'a> Operation<'a> {
    /// When the first call of this kind was certainly done, and by which line.
    fn done(&self, is: impl Fn(Call) -> bool) -> Option<(u64, usize, &'a Line)> {
        let of = self.lines.iter().filter(|(_, line)| is(line.call) && line.done());
        of.map(|(at, line)| (line.received, *at, *line)).min_by_key(|(moment, ..)| *moment)
    }

    /// When the first call of this kind may have been done.
    fn may_be_done(&self, is: impl Fn(Call) -> bool) -> Option<(u64, &'a Line)> {
        let of = self.lines.iter().filter(|(_, line)| is(line.call) && line.may_be_done());
        of.map(|(_, line)| (line.sent, *line)).min_by_key(|(moment, _)| *moment)
    }

    /// What it is certain to take from the pool: from when, until when, how much, by which line.
    fn takes(&self, hold_ttl: u64) -> Vec<Taking> {
        let mut takings = Vec::new();
        if let Some((from, line, done)) = self.done(|call| matches!(call, Call::Draw { .. })) {
            takings.push(Taking { from, until: u64::MAX, amount: done.call.amount(), line });
        }
        if let Some((from, line, done)) = self.done(Call::settles) {
            takings.push(Taking { from, until: u64::MAX, amount: done.call.amount(), line });
        }
        if let Some((from, line, done)) = self.done(|call| matches!(call, Call::Hold { .. })) {
            // At the latest it ends by itself, counted from the first moment at which it may have
            // begun; at the earliest with a call that may have ended it.
            let begun = self.may_be_done(|call| matches!(call, Call::Hold { .. }));
            let over = begun.map_or(from, |(sent, _)| sent.saturating_add(hold_ttl));
            let ends = |call: Call| call.settles() || call == Call::Cancel;
            let ended = self.may_be_done(ends).map_or(over, |(sent, _)| sent.min(over));
            takings.push(Taking { from, until: ended, amount: done.call.amount(), line });
        }
        takings
    }
}

/// A sum that was certainly taken for a span of time.
struct Taking {
    from: u64,
    until: u64,
    amount: u64,
    line: usize,
}

/// Holds a record of one pool, empty before it and funded by no other caller, to promise 10; empty
/// when it was kept. `hold_ttl` is the rule of the pool.
pub fn check(record: &[Line], hold_ttl: Duration) -> Vec<Violation> {
    let operations = operations(record);
    let mut violations = unbalanced(record);
    violations.extend(overdrawn(&operations, micros(hold_ttl)));
    violations.extend(wrongly_refused(record, &operations));
    violations.extend(operations.iter().filter_map(ended_twice));
    violations
}

fn operations(record: &[Line]) -> Vec<Operation<'_>> {
    let mut of: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    for (at, line) in record.iter().enumerate().filter(|(_, line)| line.call != Call::Look) {
        of.entry(line.operation).or_default().push((at, line));
    }
    of.values_mut().for_each(|lines| lines.sort_by_key(|(_, line)| line.sent));
    of.into_values().map(|lines| Operation { lines }).collect()
}

/// A look whose sums do not agree.
fn unbalanced(record: &[Line]) -> Vec<Violation> {
    let looks = record.iter().enumerate().filter_map(|(at, line)| Some((at, line.sums?)));
    let wrong = looks.filter(|(_, sums)| sums.funded != sums.balance + sums.held + sums.paid);
    let accuse = |(at, sums)| Violation::new(10, format!("{sums:?} do not add up"), [at]);
    wrong.map(accuse).collect()
}

/// More that was certainly taken at once than can have been funded by then.
fn overdrawn(operations: &[Operation<'_>], hold_ttl: u64) -> Option<Violation> {
    // In one instant what ends, and what is funded, comes before what is taken.
    let (ends, funded, begins) = (0, 1, 2);
    let mut changes = Vec::new();
    for taking in operations.iter().flat_map(|operation| operation.takes(hold_ttl)) {
        if taking.from < taking.until {
            let amount = i128::from(taking.amount);
            changes.push((taking.from, begins, amount, taking.line));
            changes.push((taking.until, ends, -amount, taking.line));
        }
    }
    for (sent, line) in operations.iter().filter_map(|it| it.may_be_done(Call::funds)) {
        changes.push((sent, funded, -i128::from(line.call.amount()), 0));
    }
    changes.sort_unstable();
    let (mut taken, mut lines) = (0, BTreeSet::new());
    for (moment, kind, amount, line) in changes {
        taken += amount;
        if kind == begins {
            lines.insert(line);
        } else if kind == ends {
            lines.remove(&line);
        }
        if taken > 0 {
            let what = format!("{taken} more taken than funded at {moment} µs");
            return Some(Violation::new(10, what, lines));
        }
    }
    None
}

/// A refusal for want of money, though there was certainly enough all the time.
fn wrongly_refused(record: &[Line], operations: &[Operation<'_>]) -> Vec<Violation> {
    let least = LeastBalance::of(operations);
    let refused = record
        .iter()
        .enumerate()
        .filter(|(_, line)| line.call.takes() && line.code == "insufficient_balance");
    let wrong = refused.filter_map(|(at, line)| {
        let least = least.during(line.sent, line.received);
        let what = format!("refused, though at least {least} were there");
        (least >= i128::from(line.call.amount())).then(|| Violation::new(10, what, [at]))
    });
    wrong.collect()
}

/// What was certainly in the balance.
struct LeastBalance {
    /// What had come in by a moment, at the least.
    came: Sum,
    /// What had gone out by a moment, at the most.
    went: Sum,
}

impl LeastBalance {
    fn of(operations: &[Operation<'_>]) -> Self {
        let (mut came, mut went) = (Vec::new(), Vec::new());
        for operation in operations {
            if let Some((done, _, line)) = operation.done(Call::funds) {
                came.push((done, i128::from(line.call.amount())));
            }
            let Some((sent, begun)) = operation.may_be_done(Call::takes) else { continue };
            let amount = i128::from(begun.call.amount());
            went.push((sent, amount));
            // What a hold does not pay comes back with its end, unless another end may follow.
            if let Some((done, _, line)) = operation.done(Call::settles) {
                came.push((done, amount - i128::from(line.call.amount())));
            } else if operation.may_be_done(Call::settles).is_none()
                && let Some((done, ..)) = operation.done(|call| call == Call::Cancel)
            {
                came.push((done, amount));
            }
        }
        Self { came: Sum::of(came), went: Sum::of(went) }
    }

    /// At every moment of a call.
    fn during(&self, sent: u64, received: u64) -> i128 {
        self.came.by(sent) - self.went.by(received)
    }
}

/// A sum that changes with time.
struct Sum(Vec<(u64, i128)>);

impl Sum {
    fn of(mut changes: Vec<(u64, i128)>) -> Self {
        changes.sort_unstable();
        let mut sum = 0;
        for (_, change) in &mut changes {
            sum += *change;
            *change = sum;
        }
        Self(changes)
    }

    fn by(&self, moment: u64) -> i128 {
        let after = self.0.partition_point(|(at, _)| *at <= moment);
        after.checked_sub(1).map_or(0, |at| self.0[at].1)
    }
}

/// A hold that was settled after it was cancelled, cancelled after it was settled, or settled for
/// two sums.
fn ended_twice(operation: &Operation<'_>) -> Option<Violation> {
    let ends = |(_, line): &&(usize, &Line)| {
        line.done() && (line.call.settles() || line.call == Call::Cancel)
    };
    let mut ends = operation.lines.iter().filter(ends);
    let (first, one) = ends.next()?;
    let (second, other) = ends.find(|(_, line)| line.call != one.call)?;
    let what = format!("a hold ended by {:?} and by {:?}", one.call, other.call);
    Some(Violation::new(10, what, [*first, *second]))
}
