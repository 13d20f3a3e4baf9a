//! The visits of a place: one operation of the queue each, with its outcome as an answer.

use std::time::Duration;

use anteroom_core::queue::{
    GoneReason, Join, JoinedFrom, Leave, Place, PlaceId, PlaceRef, SOONEST_POLL, Standing, Token,
    Visit,
};
use anteroom_core::store::Error;
use rand::Rng as _;

use super::line::Poll;
use super::visitor::Visitor;
use crate::defences::RequestFor;
use crate::problem::retry;
use crate::problem::{Code, Problem};
use crate::process::Process;
use crate::queue::metrics::JoinRefusal;
use crate::queue::state::QueueState;

/// The retry delay while a queue is closed without a known opening.
const RETRY_CLOSED: Duration = Duration::from_secs(30);
/// The retry delay while a queue is full, or an address holds as many places as it may.
const RETRY_FULL: Duration = Duration::from_secs(10);
/// Up to this bound all places of an address are counted; above it the first one is not.
const COUNTED_ALL: u64 = 8;

/// A place that a join gave, or gave again.
#[derive(Debug)]
pub struct Joined {
    /// Whether it is new.
    pub created: bool,
    /// Which place.
    pub of: PlaceRef,
    /// Its state.
    pub place: Place,
}

impl Joined {
    /// The proof of the place.
    pub fn token(
        &self,
        process: &Process,
        queue: &QueueState,
        visitor_id: Option<String>,
    ) -> String {
        process.settings().tokens.sign(queue.name(), &Token { place: self.of, visitor_id })
    }
}

/// Joins: returns the place of this identity, the one it has or a new one, which counts for the
/// address that it is `from`. `is_counted` decides whether a refused join counts among pending
/// retries.
pub async fn join(
    queue: &QueueState,
    id: PlaceId,
    from: JoinedFrom,
    is_counted: impl FnOnce() -> bool,
) -> Result<Joined, Problem> {
    let answer = queue.queue.join_from(id, from).await.map_err(|error| {
        if error == Error::Full {
            queue.metrics.join_refused(JoinRefusal::RedisFull);
        }
        queue.failed(&error)
    })?;
    match answer {
        Join::Created(of, place) => {
            queue.metrics.joined.inc();
            if !matches!(place.standing, Standing::Waiting { .. }) {
                // The line was empty: the join promoted itself, without a wait.
                queue.metrics.promoted.inc();
                queue.metrics.wait.observe(0.0);
            }
            Ok(Joined { created: true, of, place })
        }
        Join::Same(of, place) => Ok(Joined { created: false, of, place }),
        Join::Full => {
            queue.metrics.join_refused(JoinRefusal::LineFull);
            let retry_in = queue.refused.schedule_from(Duration::ZERO, RETRY_FULL, is_counted());
            Err(Problem::new(Code::QUEUE_FULL).retry_after(retry_in))
        }
        Join::AddressFull => {
            queue.metrics.join_refused(JoinRefusal::AddressPlaces);
            let retry_in = queue.refused.schedule_from(Duration::ZERO, RETRY_FULL, is_counted());
            let detail = "This address has places_per_address places already. Retry when one of \
                          them has ended.";
            Err(Problem::new(Code::JOIN_LIMITED).detail(detail).retry_after(retry_in))
        }
        Join::Closed { retry_in } => {
            queue.metrics.join_refused(JoinRefusal::Closed);
            let (opens_in, least) =
                retry_in.map_or((Duration::ZERO, RETRY_CLOSED), |opens| (opens, retry::MIN_DELAY));
            let retry_in = queue.refused.schedule_from(opens_in, least, is_counted());
            Err(Problem::new(Code::QUEUE_CLOSED).retry_after(retry_in))
        }
    }
}

/// Joins: returns the place of this identity, whose requests are limited as those of any place, or
/// without an identity a new place. Only a new place counts for the visitor's address.
pub async fn join_from(
    process: &Process,
    visitor: &Visitor,
    id: Option<PlaceId>,
) -> Result<Joined, Problem> {
    if let Some(id) = id {
        visitor.may_request(RequestFor::Join(id))?;
    }
    let unit = visitor.may_join()?;
    let id = id.unwrap_or_else(|| anonymous(&visitor.queue));
    let is_counted = || visitor.queue.joins_per_address.count_refused(visitor.address);
    let joined = join(&visitor.queue, id, joined_from(process, visitor), is_counted).await;
    let may_be_new = match &joined {
        Ok(joined) => joined.created,
        Err(problem) => problem.code() == Code::EFFECT_UNKNOWN,
    };
    if !may_be_new {
        unit.give_back();
    }
    joined
}

/// For which address a new place of the visitor counts in Redis.
fn joined_from(process: &Process, visitor: &Visitor) -> JoinedFrom {
    let queue = &visitor.queue;
    let counted = visitor.counted_address().zip(queue.most_per_address());
    let Some((address, most)) = counted else { return JoinedFrom::default() };
    let from = || process.settings().tokens.joined_from(queue.name(), address);
    if most <= COUNTED_ALL {
        from()
    } else if queue.first_places.is_first(address) {
        JoinedFrom::default()
    } else {
        from().after_first()
    }
}

/// The place that a token names, until it ends: a token acts on no other. A call before the join
/// finds it, not the join's script, because an ended place stays ended.
pub async fn held(queue: &QueueState, of: PlaceRef) -> Result<Option<Joined>, Problem> {
    match place(queue, of).await {
        Ok(place) => Ok(Some(Joined { created: false, of, place })),
        Err(problem) if problem.code() == Code::PLACE_GONE => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// An identity of 256 random bits.
fn anonymous(queue: &QueueState) -> PlaceId {
    PlaceId::of_key(queue.name(), &rand::rng().random::<[u8; 32]>())
}

/// The state of a place, by Redis.
async fn place(queue: &QueueState, of: PlaceRef) -> Result<Place, Problem> {
    let visit = queue.queue.place(of).await.map_err(|error| queue.read_failed(error))?;
    queue.polled(of, &visit);
    here(queue, of, visit)
}

/// The state of a place for a visitor who looks at it, as [`poll`] answers.
pub async fn look(queue: &QueueState, of: PlaceRef) -> Result<Place, Problem> {
    here(queue, of, poll(queue, of).await.map_err(|error| queue.read_failed(error))?)
}

/// The answer to a visitor who polls: as far as the rules allow, by what this process knows of the
/// line.
pub async fn poll(queue: &QueueState, of: PlaceRef) -> Result<Visit, Error> {
    let known = match local(queue, of) {
        Poll::Known(place) => Some(place),
        Poll::Unreported(unreported) => match queue.queue.heartbeat(of).await? {
            Some(slot) => queue.line.confirmed(&unreported, slot),
            None => None,
        },
        Poll::Unknown => None,
    };
    if let Some(place) = known {
        queue.metrics.polled_place(&place);
        return Ok(Visit::Here(place));
    }
    let visit = queue.queue.place(of).await?;
    queue.polled(of, &visit);
    Ok(visit)
}

/// The same if it needs no call to Redis, as nearly all polls.
pub fn polled_locally(queue: &QueueState, of: PlaceRef) -> Option<Place> {
    let Poll::Known(place) = local(queue, of) else { return None };
    queue.metrics.polled_place(&place);
    Some(place)
}

fn local(queue: &QueueState, of: PlaceRef) -> Poll {
    queue.line.poll(of, queue.front(), queue.queue.connections())
}

/// Takes the turn.
pub async fn claim(queue: &QueueState, of: PlaceRef) -> Result<Place, Problem> {
    let visit = queue.queue.claim(of).await.map_err(|error| queue.failed(&error))?;
    queue.line.learn(of, &visit);
    queue.streams.changed(of);
    here(queue, of, visit)
}

/// Lets an active place live longer.
pub async fn renew(queue: &QueueState, of: PlaceRef) -> Result<Place, Problem> {
    here(queue, of, queue.queue.renew(of).await.map_err(|error| queue.failed(&error))?)
}

/// Gives up a place in line or a turn, or finishes a session. Gone already is as good.
pub async fn leave(queue: &QueueState, of: PlaceRef) -> Result<(), Problem> {
    let left = queue.queue.leave(of).await;
    queue.line.forget(of.ticket);
    let left = left.map_err(|error| queue.failed(&error))?;
    queue.active_cache.forget(of);
    match left {
        Leave::Left(GoneReason::Completed) => queue.metrics.completed.inc(),
        Leave::Left(_) => queue.metrics.left.inc(),
        Leave::Already => return Ok(()),
    }
    queue.streams.changed(of);
    Ok(())
}

/// When the holder of a place polls next: half of the shortest time that it has at the latest, and
/// up to a fifth sooner, so that those who came together do not stay together.
pub fn poll_after(queue: &QueueState, place: &Place) -> Duration {
    let opens_in = queue.latest.map(|seen| seen.until(seen.snapshot.rules.opens_at)).flatten();
    // The place takes half of this as its longest delay.
    let after = place.poll_after(queue.max_poll_delay() * 2, opens_in);
    jittered(after, rand::rng().random())
}

/// A delay until the next poll, up to a fifth sooner; never later.
pub fn jittered(after: Duration, random: f64) -> Duration {
    after.mul_f64(1.0 - 0.2 * random).max(SOONEST_POLL)
}

/// The place of a visit that found it in the state that it needs.
pub fn here(queue: &QueueState, of: PlaceRef, visit: Visit) -> Result<Place, Problem> {
    match visit {
        Visit::Here(place) => Ok(place),
        Visit::NotReady(place) => Err(Problem::new(Code::NOT_READY)
            .retry_after(poll_after(queue, &place).max(Duration::from_secs(1)))),
        Visit::NotActive(_) => Err(Problem::new(Code::NOT_ACTIVE)),
        Visit::Gone(reason) => {
            queue.has_ended(of);
            Err(Problem::gone(reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_only_ever_hastens() {
        let after = Duration::from_secs(10);
        assert_eq!(jittered(after, 0.0), after);
        assert_eq!(jittered(after, 1.0), Duration::from_secs(8));
        assert_eq!(jittered(SOONEST_POLL, 1.0), SOONEST_POLL);
    }
}
