//! What visitors ask for, alone or together, compared with the model.

use anteroom_core::queue::{GoneReason, Join, Leave, Place, PlaceRef, Standing, Status, Visit};
use anteroom_core::store::Error;
use anteroom_testkit::history::{Outcome, differ};
use anteroom_testkit::model::queue::{self as model, Gone, Joined, Reply};
use futures_util::future::join_all;

use super::history::QueueHistory;
use super::step::Op;
use crate::line::{address, before, visitor};
use crate::support::micros;

impl QueueHistory<'_> {
    pub fn ref_of(&self, who: u64, which: usize) -> Option<PlaceRef> {
        let places = self.places.get(&who)?;
        places.get(which.min(places.len() - 1)).copied()
    }

    /// What the model knows of a place: a ticket of another epoch was never given.
    pub fn known(&self, of: PlaceRef) -> (model::Id, u64) {
        (of.id.0, if self.epoch == Some(of.epoch) { of.ticket } else { u64::MAX })
    }

    /// A place as the model returns it.
    fn reply(&self, place: &Place) -> Reply {
        // Scripts return whole milliseconds, rounded up.
        let end = |left| self.model.now() + micros(left);
        match place.standing {
            Standing::Waiting { position, .. } => Reply::Waiting { position },
            Standing::Ready { expires_in } => Reply::Ready { ends: end(expires_in) },
            Standing::Active { expires_in } => Reply::Active { ends: end(expires_in) },
        }
    }

    /// An end as scripts return it.
    pub fn up(&self, ends: u64) -> u64 {
        self.model.now() + (ends - self.model.now()).div_ceil(1000) * 1000
    }

    fn rounded(&self, returned: Reply) -> Reply {
        match returned {
            Reply::Ready { ends } => Reply::Ready { ends: self.up(ends) },
            Reply::Active { ends } => Reply::Active { ends: self.up(ends) },
            other => other,
        }
    }

    pub fn compare(&mut self, what: &str, visit: &Visit, of: PlaceRef, model: Reply) -> Outcome {
        let returned = match visit {
            Visit::Gone(reason) => Reply::Gone(gone(*reason)),
            Visit::Here(place) | Visit::NotReady(place) | Visit::NotActive(place) => {
                if place.status() == Status::Waiting {
                    let before = self.positions.insert(of.ticket, place.position());
                    if before.is_some_and(|before| before < place.position()) {
                        return Err(format!("{what}: position of {} got worse", of.ticket).into());
                    }
                }
                self.reply(place)
            }
        };
        let model = self.rounded(model);
        differ(what, &returned, &model)?;
        match visit {
            Visit::Here(place) | Visit::NotReady(place) | Visit::NotActive(place) => {
                self.compare_before(what, place)
            }
            Visit::Gone(_) => Ok(()),
        }
    }

    /// How many go before a place, where the answer shows it.
    fn compare_before(&self, what: &str, place: &Place) -> Outcome {
        let model = before(place).map(|_| self.model.before(place.ticket));
        differ(&format!("{what}: before it"), &before(place), &model)
    }

    /// What these visitors ask for at once: one call, decided in their order.
    pub async fn visits(&mut self, op: Op, whom: &[(u64, usize)]) -> Outcome {
        if op == Op::Join {
            let join = |(who, _): &(u64, usize)| {
                let from = address_of(*who).map(|n| address(&self.queue, n)).unwrap_or_default();
                self.queue.join_from(visitor(&self.queue, *who), from)
            };
            let joins = join_all(whom.iter().map(join)).await;
            for ((who, _), join) in whom.iter().zip(joins) {
                self.joined(*who, join?)?;
            }
            return Ok(());
        }
        let places: Vec<_> =
            whom.iter().filter_map(|(who, which)| self.ref_of(*who, *which)).collect();
        if op == Op::Leave && !places.is_empty() {
            let leaves = join_all(places.iter().map(|of| self.queue.leave(*of))).await;
            let known: Vec<_> = places.iter().map(|of| self.known(*of)).collect();
            let model = self.model.leave(self.world.now(), &known);
            for (leave, model) in leaves.into_iter().zip(model) {
                let left = match leave? {
                    Leave::Left(reason) => Some(gone(reason)),
                    Leave::Already => None,
                };
                differ("leave", &left, &model)?;
            }
            return Ok(());
        }
        if op == Op::Heartbeat {
            let heard = join_all(places.iter().map(|of| self.queue.heartbeat(*of))).await;
            let known: Vec<_> = places.iter().map(|of| self.known(*of)).collect();
            let model = self.model.heartbeats(self.world.now(), &known);
            for (slot, model) in heard.into_iter().zip(model) {
                differ("heartbeat", &slot?, &model.then(|| self.model.slot()))?;
            }
            return Ok(());
        }
        let visits = join_all(places.iter().map(|of| self.visit(op, *of))).await;
        for (of, visit) in places.into_iter().zip(visits) {
            self.visited(op, of, &visit?)?;
        }
        Ok(())
    }

    async fn visit(&self, op: Op, of: PlaceRef) -> Result<Visit, Error> {
        match op {
            Op::Claim => self.queue.claim(of).await,
            Op::Authorize => self.queue.authorize(of, true).await,
            Op::AuthorizeJoined => self.queue.authorize_joined(of).await,
            Op::Renew => self.queue.renew(of).await,
            Op::Join | Op::Place | Op::Heartbeat | Op::Leave => self.queue.place(of).await,
        }
    }

    fn joined(&mut self, who: u64, join: Join) -> Outcome {
        self.refresh();
        let id = visitor(&self.queue, who);
        let ready = matches!(&join, Join::Created(_, place) if place.status() == Status::Ready);
        let model = self.model.join(self.world.now(), id.0, address_of(who), ready)?;
        match (join, model) {
            (Join::Created(of, place), Joined::New(ticket)) => {
                self.places.entry(who).or_default().insert(0, of);
                self.epoch = Some(of.epoch);
                differ("ticket", &of.ticket, &ticket)?;
                self.compare_before("join", &place)
            }
            (Join::Same(of, place), Joined::Same(ticket, returned)) => {
                differ("promise 4: ticket of the same place", &of.ticket, &ticket)?;
                self.compare("join", &Visit::Here(place), of, returned)
            }
            (Join::AddressFull, Joined::AddressFull)
            | (Join::Full, Joined::Full)
            | (Join::Closed { .. }, Joined::Closed) => Ok(()),
            other => Err(format!("join: {other:?}").into()),
        }
    }

    fn visited(&mut self, op: Op, of: PlaceRef, visit: &Visit) -> Outcome {
        let (wall, (id, ticket)) = (self.world.now(), self.known(of));
        let model = match op {
            Op::Claim => self.model.enter(wall, id, ticket, false),
            Op::Authorize => self.model.enter(wall, id, ticket, true),
            Op::AuthorizeJoined => self.model.enter_joined(wall, id, ticket),
            Op::Renew => self.model.renew(wall, id, ticket),
            Op::Join | Op::Place | Op::Heartbeat | Op::Leave => self.model.place(wall, id, ticket),
        };
        if op == Op::Claim {
            let waiting = matches!(model, Reply::Waiting { .. });
            differ("not_ready", &matches!(visit, Visit::NotReady(_)), &waiting)?;
        }
        if op == Op::Renew {
            let refused = matches!(model, Reply::Waiting { .. } | Reply::Ready { .. });
            differ("not_active", &matches!(visit, Visit::NotActive(_)), &refused)?;
        }
        self.compare(&format!("{op:?}"), visit, of, model)
    }
}

/// From which address a visitor joins; one of 4 from none that is counted.
fn address_of(who: u64) -> Option<u64> {
    (!who.is_multiple_of(4)).then_some(who % 4)
}

fn gone(reason: GoneReason) -> Gone {
    match reason {
        GoneReason::Completed => Gone::Completed,
        GoneReason::Left => Gone::Left,
        GoneReason::Unclaimed => Gone::Unclaimed,
        GoneReason::Expired => Gone::Expired,
        GoneReason::Abandoned => Gone::Abandoned,
        GoneReason::Evicted => Gone::Evicted,
        GoneReason::Lost => Gone::Lost,
        GoneReason::Ended => Gone::Ended,
    }
}
