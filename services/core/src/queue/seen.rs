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
    /// The bits of the tickets.
    bits: Vec<u64>,
}

/// A part of a bitmap: some bits to set.
#[derive(Debug, PartialEq, Eq)]
struct Mask {
    /// The first word of the bitmap.
    first: u64,
    /// From there on.
    words: Vec<u32>,
}

impl Mask {
    const BITS: u64 = u32::BITS as u64;
    /// Words without a bit in a mask: more of them cost more than another mask.
    const MOST_EMPTY: u64 = 16;
    const MOST_WORDS: u64 = 128;
    /// Of a call, which takes well below a millisecond.
    const MOST_OF_A_CALL: usize = 64;
    const MOST_WORDS_OF_A_CALL: usize = 1_024;

    /// The masks that set these bits.
    fn all(bits: &[u64]) -> Vec<Self> {
        let mut bits = bits.to_vec();
        bits.sort_unstable();
        let mut masks: Vec<Self> = Vec::new();
        for bit in bits {
            let word = bit / Self::BITS;
            let is_near = |mask: &Self| {
                let end = mask.first + mask.words.len() as u64;
                word < end + Self::MOST_EMPTY && word < mask.first + Self::MOST_WORDS
            };
            if !masks.last().is_some_and(is_near) {
                masks.push(Self { first: word, words: Vec::new() });
            }
            if let Some(mask) = masks.last_mut() {
                let at = usize::try_from(word - mask.first).unwrap_or_default();
                if at >= mask.words.len() {
                    mask.words.resize(at + 1, 0);
                }
                // The first ticket of a word is its highest bit.
                mask.words[at] |= 1 << (Self::BITS - 1 - bit % Self::BITS);
            }
        }
        masks
    }

    /// As many as fit in each call.
    fn calls(masks: &[Self]) -> impl Iterator<Item = &[Self]> {
        let mut rest = masks;
        std::iter::from_fn(move || {
            let mut words = 0;
            let fits = |mask: &&Self| {
                words += mask.words.len();
                words <= Self::MOST_WORDS_OF_A_CALL
            };
            let some = rest.iter().take(Self::MOST_OF_A_CALL).take_while(fits).count();
            let (call, behind) = rest.split_at(some);
            rest = behind;
            (!call.is_empty()).then_some(call)
        })
    }

    fn bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }
}

impl Polled {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.bits.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bits.is_empty()
    }

    /// Whether they are of this slot.
    pub fn are_of(&self, seen: &Seen) -> bool {
        self.slot == seen.slot
    }

    /// One more, if it is in reach of the bits.
    pub fn add(&mut self, ticket: Ticket) -> bool {
        let bit = ticket.checked_sub(self.slot.base).filter(|bit| *bit < self.slot.reach);
        self.bits.extend(bit);
        bit.is_some()
    }
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
        for masks in Mask::calls(&Mask::all(&polled.bits)) {
            let mut args = self.entity().args().with(&epoch.0[..]).with(number).with(base);
            for mask in masks {
                args.push(mask.first * u64::from(u32::BITS) / 8).push(mask.bytes());
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

    /// The bits that masks set.
    fn bits_of(masks: &[Mask]) -> Vec<u64> {
        let words = masks.iter().flat_map(|mask| (mask.first..).zip(&mask.words));
        let bits = words.flat_map(|(at, word)| {
            (0..32).filter(move |bit| word & (1 << (31 - bit)) != 0).map(move |bit| 32 * at + bit)
        });
        bits.collect()
    }

    proptest! {
        #[test]
        fn masks_set_the_bits_and_no_others(
            bits in proptest::collection::btree_set(
                prop_oneof![0..40_000u64, 10_000..10_400u64, Just((1 << 32) + 5)], 0..2_000,
            )
        ) {
            let masks = Mask::all(&bits.iter().rev().copied().collect::<Vec<_>>());
            prop_assert_eq!(bits_of(&masks), bits.into_iter().collect::<Vec<_>>());
            prop_assert!(masks.iter().all(|mask| mask.words.len() <= 128));
            let mut sent = Vec::new();
            for call in Mask::calls(&masks) {
                prop_assert!(call.len() <= 64);
                prop_assert!(call.iter().map(|mask| mask.words.len()).sum::<usize>() <= 1_024);
                sent.extend(call);
            }
            prop_assert!(sent.into_iter().eq(&masks));
        }
    }

    #[test]
    fn bits_that_are_close_together_are_one_mask() {
        let masks = |bits: &[u64]| Mask::all(bits).len();
        assert_eq!(masks(&[]), 0);
        assert_eq!(masks(&[7, 7, 40, 8, 0]), 1);
        assert_eq!(masks(&[0, 16 * 32]), 1);
        assert_eq!(masks(&[0, 17 * 32]), 2);
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
