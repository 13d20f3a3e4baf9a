//! The ledger: a line for each movement, and what they come to.

use super::reserve::HoldId;
use super::{Pool, scripts};
use crate::numbered::numbered;
use crate::store::{Error, Numbers, Repeat, Reply};

/// The most lines that one look at the ledger shows.
pub const MAX_LINES: u64 = 200;

numbered! {
    /// What moved.
    pub Movement {
        /// Money was put in.
        Funded = "funded",
        /// A hold reserved it.
        Held = "held",
        /// Of a hold, the amount was paid; what it released of it is freed.
        Settled = "settled",
        /// A hold was cancelled.
        Cancelled = "cancelled",
        /// A hold has ended.
        Expired = "expired",
        /// It was paid at once.
        Drawn = "drawn",
    }
}

impl Movement {
    pub(super) fn of(number: u64, numbers: &Numbers) -> Result<Self, Error> {
        Self::numbered(number).ok_or_else(|| numbers.error(format!("unknown movement {number}")))
    }
}

/// Where the money of a pool is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// To be given out.
    pub balance: u64,
    /// Reserved by holds.
    pub held: u64,
    /// Paid.
    pub paid: u64,
    /// All that was ever put in.
    pub funded: u64,
}

impl Sums {
    pub(super) fn read(numbers: &mut Numbers) -> Result<Self, Error> {
        Ok(Self {
            balance: numbers.count()?,
            held: numbers.count()?,
            paid: numbers.count()?,
            funded: numbers.count()?,
        })
    }

    /// Whether all that was put in is somewhere.
    pub fn is_whole(&self) -> bool {
        self.funded == self.balance + self.held + self.paid
    }
}

/// One movement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number, from 1.
    pub seq: u64,
    /// What moved.
    pub movement: Movement,
    /// What was funded, held or paid.
    pub amount: u64,
    /// What a hold that is over had reserved until then.
    pub released: u64,
    /// The balance after it.
    pub balance: u64,
    /// When, by the store's clock, in microseconds since 1970.
    pub at_us: u64,
    /// Which hold, if any.
    pub hold: Option<HoldId>,
    /// Which draw or funds, by the name that the caller gave; absent of the funds of a file.
    pub operation_id: Option<String>,
}

/// Which part of the ledger is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerFrom {
    /// The movements behind this number, oldest first.
    After(u64),
    /// The movements before this number, newest first.
    Before(u64),
}

/// A part of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    /// The last line that is summed up, and not shown any more; 0 when there is none.
    pub opening_seq: u64,
    /// What the lines up to it come to.
    pub opening: Sums,
    /// The last line of all.
    pub last_seq: u64,
    /// Lines, in the order that was requested.
    pub lines: Vec<Line>,
    /// Where the next part begins, in the same order; absent at the end.
    pub next: Option<u64>,
}

/// What a pool has, by its ledger and by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Audit {
    /// What the opening and all lines come to.
    pub computed: Sums,
    /// What the pool has.
    pub kept: Sums,
    /// Lines read.
    pub lines: u64,
    /// Numbers that no line has.
    pub missing: u64,
}

impl Audit {
    /// Whether both say the same, nothing is missing, and all money is somewhere.
    pub fn holds(&self) -> bool {
        self.computed == self.kept && self.missing == 0 && self.kept.is_whole()
    }
}

impl Pool {
    /// A part of the ledger: at most so many movements, [`MAX_LINES`] or less.
    pub async fn ledger(&self, from: LedgerFrom, limit: u64) -> Result<Ledger, Error> {
        let (after, before) = match from {
            LedgerFrom::After(after) => (after, 0),
            // None is before the first.
            LedgerFrom::Before(before) => (0, before.max(1)),
        };
        let limit = limit.clamp(1, MAX_LINES);
        let args = self.entity().args().with(after).with(before).with(limit);
        let mut reply = self.entity().ask(&scripts::LEDGER, args, Repeat::IfUnknown).await?;
        let mut numbers = reply.packed()?;
        let mut ledger = Ledger {
            opening_seq: numbers.count()?,
            opening: Sums::read(&mut numbers)?,
            last_seq: numbers.count()?,
            lines: Vec::new(),
            next: None,
        };
        numbers.end()?;
        while !reply.is_empty() {
            ledger.lines.push(line(&mut reply)?);
        }
        if before == 0 {
            let last = ledger.lines.last().map(|line| line.seq);
            ledger.next = last.filter(|last| *last < ledger.last_seq);
        } else {
            ledger.lines.reverse();
            let first = before.min(ledger.last_seq + 1).saturating_sub(limit);
            ledger.next = Some(first).filter(|first| *first > ledger.opening_seq + 1);
        }
        Ok(ledger)
    }

    /// Recomputes what the pool has from its ledger, in as many calls as it takes.
    pub async fn audit(&self) -> Result<Audit, Error> {
        let (mut seq, mut computed, mut lines, mut missing) = (0, Sums::default(), 0, 0);
        loop {
            let mut args = self.entity().args();
            args.push(seq);
            for sum in [computed.balance, computed.held, computed.paid, computed.funded] {
                args.push(sum);
            }
            args.push(lines).push(missing);
            let mut reply = self.entity().ask(&scripts::AUDIT, args, Repeat::IfUnknown).await?;
            let is_end = reply.count()? == 1;
            let mut numbers = reply.numbers()?;
            seq = numbers.count()?;
            computed = Sums::read(&mut numbers)?;
            (lines, missing) = (numbers.count()?, numbers.count()?);
            let kept = Sums::read(&mut numbers)?;
            numbers.end()?;
            if is_end {
                return Ok(Audit { computed, kept, lines, missing });
            }
        }
    }
}

/// A number and the packed text behind it: `LINE` of `lua/pool/lib/sums.lua`.
fn line(reply: &mut Reply) -> Result<Line, Error> {
    let seq = reply.count()?;
    let packed = reply.bytes()?;
    let parts =
        packed.split_first().and_then(|(kind, rest)| Some((kind, rest.split_at_checked(40)?)));
    let Some((kind, (numbers, whose))) = parts else {
        return Err(reply.error("a line that is too short"));
    };
    let mut numbers = Numbers::of(reply, numbers);
    let movement = Movement::of(u64::from(*kind), &numbers)?;
    let (amount, released, balance) = (numbers.count()?, numbers.count()?, numbers.count()?);
    numbers.count()?; // queue time, by which the scripts go
    let at_us = numbers.count()?;
    let (hold, operation_id) = match movement {
        Movement::Funded | Movement::Drawn => {
            let name = String::from_utf8_lossy(whose).into_owned();
            (None, Some(name).filter(|name| !name.is_empty()))
        }
        Movement::Held | Movement::Settled | Movement::Cancelled | Movement::Expired => {
            (whose.try_into().ok().map(HoldId), None)
        }
    };
    Ok(Line { seq, movement, amount, released, balance, at_us, hold, operation_id })
}
