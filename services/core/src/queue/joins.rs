//! Joins that share a call.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use redis::Value;

use super::address::JoinedFrom;
use super::outlook::Outlook;
use super::place::{Epoch, Place, PlaceId, PlaceRef, Standing, Ticket, Wait};
use super::reply::{Code, PackedOutcome};
use super::scripts;
use super::visits::{Join, MOST_ITEMS};
use crate::store::{Args, Batch, Clock, Constants, Error, ItemReply, Numbers, Reply, Script};

/// What is full, by the status behind that code; 0: the line.
const STORE_FULL: u64 = 1;
const ADDRESS_FULL: u64 = 2;

/// Every so many tickets the estimate is compared with the true wait.
const COMPARED: Ticket = 64;

/// What the scripts know of all this.
pub(super) fn constants(all: Constants) -> Constants {
    all.value("STORE_FULL", STORE_FULL)
        .value("ADDRESS_FULL", ADDRESS_FULL)
        .value("COMPARED", COMPARED)
}

/// Who joins, and from where.
#[derive(Clone, Copy)]
pub(super) struct Joining {
    pub(super) id: PlaceId,
    pub(super) from: JoinedFrom,
}

/// `None`: the store holds no rules for the queue.
pub(super) struct Joins {
    keys: Args,
    clock: Clock,
    /// Estimates that the next call keeps beside the join times, because Redis does not know them.
    estimates: Mutex<Estimates>,
}

/// Estimates of one epoch.
#[derive(Default)]
struct Estimates {
    epoch: Option<Epoch>,
    /// Of each: ticket, queue time and heard time of the join (µs), and the estimate (ms).
    packed: Vec<u8>,
}

impl Estimates {
    /// Keeps the estimate of a new place, if it is to be compared.
    fn add(&mut self, of: PlaceRef, place: &Place, outlook: Option<&Outlook>) {
        let Standing::Waiting { wait: Wait::Expected { eta, .. }, .. } = place.standing else {
            return;
        };
        let Some(outlook) = outlook.filter(|_| of.ticket.is_multiple_of(COMPARED)) else { return };
        if self.epoch != Some(of.epoch) {
            *self = Self { epoch: Some(of.epoch), packed: Vec::new() };
        }
        let (now, heard) = outlook.times();
        let eta_ms = eta.as_millis() as f64;
        for number in [of.ticket as f64, now, heard, eta_ms] {
            self.packed.extend_from_slice(&number.to_be_bytes());
        }
    }

    /// Takes what was kept, behind its epoch.
    fn take(&mut self) -> Vec<u8> {
        let packed = std::mem::take(&mut self.packed);
        match self.epoch {
            Some(epoch) if !packed.is_empty() => [&epoch.0, packed.as_slice()].concat(),
            _ => Vec::new(),
        }
    }
}

impl Joins {
    pub(super) fn new(queue: &str, clock: &Clock) -> Self {
        let keys = scripts::JOIN.keys_of(queue);
        Self { keys, clock: clock.clone(), estimates: Mutex::default() }
    }

    fn estimates(&self) -> std::sync::MutexGuard<'_, Estimates> {
        self.estimates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Batch for Joins {
    type Item = Joining;
    type Outcome = Option<Join>;
    const MAX_ITEMS: usize = MOST_ITEMS;

    fn script(&self) -> &'static Script {
        &scripts::JOIN
    }

    fn keys(&self, _items: &[Self::Item]) -> Cow<'_, Args> {
        Cow::Borrowed(&self.keys)
    }

    fn args(&self, items: &[Joining]) -> Args {
        let each = 14 + JoinedFrom::LEN;
        let mut args = Args::with_capacity(5 + items.len(), 17 + each * items.len());
        self.clock.push_to(&mut args);
        let (from, times) = JoinedFrom::pack(items.iter().map(|item| item.from));
        let uncounted = items.iter().map(|item| item.from.uncounted).max().unwrap_or(0);
        args.push(from.as_slice()).push(times.as_slice()).push(uncounted);
        args.push(self.estimates().take().as_slice());
        for Joining { id, .. } in items {
            args.push(id.0.as_slice());
        }
        args
    }

    fn outcomes(
        &self,
        reply: Value,
        items: &[Joining],
    ) -> Result<Vec<Result<Self::Outcome, Error>>, Error> {
        let Some(mut reply) = Reply::ruled(scripts::JOIN.name, reply)? else {
            return Ok(items.iter().map(|_| Ok(None)).collect());
        };
        let epoch = Epoch(reply.exactly()?);
        let mut numbers = reply.packed()?;
        let outlook = Outlook::read(&mut reply)?;
        let mut join = |id: PlaceId| {
            let reply = self.joined(epoch, id, &mut numbers, outlook.as_ref())?;
            Ok(reply.into_result().map(Some))
        };
        let joined = items.iter().map(|item| join(item.id)).collect::<Result<_, _>>()?;
        numbers.end()?;
        Ok(joined)
    }
}

impl Joins {
    fn joined(
        &self,
        epoch: Epoch,
        id: PlaceId,
        numbers: &mut Numbers,
        outlook: Option<&Outlook>,
    ) -> Result<ItemReply<Join>, Error> {
        let ticket = numbers.count()?;
        let outcome = PackedOutcome::read(numbers)?;
        Ok(ItemReply::Outcome(match outcome.code {
            Code::Full if outcome.status == STORE_FULL => return Ok(ItemReply::Full),
            Code::Full if outcome.status == ADDRESS_FULL => Join::AddressFull,
            Code::Full => Join::Full,
            Code::Closed => {
                let retry_in = Some(outcome.left()).filter(|left| !Duration::is_zero(left));
                Join::Closed { retry_in }
            }
            code => {
                let of = PlaceRef { epoch, id, ticket };
                let place = outcome.place(numbers, outlook, ticket)?;
                if code == Code::Created {
                    self.estimates().add(of, &place, outlook);
                    Join::Created(of, place)
                } else {
                    Join::Same(of, place)
                }
            }
        }))
    }
}
