//! What operators and the configuration do: rules, overrides, a look at a ticket and at the line,
//! eviction, reset, purge.

use std::time::Duration;

use super::overrides;
use super::place::{Epoch, GoneReason, PlaceId, PlaceRef, Status, Ticket};
use super::reply::Code;
use super::rules::{Override, Rules};
use super::ticks::Revision;
use super::{Queue, scripts};
use crate::entity::{Entity, Written, named, new_epoch};
use crate::store::{Args, Clock, Error, Repeat, Reply, Store};

/// What a script returns in place of a status.
const IS_GONE: u64 = Code::IsGone as u64;

/// The number of the argument of an override with the revision that must be in force.
const OF_REVISION: usize = 8;
/// The number of the argument of a reset with the epoch that must be in force.
const OF_EPOCH: usize = 3;

/// How often a change is attempted while other operators change the same queue.
pub const MAX_ATTEMPTS: usize = 100;

/// The most places that one look at the line shows.
pub const MAX_PLACES: u64 = 200;

/// How an operator names a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceName {
    /// By its ticket.
    Ticket(Ticket),
    /// By its handle.
    Handle(PlaceRef),
    /// The one that this identity holds now.
    Holder(PlaceId),
}

/// What the store knows of a ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// The status of its place.
    pub status: Inspected,
    /// When it joined, to a second, in seconds since 1970; absent when that is forgotten.
    pub joined_at: Option<u64>,
    /// Since when it has this status, in seconds since 1970; absent when unknown.
    pub since: Option<u64>,
    /// Time until the claim or the session ends.
    pub expires_in: Option<Duration>,
}

/// The status of the place of a ticket, for an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inspected {
    /// It is there.
    Here(Status),
    /// Gone.
    Gone(GoneReason),
}

/// A part of the line, in ticket order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// Which places, and their status.
    pub places: Vec<(PlaceRef, Inspection)>,
    /// The ticket behind which the line goes on; absent at its end.
    pub next: Option<Ticket>,
}

/// What a purge found, and took away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    /// Keys in the store; 0 when the queue was never there.
    pub keys: u64,
    /// Places waiting, returned or away.
    pub in_line: u64,
    /// Places ready or active.
    pub admitted: u64,
}

impl Queue {
    /// Puts these overrides in force until an end in seconds since 1970 (`None`: until taken back).
    /// What they have in common with older ones replaces them; the others keep their own ends.
    /// Returns the revision that this makes.
    pub async fn override_rules(
        &self,
        overrides: &[Override],
        until: Option<u64>,
    ) -> Result<Revision, Error> {
        for _ in 0..MAX_ATTEMPTS {
            let revision = self.snapshot().await?.revision;
            if let Some(made) = self.override_rules_of(revision, overrides, until).await? {
                return Ok(made);
            }
        }
        Err(contended())
    }

    /// The same, if the rules in force have this revision. `None` if they have another one: then
    /// nothing was changed.
    ///
    /// If the reply is lost, the call is retried. Neither the retry nor a first call that arrives
    /// late undoes a change that another operator has made meanwhile.
    pub async fn override_rules_of(
        &self,
        revision: Revision,
        overrides: &[Override],
        until: Option<u64>,
    ) -> Result<Option<Revision>, Error> {
        let mut rules = Args::new().with(until.unwrap_or(0).saturating_mul(1_000_000));
        rules.push(revision.to_string());
        self.operator().push_to(&mut rules);
        // No value that an override can have is empty.
        let stored = overrides.iter().map(overrides::write_override);
        let stored = stored.map(|(name, value)| (name, value.unwrap_or_default()));
        rules.append(&named(stored));
        let script = &scripts::OVERRIDE_RULES;
        let write = || self.entity().write_rules(script, &rules, Repeat::Marked(OF_REVISION));
        let (written, revisions, mut reply) = self.entity().seeded(script, write).await?;
        match written {
            Written::Refused => Ok(None),
            Written::Overtaken => Err(overtaken()),
            Written::Same | Written::Changed => {
                Ok(Some(Revision::read(&revisions, reply.count()?, &reply)?))
            }
        }
    }

    /// Removes the place of a ticket and returns it; `None` when no place has it.
    pub async fn evict(&self, ticket: Ticket) -> Result<Option<PlaceRef>, Error> {
        let mut args = self.entity().args().with(ticket);
        self.operator().push_to(&mut args);
        let mut reply = self.entity().ask(&scripts::EVICT, args, Repeat::IfUnknown).await?;
        if reply.count()? == 0 {
            return Ok(None);
        }
        let (epoch, id) = (Epoch(reply.exactly()?), PlaceId(reply.exactly()?));
        Ok(Some(PlaceRef { epoch, id, ticket }))
    }

    /// What the store knows of a ticket; `None` when it was never given.
    pub async fn inspect(&self, ticket: Ticket) -> Result<Option<Inspection>, Error> {
        Ok(self.find(PlaceName::Ticket(ticket)).await?.map(|(_, found)| found))
    }

    /// The ticket of a place, and what the store knows of it; `None` when there is no such place.
    pub async fn find(&self, place: PlaceName) -> Result<Option<(Ticket, Inspection)>, Error> {
        let (ticket, id, epoch) = match place {
            PlaceName::Ticket(ticket) => (ticket, None, None),
            PlaceName::Handle(PlaceRef { epoch, id, ticket }) => (ticket, Some(id), Some(epoch)),
            PlaceName::Holder(id) => (0, Some(id), None),
        };
        let mut args = self.entity().args().with(ticket);
        args.push(id.as_ref().map_or(&[][..], |id| &id.0));
        args.push(epoch.as_ref().map_or(&[][..], |epoch| &epoch.0));
        let mut reply = self.entity().ask(&scripts::INSPECT, args, Repeat::IfUnknown).await?;
        let (ticket, status, why) = (reply.count()?, reply.count()?, reply.count()?);
        let gone = || {
            GoneReason::numbered(why).ok_or_else(|| reply.error(format!("unknown reason {why}")))
        };
        let status = match status {
            0 => return Ok(None),
            IS_GONE => Inspected::Gone(gone()?),
            other => here(&reply, other)?,
        };
        Ok(Some((ticket, inspection(&mut reply, status)?)))
    }

    /// The places in ticket order behind a ticket: at most so many, 200 or less, all or those of
    /// one state. It may be fewer although the line goes on: what has ended is skipped, and where
    /// ready or active places are looked for, a call looks at no more than 200 of both.
    pub async fn places(
        &self,
        state: Option<Status>,
        after: Ticket,
        limit: u64,
    ) -> Result<Places, Error> {
        let state = state.map_or(0, |state| state as u64);
        let args = self.entity().args().with(after).with(limit.clamp(1, MAX_PLACES)).with(state);
        let mut reply = self.entity().ask(&scripts::PLACES, args, Repeat::IfUnknown).await?;
        let epoch = Epoch(reply.exactly()?);
        let next = Some(reply.count()?).filter(|ticket| *ticket > 0);
        let mut places = Vec::new();
        while !reply.is_empty() {
            let id = PlaceId(reply.exactly()?);
            let (ticket, status) = (reply.count()?, reply.count()?);
            let status = here(&reply, status)?;
            places.push((PlaceRef { epoch, id, ticket }, inspection(&mut reply, status)?));
        }
        Ok(Places { places, next })
    }

    /// Removes all waiting and admitted visitors; tickets restart at 1, under a new epoch. Rules,
    /// overrides and the log of promotions stay.
    ///
    /// If the reply is lost, the call is retried. Neither the retry nor a first call that arrives
    /// late ends an epoch that another reset has begun meanwhile.
    pub async fn reset(&self) -> Result<(), Error> {
        for _ in 0..MAX_ATTEMPTS {
            let epoch = self.snapshot().await?.epoch;
            let mut args = self.entity().args().with(new_epoch().as_slice());
            args.push(epoch.0.as_slice());
            self.operator().push_to(&mut args);
            let repeat = Repeat::Marked(OF_EPOCH);
            match self.entity().ask(&scripts::RESET, args, repeat).await?.count()? {
                0 | 1 => return Ok(()),
                2 => {}
                _ => return Err(overtaken()),
            }
        }
        Err(contended())
    }

    /// Deletes all keys of a queue that no configuration names, in constant time. A process that
    /// still has the queue open gives the store its rules again.
    pub async fn purge(store: &Store, name: &str) -> Result<Purged, Error> {
        let entity = Entity::new(store, name, Clock::Store, Rules::default());
        let purged = entity.call(&scripts::PURGE, &entity.args(), Repeat::IfUnknown).await?;
        let Some(mut reply) = purged else { return Ok(Purged::default()) };
        Ok(Purged { keys: reply.count()?, in_line: reply.count()?, admitted: reply.count()? })
    }
}

/// The error of a retry that changed nothing, because another call has changed the queue since.
fn overtaken() -> Error {
    Error::Unknown("no answer, and another call has changed the queue since".to_owned())
}

/// The error of a call that found another change in each attempt.
fn contended() -> Error {
    Error::Unavailable("other calls change the queue all the time".to_owned())
}

/// The status of a place, by its number.
fn here(reply: &Reply, number: u64) -> Result<Inspected, Error> {
    Status::numbered(number)
        .map(Inspected::Here)
        .ok_or_else(|| reply.error(format!("unknown status {number}")))
}

/// The times that follow a status.
fn inspection(reply: &mut Reply, status: Inspected) -> Result<Inspection, Error> {
    let seconds = |micros: u64| Some(micros / 1_000_000).filter(|seconds| *seconds > 0);
    let joined_at = seconds(reply.count()?);
    let since = seconds(reply.count()?);
    let left = Duration::from_millis(reply.count()?);
    let expires_in = Some(left).filter(|left| !left.is_zero());
    Ok(Inspection { status, joined_at, since, expires_in })
}
