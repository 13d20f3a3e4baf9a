//! Which places have left the line: an admission that answers polls by itself must know them.

use super::place::{Epoch, Ticket};
use super::{Queue, scripts};
use crate::store::{Error, Repeat};

/// One reading of the places that left the line by a call: they were given up or evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departures {
    /// How far they were read.
    pub upto: Departed,
    /// The tickets of those since the reading before, in their order. `None`: not all are known, or
    /// there was no reading before.
    pub tickets: Option<Vec<Ticket>>,
}

/// How many places have left the line, as one server knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departed {
    /// How many there have been.
    pub count: u64,
    /// The epoch of their tickets.
    pub epoch: Epoch,
    /// The server, by the first bytes of its replication id. Another one may lack the last writes.
    /// `None` if INFO is refused or has none.
    pub server: Option<u64>,
    /// Changes when version 0.2.0 takes a place out of the line, which names no places.
    pub uncounted: i64,
}

impl Departed {
    /// Whether the later number is of the same data, so that nothing was lost between the two.
    pub fn continues_in(&self, later: &Self) -> bool {
        let of_same_server = self.server.is_some() && self.server == later.server;
        of_same_server && self.epoch == later.epoch && self.count <= later.count
    }

    /// Whether all who have left between the two can be named.
    fn leads_to(&self, later: &Self) -> bool {
        self.continues_in(later) && self.uncounted == later.uncounted
    }
}

impl Queue {
    /// Which places have left the line since the last reading.
    pub async fn departures(&self, since: Option<Departed>) -> Result<Departures, Error> {
        let mut all = since.map(|_| Vec::new());
        let mut last = since;
        loop {
            let count = last.map(|last| last.count.to_string()).unwrap_or_default();
            let args = self.entity().args().with(count);
            let mut reply = self.entity().ask(&scripts::DEPARTURES, args, Repeat::Never).await?;
            let epoch = Epoch(reply.exactly()?);
            let server = reply.bytes()?;
            let server = server.get(..16).and_then(|id| std::str::from_utf8(id).ok());
            let server = server.and_then(|id| u64::from_str_radix(id, 16).ok());
            let uncounted = reply.integer()?;
            let upto = Departed { count: reply.count()?, epoch, server, uncounted };
            let (is_whole, more) = (reply.count()? == 1, reply.count()? == 1);
            if !(is_whole && last.is_some_and(|last| last.leads_to(&upto))) {
                all = None;
            }
            while !reply.is_empty() {
                let ticket = reply.count()?;
                all.iter_mut().for_each(|all| all.push(ticket));
            }
            if !more {
                return Ok(Departures { upto, tickets: all });
            }
            last = Some(upto);
        }
    }
}
