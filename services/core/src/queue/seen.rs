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
    pub base: Ticket,
    /// How many bits it can have. Places behind that have the slot in their records.
    pub reach: u64,
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
    /// Their bits, up to the last one.
    bits: Vec<u8>,
}

impl Polled {
    /// As many bytes of the bits are sent in one call, which takes well below a millisecond.
    const PART: usize = 64 * 1024;

    /// How many there are.
    pub fn count(&self) -> usize {
        self.bits.iter().map(|byte| byte.count_ones() as usize).sum()
    }

    /// How many calls send them at most: two for a million tickets.
    pub fn calls(&self) -> usize {
        self.bits.len().div_ceil(Self::PART)
    }

    /// Whether they are of this slot.
    pub fn are_of(&self, seen: &Seen) -> bool {
        self.slot == seen.slot
    }

    /// One more, if it is in reach of the bits.
    pub fn add(&mut self, ticket: Ticket) -> bool {
        let bit = ticket.checked_sub(self.slot.base).filter(|bit| *bit < self.slot.reach);
        let Some((byte, bit)) = bit.and_then(byte_and_bit) else { return false };
        if byte >= self.bits.len() {
            self.bits.resize(byte + 1, 0);
        }
        self.bits[byte] |= bit;
        true
    }

    /// Where a part of the bits begins in the bitmap, and that part. Together they have all bits.
    fn parts(&self) -> impl Iterator<Item = (usize, &[u8])> {
        self.bits.chunks(Self::PART).enumerate().filter_map(|(n, part)| {
            let first = part.iter().position(|byte| *byte != 0)?;
            let last = part.iter().rposition(|byte| *byte != 0)?;
            Some((n * Self::PART + first, &part[first..=last]))
        })
    }
}

/// The byte of a bitmap that has this bit, and the bit in it, in the order of Redis.
fn byte_and_bit(bit: u64) -> Option<(usize, u8)> {
    Some((usize::try_from(bit / 8).ok()?, 0x80 >> (bit % 8)))
}

impl Seen {
    /// Tickets that were seen in a slot, from the first one to the last that was given. `bits` are
    /// in the order of Redis' bitmaps: in each byte the first ticket is the highest bit.
    pub fn new(slot: SeenSlot, first: Ticket, last: Ticket, mut bits: Vec<u8>) -> Self {
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
        let (byte, bit) = byte_and_bit(ticket.checked_sub(self.first)?)?;
        Some((self.bits.get(byte)?, bit))
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

    /// Visitors have polled whom this process knows in line. `false`: Redis has no such slot any
    /// more.
    pub async fn mark_seen(&self, polled: &Polled) -> Result<bool, Error> {
        let SeenSlot { epoch, number, base, .. } = polled.slot;
        for (first, part) in polled.parts() {
            let args = self.entity().args().with(&epoch.0[..]).with(number).with(base);
            let args = args.with(first).with(part);
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
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn parts_have_all_bits_and_no_others(
            tickets in proptest::collection::btree_set(
                prop_oneof![1_000..1_300_u64, 1_000..6_000_000_u64], 0..100,
            )
        ) {
            let slot = SeenSlot { reach: 5_000_000, ..SLOT };
            let mut polled = Polled { slot, bits: Vec::new() };
            let added: Vec<_> = tickets.iter().copied().filter(|ticket| polled.add(*ticket)).collect();
            let in_reach: Vec<_> = tickets.range(..5_001_000).copied().collect();
            prop_assert_eq!(&added, &in_reach);
            prop_assert_eq!(polled.count(), in_reach.len());
            let mut bits = Vec::new();
            for (first, part) in polled.parts() {
                prop_assert!(part.len() <= Polled::PART && part[0] != 0);
                bits.resize(first, 0);
                bits.extend(part);
            }
            let set: usize = bits.iter().map(|byte| byte.count_ones() as usize).sum();
            prop_assert_eq!(set, in_reach.len());
            let seen = Seen::new(slot, slot.base, slot.base, bits);
            prop_assert!(in_reach.iter().all(|ticket| seen.has(*ticket)));
        }
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
