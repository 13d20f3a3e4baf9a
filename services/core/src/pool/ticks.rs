//! What the scheduler does, any number of them at once, and the view of the whole.

use super::ledger::Sums;
use super::{Pool, Rules, scripts};
use crate::entity::rules_of_reply;
use crate::store::{Error, Repeat};

/// What one tick did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sweep {
    /// Holds that ended.
    pub expired: u64,
    /// Lines of the ledger that were summed up.
    pub summed: u64,
    /// Another call would find more.
    pub more: bool,
    /// The store's primary has changed since the last tick.
    pub failed_over: bool,
}

/// A pool as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Where its money is.
    pub sums: Sums,
    /// How many holds there are.
    pub holds: u64,
    /// The store's primary has changed, and no money moves until an operator confirms.
    pub unconfirmed: bool,
    /// How often the store's primary has changed.
    pub failovers: u64,
    /// How many holds have ever ended by themselves, neither settled nor cancelled in time.
    pub holds_expired: u64,
    /// The rules in force.
    pub rules: Rules,
}

impl Snapshot {
    /// Each option with the most that it pays, and whether the balance covers that.
    pub fn options(&self) -> impl Iterator<Item = (&str, u64, bool)> {
        let balance = self.sums.balance;
        self.rules.options.iter().map(move |(name, amount)| (name, amount, amount <= balance))
    }
}

impl Pool {
    /// One tick: queue time moves on, and what has ended is taken back, a bounded part of it.
    pub async fn sweep(&self) -> Result<Sweep, Error> {
        let args = self.entity().args();
        let mut reply = self.entity().ask(&scripts::SWEEP, args, Repeat::Never).await?;
        Ok(Sweep {
            expired: reply.count()?,
            summed: reply.count()?,
            more: reply.count()? == 1,
            failed_over: reply.count()? == 1,
        })
    }

    /// The pool as a whole. A store that holds older rules than were seen gets the newest first.
    pub async fn snapshot(&self) -> Result<Snapshot, Error> {
        self.entity().snapshot(|| self.view()).await
    }

    async fn view(&self) -> Result<(Snapshot, bool), Error> {
        let mut reply = self.entity().ask_for_all(&scripts::SNAPSHOT).await?;
        let mut numbers = reply.packed()?;
        let sums = Sums::read(&mut numbers)?;
        let (holds, unconfirmed) = (numbers.count()?, numbers.count()? == 1);
        let (failovers, holds_expired) = (numbers.count()?, numbers.count()?);
        numbers.end()?;
        let (has_all, _) = self.entity().newest().read(&mut reply)?;
        let rules = Rules::read(rules_of_reply(&mut reply)?)?;
        let snapshot = Snapshot { sums, holds, unconfirmed, failovers, holds_expired, rules };
        Ok((snapshot, has_all))
    }
}
