//! Which tickets were seen in the present slot, by any process; and which ones this process has
//! seen.

use std::sync::atomic::{AtomicU8, Ordering};

use super::place::{Epoch, Ticket};
use super::{Queue, scripts};
use crate::store::{Error, Repeat};

/// Tickets of visitors who join later can be noted too, as many as join in some seconds.
const ROOM: u64 = 1 << 18;

/// A slot, as Redis knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenSlot {
    /// The epoch of its tickets.
    pub epoch: Epoch,
    /// When it was opened, in µs of queue time: no two slots have the same.
    pub opened_at: u64,
    /// One more than that of the slot before.
    pub number: u64,
    /// Whether a check-in period opened it: who was not seen in it is not present.
    pub is_check_in: bool,
    /// The ticket of bit 0.
    base: Ticket,
    /// How many bits it can have. Places behind that have the slot in their records.
    reach: u64,
}

/// The tickets that were seen in a slot.
#[derive(Debug)]
pub struct Seen {
    /// Which slot.
    pub slot: SeenSlot,
    first: Ticket,
    bits: Box<[AtomicU8]>,
}

/// The tickets of visitors who have polled in one slot.
#[derive(Debug)]
pub struct Polled {
    slot: SeenSlot,
    /// The bits of the tickets.
    bits: Vec<u64>,
}

impl Polled {
    /// So many are written in one call.
    pub const MOST: usize = 500;

    /// How many there are.
    pub fn len(&self) -> usize {
        self.bits.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bits.is_empty()
    }

    /// One more, if it is of this slot, and in reach of its bits.
    pub fn add(&mut self, seen: &Seen, ticket: Ticket) -> bool {
        let bit = ticket.checked_sub(self.slot.base).filter(|bit| *bit < self.slot.reach);
        let bit = bit.filter(|_| self.slot == seen.slot);
        self.bits.extend(bit);
        bit.is_some()
    }
}

impl Seen {
    /// Tickets that were seen in a slot, in the order of Redis' bitmaps: in each byte the first
    /// ticket is the highest bit.
    fn new(slot: SeenSlot, first: Ticket, last: Ticket, mut bits: Vec<u8>) -> Self {
        let tickets = (last + 1).saturating_sub(first) + ROOM;
        bits.resize(usize::try_from(tickets.div_ceil(8)).unwrap_or_default().max(bits.len()), 0);
        Self { slot, first, bits: bits.into_iter().map(AtomicU8::new).collect() }
    }

    /// Whether this is of the slot after that one.
    pub fn follows(&self, before: &Self) -> bool {
        let (slot, before) = (self.slot, before.slot);
        (slot.epoch, slot.number) == (before.epoch, before.number + 1)
    }

    /// Of no tickets yet.
    pub fn polled(&self) -> Polled {
        Polled { slot: self.slot, bits: Vec::new() }
    }

    /// Whether the ticket was seen, as far as this process knows.
    pub fn has(&self, ticket: Ticket) -> bool {
        self.bit(ticket).is_some_and(|(byte, bit)| byte.load(Ordering::Relaxed) & bit != 0)
    }

    /// The ticket was seen since this was read.
    pub fn note(&self, ticket: Ticket) {
        if let Some((byte, bit)) = self.bit(ticket) {
            byte.fetch_or(bit, Ordering::Relaxed);
        }
    }

    fn bit(&self, ticket: Ticket) -> Option<(&AtomicU8, u8)> {
        let at = ticket.checked_sub(self.first)?;
        Some((self.bits.get(usize::try_from(at / 8).ok()?)?, 0x80 >> (at % 8)))
    }
}

impl Queue {
    /// Which tickets from this one on were seen in the present slot. `None` if there is no slot, or
    /// another one was opened meanwhile.
    pub async fn seen(&self, from: Ticket) -> Result<Option<Seen>, Error> {
        let mut from = from;
        let mut read = None;
        loop {
            let args = self.entity().args().with(from);
            let mut reply = self.entity().ask(&scripts::SEEN, args, Repeat::Never).await?;
            let epoch = Epoch(reply.exactly()?);
            let (opened_at, number) = (reply.count()?, reply.count()?);
            let is_check_in = reply.count()? == 1;
            let (base, reach) = (reply.count()?, reply.count()?);
            let (byte, last) = (reply.count()?, reply.count()?);
            let (more, part) = (reply.count()? == 1, reply.bytes()?);
            let slot = SeenSlot { epoch, opened_at, number, is_check_in, base, reach };
            let first = base + 8 * byte;
            let (known, begin, bits) = read.get_or_insert_with(|| (slot, first, Vec::new()));
            if *known != slot {
                return Ok(None);
            }
            bits.extend(part);
            from = *begin + 8 * bits.len() as u64;
            if !more {
                let seen = read.map(|(slot, first, bits)| Seen::new(slot, first, last, bits));
                return Ok(seen.filter(|seen| seen.slot.opened_at > 0));
            }
        }
    }

    /// Visitors have polled whom this process knows in line. `false`: the slot is over, and so is
    /// the one after it, or Redis has lost it.
    pub async fn mark_seen(&self, polled: &Polled) -> Result<bool, Error> {
        let SeenSlot { epoch, number, base, .. } = polled.slot;
        for bits in polled.bits.chunks(Polled::MOST) {
            let mut args = self.entity().args().with(&epoch.0[..]).with(number).with(base);
            for bit in bits {
                args.push("SET").push("u1").push(bit).push("1");
            }
            let repeat = Repeat::IfUnknown;
            let mut reply = self.entity().ask(&scripts::MARK_SEEN, args, repeat).await?;
            if reply.count()? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOT: SeenSlot = SeenSlot {
        epoch: Epoch([7; 8]),
        opened_at: 1,
        number: 3,
        is_check_in: false,
        base: 1_000,
        reach: 4_000,
    };

    #[test]
    fn bits_are_in_the_order_of_redis() {
        let seen = Seen::new(SLOT, 1_000, 1_010, vec![0b1000_0001, 0b0100_0000]);
        let has: Vec<_> = (990..1_030).filter(|ticket| seen.has(*ticket)).collect();
        assert_eq!(has, [1_000, 1_007, 1_009]);
    }

    #[test]
    fn later_tickets_can_be_noted() {
        let seen = Seen::new(SLOT, 1_000, 1_010, vec![0xff]);
        for ticket in [1_008, 1_500, 1_010 + ROOM] {
            assert!(!seen.has(ticket));
            seen.note(ticket);
            assert!(seen.has(ticket), "{ticket}");
        }
        for ticket in [0, 999, 2_000 + ROOM, u64::MAX] {
            seen.note(ticket);
            assert!(!seen.has(ticket), "{ticket}");
        }
    }
}
