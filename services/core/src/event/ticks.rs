//! What the scheduler does, any number of them at once: reclaim, kick, and the view of the whole.

use super::rules::Rules;
use super::{Event, scripts};
use crate::entity::rules_of_reply;
use crate::store::{Error, Repeat};

/// What one tick brought back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reclaimed {
    /// Claims whose lease has ended, in line again.
    pub returned: u64,
    /// Those of which it was the last attempt.
    pub dead: u64,
    /// Another call would find more.
    pub more: bool,
    /// The event ended long ago, and its applications were dropped.
    pub dropped: bool,
}

/// An event as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The store's clock, in microseconds since 1970.
    pub store_time_us: u64,
    /// Units given since the event was created.
    pub stock: u64,
    /// Units issued.
    pub issued: u64,
    /// Applications that wait to be claimed, those that are to be tried again included.
    pub pending: u64,
    /// Applications that issuers hold.
    pub claimed: u64,
    /// Dead letters.
    pub dead: u64,
    /// Dead letters that were given up.
    pub failed: u64,
    /// Accepted applications for which no unit was left.
    pub sold_out: u64,
    /// Codes left to be given out.
    pub codes: u64,
    /// The rules in force.
    pub rules: Rules,
}

impl Event {
    /// One tick: queue time moves on, and claims whose lease has ended go back to the head of the
    /// line in their old order. Long after a tick has seen its end, the event's
    /// applications are dropped.
    pub async fn reclaim(&self) -> Result<Reclaimed, Error> {
        let args = self.waking_args();
        let mut reply = self.entity().ask(&scripts::RECLAIM, args, Repeat::Never).await?;
        Ok(Reclaimed {
            returned: reply.count()?,
            dead: reply.count()?,
            more: reply.count()? == 1,
            dropped: reply.count()? == 1,
        })
    }

    /// Whether the store holds rules for the event. Nothing gives it any.
    pub async fn exists(&self) -> Result<bool, Error> {
        let mut args = self.entity().args();
        self.entity().newest().push_revisions(&mut args);
        let reply = self.entity().call(&scripts::SNAPSHOT, &args, Repeat::IfUnknown).await?;
        Ok(reply.is_some())
    }

    /// Wakes the issuers when there is something to claim; whether there was.
    pub async fn kick(&self) -> Result<bool, Error> {
        let args = self.waking_args();
        let mut reply = self.entity().ask(&scripts::KICK, args, Repeat::IfUnknown).await?;
        Ok(reply.count()? == 1)
    }

    /// The event as a whole. A store that holds older rules than were seen gets the newest first.
    pub async fn snapshot(&self) -> Result<Snapshot, Error> {
        self.entity().snapshot(|| self.look()).await
    }

    /// The event as a whole, and whether the store holds the newest rules that were seen.
    async fn look(&self) -> Result<(Snapshot, bool), Error> {
        let mut reply = self.entity().ask_for_all(&scripts::SNAPSHOT).await?;
        let store_time_us = reply.count()?;
        let (stock, issued) = (reply.count()?, reply.count()?);
        let (line, returned) = (reply.count()?, reply.count()?);
        let (claimed, retried) = (reply.count()?, reply.count()?);
        let (dead, failed) = (reply.count()?, reply.count()?);
        let (sold_out, codes) = (reply.count()?, reply.count()?);
        let (has_all, _) = self.entity().newest().read(&mut reply)?;
        let rules = Rules::read(rules_of_reply(&mut reply)?)?;
        let pending = line + returned + retried;
        let snapshot = Snapshot {
            store_time_us,
            stock,
            issued,
            pending,
            claimed,
            dead,
            failed,
            sold_out,
            codes,
            rules,
        };
        Ok((snapshot, has_all))
    }
}
