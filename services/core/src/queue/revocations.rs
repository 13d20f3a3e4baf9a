//! What admission must know to answer for active places by itself: who ended before the time.

use super::place::{Epoch, PlaceId, Ticket};
use super::{Queue, scripts};
use crate::store::{Error, Repeat};

/// One reading of the list of active places that ended before their time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revocations {
    /// The present epoch of the queue.
    pub epoch: Epoch,
    /// Queue time at the reading, in microseconds.
    pub queue_time_us: u64,
    /// Whether the rule is in force: while it is not, nothing is noted.
    pub local_answers: bool,
    /// The version of the list; only grows.
    pub version: u64,
    /// Whether `ended` names all since the requested version.
    pub whole: bool,
    /// Who ended since then.
    pub ended: Vec<(PlaceId, Ticket)>,
}

impl Queue {
    /// Which active places ended before their time since a version of the list; without one, only
    /// the version is returned. Slow answers are useless, so a reading is never repeated.
    pub async fn revocations(&self, since: Option<u64>) -> Result<Revocations, Error> {
        let since = since.map(|version| version.to_string()).unwrap_or_default();
        let args = self.entity().args().with(since);
        let mut reply = self.entity().ask(&scripts::REVOCATIONS, args, Repeat::Never).await?;
        let mut revocations = Revocations {
            epoch: Epoch(reply.exactly()?),
            queue_time_us: reply.count()?,
            local_answers: reply.count()? == 1,
            version: reply.count()?,
            whole: reply.count()? == 1,
            ended: Vec::new(),
        };
        while !reply.is_empty() {
            let member = reply.bytes()?;
            let place = place(&member).ok_or_else(|| reply.error("an entry that is no place"))?;
            revocations.ended.push(place);
        }
        Ok(revocations)
    }
}

fn place(member: &[u8]) -> Option<(PlaceId, Ticket)> {
    let (id, ticket) = member.split_first_chunk::<14>()?;
    Some((PlaceId(*id), Ticket::from_be_bytes(ticket.try_into().ok()?)))
}
