//! What operators and the configuration do: rules, overrides, a look at a ticket and at the line,
//! eviction, reset, purge.

use std::time::Duration;

use super::overrides;
use super::place::{Epoch, GoneReason, PlaceId, PlaceRef, Status, Ticket};
use super::reply::Code;
use super::rules::{Override, Rules};
use super::ticks::{Revision, Snapshot};
use super::{Queue, scripts};
use crate::entity::{Entity, Written, named};
use crate::store::{Args, Clock, Error, Repeat, Reply, Script, Store};

/// What a script returns in place of a status.
const IS_GONE: u64 = Code::IsGone as u64;

/// The first letter of the key that names one PATCH or reset.
const CALL_KEY: u8 = b'o';

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
        let found = self.snapshot().await?;
        self.override_rules_after(&found, overrides, until).await
    }

    /// The same, for a caller that has read the queue.
    ///
    /// If the reply is lost, the call is retried: it takes effect once, also if both sendings
    /// arrive. A call that arrives later than a request lasts changes nothing.
    pub async fn override_rules_after(
        &self,
        found: &Snapshot,
        overrides: &[Override],
        until: Option<u64>,
    ) -> Result<Revision, Error> {
        self.write_overrides(found, overrides, until, false).await.map(|(_, revision)| revision)
    }

    /// The same, if the rules in force are still those that the caller has read. `None` if they are
    /// others: then nothing was changed.
    pub async fn override_rules_of(
        &self,
        found: &Snapshot,
        overrides: &[Override],
        until: Option<u64>,
    ) -> Result<Option<Revision>, Error> {
        let (written, revision) = self.write_overrides(found, overrides, until, true).await?;
        Ok((written != Written::Refused).then_some(revision))
    }

    async fn write_overrides(
        &self,
        found: &Snapshot,
        overrides: &[Override],
        until: Option<u64>,
        only_these: bool,
    ) -> Result<(Written, Revision), Error> {
        let mut rules = Args::new().with(until.unwrap_or(0).saturating_mul(1_000_000));
        rules.push(if only_these { found.revision.to_string() } else { String::new() });
        rules.push(self.deadline(found));
        self.operator().push_to(&mut rules);
        // No value that an override can have is empty.
        let stored = overrides.iter().map(overrides::write_override);
        let stored = stored.map(|(name, value)| (name, value.unwrap_or_default()));
        rules.append(&named(stored));
        let script = &scripts::OVERRIDE_RULES;
        let keys = self.keys_of_call(script);
        let write = || self.entity().write_rules_with(script, &keys, &rules);
        let (written, _, mut reply) = self.entity().seeded(script, write).await?;
        if written == Written::Late {
            return Err(late());
        }
        let revision = reply.text()?;
        let revision = Revision::parse(&revision)
            .ok_or_else(|| reply.error(format!("revision {revision:?}")))?;
        Ok((written, revision))
    }

    /// The keys of the script, and one new random key for this call.
    fn keys_of_call(&self, script: &'static Script) -> Args {
        let mut keys = script.keys_of(self.name());
        let call = format!("{:032x}", rand::random::<u128>());
        script.push_digest_key(&mut keys, self.name(), CALL_KEY, call.as_bytes());
        keys
    }

    /// The time after which Redis ignores the call, in µs of Redis time: that of the snapshot, and
    /// `request_timeout` more.
    fn deadline(&self, found: &Snapshot) -> u64 {
        let lasts = self.entity().request_timeout().as_micros();
        found.store_time_us.saturating_add(u64::try_from(lasts).unwrap_or(u64::MAX))
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
    /// If the reply is lost, the call is retried: it takes effect once, also if both sendings
    /// arrive. A call that arrives later than a request lasts changes nothing.
    pub async fn reset(&self) -> Result<(), Error> {
        let found = self.snapshot().await?;
        let random: [u8; 4] = rand::random();
        let mut args = self.entity().args().with(random.as_slice()).with(self.deadline(&found));
        self.operator().push_to(&mut args);
        let script = &scripts::RESET;
        let keys = self.keys_of_call(script);
        let ask = || self.entity().call_with(script, &keys, &args, Repeat::IfUnknown);
        match self.entity().seeded(script, ask).await?.count()? {
            0 | 1 => Ok(()),
            _ => Err(late()),
        }
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

/// The error of a call that Redis got too late. An earlier sending can have taken effect.
fn late() -> Error {
    Error::Unknown("Redis got the call too late".to_owned())
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
