//! What visitors do: join, look, claim, pass, renew, leave. Each operation is batched: requests
//! that arrive together share one run of its script, and each is decided in order.

use std::borrow::Cow;
use std::time::Duration;

use redis::Value;

use super::address::JoinedFrom;
use super::heartbeats::Heartbeats;
use super::joins::{Joining, Joins};
use super::outlook::Outlook;
use super::place::{GoneReason, Place, PlaceId, PlaceRef, Ticket};
use super::reply::{Code, PackedOutcome};
use super::{Queue, scripts};
use crate::store::{Args, Batch, Clock, Constants, Error, Lane, Numbers, Reply, Script, Store};

/// The answer to a join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Join {
    /// A new place.
    Created(PlaceRef, Place),
    /// The place that this identity holds already; it counts as seen.
    Same(PlaceRef, Place),
    /// The line is as long as it may be.
    Full,
    /// The client's address holds as many places as one may.
    AddressFull,
    /// No joins are taken now.
    Closed {
        /// Time until joins are taken, when that is known.
        retry_in: Option<Duration>,
    },
}

/// The answer to a call that names a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Visit {
    /// The place as it is now.
    Here(Place),
    /// A claim before the turn has come.
    NotReady(Place),
    /// A renewal of a place that is not active.
    NotActive(Place),
    /// The place is gone.
    Gone(GoneReason),
}

impl Visit {
    /// The place, unless it is gone.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::Here(place) | Self::NotReady(place) | Self::NotActive(place) => Some(place),
            Self::Gone(_) => None,
        }
    }
}

/// The answer to a leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// Gone now: it gave up its place or turn, or completed its session.
    Left(GoneReason),
    /// It was gone before.
    Already,
}

/// The lanes of the visitors' operations of one queue.
pub(super) struct Lanes {
    join: Lane<Joins>,
    place: Lane<Visits>,
    claim: Lane<Visits>,
    authorize: Lane<Visits>,
    renew: Lane<Visits>,
    leave: Lane<Visits>,
    heartbeat: Lane<Heartbeats>,
}

impl Lanes {
    pub(super) fn start(store: &Store, queue: &str, clock: &Clock, bound: usize) -> Self {
        let visits = |script: &'static Script| {
            let batch = Visits { script, keys: script.keys_of(queue), clock: clock.clone() };
            Lane::start(store, batch, bound)
        };
        let joins = Joins::new(queue, clock);
        let heartbeats = Heartbeats::new(queue, clock);
        Self {
            join: Lane::start(store, joins, bound),
            heartbeat: Lane::start(store, heartbeats, bound),
            place: visits(&scripts::PLACE),
            claim: visits(&scripts::CLAIM),
            authorize: visits(&scripts::AUTHORIZE),
            renew: visits(&scripts::RENEW),
            leave: visits(&scripts::LEAVE),
        }
    }
}

impl Queue {
    /// The place of this identity: the one it has, or a new one at the end of the line, which
    /// counts for no address.
    pub async fn join(&self, id: PlaceId) -> Result<Join, Error> {
        self.join_from(id, JoinedFrom::default()).await
    }

    /// [`join`](Self::join) of a client: a new place counts for its address.
    pub async fn join_from(&self, id: PlaceId, from: JoinedFrom) -> Result<Join, Error> {
        let ask = || self.lanes().join.submit(Joining { id, from });
        self.entity().seeded(&scripts::JOIN, ask).await
    }

    /// The status of a place. A waiting place counts as seen. Claims nothing.
    pub async fn place(&self, of: PlaceRef) -> Result<Visit, Error> {
        self.visit(&self.lanes().place, of.into()).await
    }

    /// Takes the turn: a ready place becomes active. An active one stays as it is.
    pub async fn claim(&self, of: PlaceRef) -> Result<Visit, Error> {
        self.visit(&self.lanes().claim, of.into()).await
    }

    /// May the visitor pass? Exactly when the place is active afterwards. Claims a ready place and,
    /// if `renew` is set, renews an active one; a waiting place counts as seen.
    pub async fn authorize(&self, of: PlaceRef, renew: bool) -> Result<Visit, Error> {
        let how = if renew { How::Renewing } else { How::Plain };
        self.visit(&self.lanes().authorize, NamedPlace { place: of, how }).await
    }

    /// The authorize behind a join at the gate: the session that it begins lasts no longer than
    /// `unproven_ttl`, until [`authorize`](Self::authorize), [`claim`](Self::claim) or
    /// [`renew`](Self::renew) shows its token.
    pub async fn authorize_joined(&self, of: PlaceRef) -> Result<Visit, Error> {
        self.visit(&self.lanes().authorize, NamedPlace { place: of, how: How::Joined }).await
    }

    /// Lets an active place live until min(now + `session_ttl`, claimed + `session_max`).
    pub async fn renew(&self, of: PlaceRef) -> Result<Visit, Error> {
        self.visit(&self.lanes().renew, of.into()).await
    }

    /// Gives up a place in line or a turn, or finishes a session.
    pub async fn leave(&self, of: PlaceRef) -> Result<Leave, Error> {
        Ok(match self.submit(&self.lanes().leave, of.into()).await? {
            VisitReply::Ended(Code::Ok, reason) => Leave::Left(reason),
            VisitReply::Ended(..) | VisitReply::Present(..) => Leave::Already,
        })
    }

    /// The poll of a visitor who needs no other answer than being in line. Returns the slot in
    /// which it was seen, as a [`Sketch`](super::Sketch) names it; `None` if the place is not in
    /// line since its join, which [`place`](Self::place) explains.
    pub async fn heartbeat(&self, of: PlaceRef) -> Result<Option<u64>, Error> {
        let lane = &self.lanes().heartbeat;
        self.entity().seeded(lane.script(), || lane.submit(of.into())).await
    }

    async fn visit(&self, lane: &Lane<Visits>, item: NamedPlace) -> Result<Visit, Error> {
        Ok(match self.submit(lane, item).await? {
            VisitReply::Ended(_, reason) => Visit::Gone(reason),
            VisitReply::Present(Code::NotReady, place) => Visit::NotReady(place),
            VisitReply::Present(Code::NotActive, place) => Visit::NotActive(place),
            VisitReply::Present(_, place) => Visit::Here(place),
        })
    }

    async fn submit(&self, lane: &Lane<Visits>, item: NamedPlace) -> Result<VisitReply, Error> {
        self.entity().seeded(lane.script(), || lane.submit(item)).await
    }
}

/// So many keep a call well below a millisecond with a million in line, on a slow machine too; by
/// then the call's own cost is a small part of an item's.
pub(super) const MOST_ITEMS: usize = 64;

/// One place that a caller names; `how` is for authorize.
#[derive(Clone, Copy)]
pub(super) struct NamedPlace {
    place: PlaceRef,
    how: How,
}

/// How authorize is called.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Plain = 0,
    /// An active place is renewed.
    Renewing = 1,
    /// A join at the gate has just given the place, and no client has shown its token.
    Joined = 2,
}

/// What the scripts know of it: the numbers, as they are sent.
pub(super) fn constants(all: Constants) -> Constants {
    all.value("RENEWING", format!("'{}'", How::Renewing as u8))
        .value("JOINED", format!("'{}'", How::Joined as u8))
}

impl NamedPlace {
    /// Items of one run share what is sent once for all of them.
    fn is_like(&self, other: &Self) -> bool {
        self.place.epoch == other.place.epoch && self.how == other.how
    }

    /// The arguments of a call for these places: `lua/queue/lib/visit.lua`.
    pub(super) fn args(clock: &Clock, items: &[Self]) -> Args {
        let mut args = Args::with_capacity(4 + items.len(), 32 + 24 * items.len());
        clock.push_to(&mut args);
        let mut tickets = Vec::with_capacity(8 * items.len());
        for run in items.chunk_by(Self::is_like) {
            args.push(run[0].place.epoch.0.as_slice()).push(run[0].how as u8);
            tickets.clear();
            tickets.extend(run.iter().flat_map(|item| (item.place.ticket as f64).to_be_bytes()));
            args.push(tickets.as_slice());
            for Self { place, .. } in run {
                args.push(place.id.0.as_slice());
            }
        }
        args
    }
}

impl From<PlaceRef> for NamedPlace {
    fn from(place: PlaceRef) -> Self {
        Self { place, how: How::Plain }
    }
}

/// What a script replies about one place.
enum VisitReply {
    Present(Code, Place),
    Ended(Code, GoneReason),
}

/// Visits that share a call of one script. `None`: the store holds no rules for the queue.
struct Visits {
    script: &'static Script,
    keys: Args,
    clock: Clock,
}

impl Batch for Visits {
    type Item = NamedPlace;
    type Outcome = Option<VisitReply>;
    const MAX_ITEMS: usize = MOST_ITEMS;

    fn script(&self) -> &'static Script {
        self.script
    }

    fn keys(&self, _items: &[Self::Item]) -> Cow<'_, Args> {
        Cow::Borrowed(&self.keys)
    }

    fn args(&self, items: &[NamedPlace]) -> Args {
        NamedPlace::args(&self.clock, items)
    }

    fn outcomes(
        &self,
        reply: Value,
        items: &[NamedPlace],
    ) -> Result<Vec<Result<Self::Outcome, Error>>, Error> {
        let Some(mut reply) = Reply::ruled(self.script.name, reply)? else {
            return Ok(items.iter().map(|_| Ok(None)).collect());
        };
        reply.bytes()?; // the epoch, which every item names itself
        let mut numbers = reply.packed()?;
        let outlook = Outlook::read(&mut reply)?;
        let replies = items
            .iter()
            .map(|item| self.read(&mut numbers, outlook.as_ref(), item.place.ticket).map(Ok))
            .collect::<Result<_, _>>()?;
        numbers.end()?;
        Ok(replies)
    }
}

impl Visits {
    fn read(
        &self,
        numbers: &mut Numbers,
        outlook: Option<&Outlook>,
        ticket: Ticket,
    ) -> Result<Option<VisitReply>, Error> {
        let outcome = PackedOutcome::read(numbers)?;
        let leaves = std::ptr::eq(self.script, &raw const scripts::LEAVE);
        Ok(Some(if leaves || outcome.code == Code::IsGone {
            VisitReply::Ended(outcome.code, outcome.reason(numbers)?)
        } else {
            VisitReply::Present(outcome.code, outcome.place(numbers, outlook, ticket)?)
        }))
    }
}
