//! Which places this process has reported as seen in the present slot: a bit for each ticket.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use anteroom_core::queue::{Epoch, Ticket};
use arc_swap::ArcSwapOption;

/// Tickets of a page: 64 KiB of bits.
const TICKETS: u64 = 1 << 19;
/// Pages of a slot: as many tickets as the bitmaps of Redis reach with the longest line that may be
/// configured. Places behind that are always reported.
const PAGES: usize = 128;
/// Calls that end a place are counted apart by ticket, so that few are in each other's way.
const COUNTERS: usize = 1_024;

/// A slot in which visitors are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Of which life of the queue.
    pub epoch: Epoch,
    /// Which of its slots.
    pub number: u64,
    /// The ticket at the head of the line when this process first heard of the slot.
    pub first: Ticket,
}

pub struct Reported {
    present: ArcSwapOption<Bits>,
    /// How many calls have ended a place.
    ended: [AtomicU64; COUNTERS],
}

impl Default for Reported {
    fn default() -> Self {
        Self { present: ArcSwapOption::empty(), ended: std::array::from_fn(|_| AtomicU64::new(0)) }
    }
}

/// Made when the first of its tickets is reported.
type Page = OnceLock<Box<[AtomicU64]>>;

/// The places that were reported in one slot.
struct Bits {
    slot: Slot,
    pages: [Page; PAGES],
}

impl Bits {
    fn new(slot: Slot) -> Self {
        Self { slot, pages: std::array::from_fn(|_| OnceLock::new()) }
    }

    fn is_of(&self, slot: &Slot) -> bool {
        (self.slot.epoch, self.slot.number) == (slot.epoch, slot.number)
    }

    /// The page of a ticket, the word in it, and the bit.
    fn at(&self, ticket: Ticket) -> Option<(&Page, usize, u64)> {
        let at = ticket.checked_sub(self.slot.first)?;
        let page = self.pages.get(usize::try_from(at / TICKETS).ok()?)?;
        let in_page = at % TICKETS;
        Some((page, usize::try_from(in_page / 64).ok()?, 1 << (in_page % 64)))
    }

    fn has(&self, ticket: Ticket) -> bool {
        let Some((page, word, bit)) = self.at(ticket) else { return false };
        page.get().is_some_and(|page| page[word].load(Ordering::Acquire) & bit != 0)
    }

    fn set(&self, ticket: Ticket) {
        if let Some((page, word, bit)) = self.at(ticket) {
            let zeros = || (0..TICKETS / 64).map(|_| AtomicU64::new(0)).collect();
            page.get_or_init(zeros)[word].fetch_or(bit, Ordering::AcqRel);
        }
    }

    fn clear(&self, ticket: Ticket) {
        if let Some((page, word, bit)) = self.at(ticket)
            && let Some(page) = page.get()
        {
            page[word].fetch_and(!bit, Ordering::AcqRel);
        }
    }
}

/// A poll before it is reported.
pub struct Mark {
    bits: Arc<Bits>,
    ticket: Ticket,
    /// How many calls had ended a place before.
    ended: u64,
}

impl Mark {
    /// Whether the place was reported in the slot.
    pub fn is_reported(&self) -> bool {
        self.bits.has(self.ticket)
    }
}

impl Reported {
    /// Begins a poll in a slot.
    pub fn begin(&self, slot: Slot, ticket: Ticket) -> Mark {
        let ended = self.ended(ticket).load(Ordering::Acquire);
        Mark { bits: self.of(slot), ticket, ended }
    }

    /// The bits of a slot. Where it is a new one, those of the slot before are dropped.
    fn of(&self, slot: Slot) -> Arc<Bits> {
        let present = self.present.load_full();
        if let Some(bits) = present.filter(|bits| bits.is_of(&slot)) {
            return bits;
        }
        let new = Arc::new(Bits::new(slot));
        let before = self.present.rcu(|present| match present {
            Some(present) if present.is_of(&slot) => present.clone(),
            _ => new.clone(),
        });
        before.filter(|bits| bits.is_of(&slot)).unwrap_or(new)
    }

    /// Redis has seen the visitor in a slot: its later polls need no report.
    pub fn confirm(&self, mark: &Mark, slot: u64) {
        if mark.bits.slot.number != slot {
            return;
        }
        mark.bits.set(mark.ticket);
        // The place may have ended after Redis saw the visitor, and before the bit was set.
        if self.ended(mark.ticket).load(Ordering::Acquire) != mark.ended {
            mark.bits.clear(mark.ticket);
        }
    }

    /// A call has ended the place, or may have.
    pub fn forget(&self, ticket: Ticket) {
        self.ended(ticket).fetch_add(1, Ordering::AcqRel);
        if let Some(bits) = self.present.load().as_deref() {
            bits.clear(ticket);
        }
    }

    fn ended(&self, ticket: Ticket) -> &AtomicU64 {
        &self.ended[usize::try_from(ticket).unwrap_or_default() % COUNTERS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Ticket = 1_000;

    fn slot(number: u64) -> Slot {
        Slot { epoch: Epoch([7; 8]), number, first: FIRST }
    }

    /// A poll that Redis confirms in a slot; whether the next one in `next` needs no report.
    fn is_reported(reported: &Reported, ticket: Ticket, seen_in: u64, next: Slot) -> bool {
        let mark = reported.begin(slot(1), ticket);
        assert!(!mark.is_reported());
        reported.confirm(&mark, seen_in);
        reported.begin(next, ticket).is_reported()
    }

    #[test]
    fn a_report_counts_for_its_ticket_in_its_slot() {
        let reported = Reported::default();
        assert!(is_reported(&reported, FIRST, 1, slot(1)));
        assert!(is_reported(&reported, FIRST + 3 * TICKETS + 5, 1, slot(1)));
        assert!(!reported.begin(slot(1), FIRST + 1).is_reported());
        assert!(!reported.begin(slot(2), FIRST).is_reported(), "another slot");
        let reset = Slot { epoch: Epoch([8; 8]), ..slot(1) };
        assert!(!is_reported(&Reported::default(), FIRST, 1, reset), "another life of the queue");
        assert!(!is_reported(&Reported::default(), FIRST, 2, slot(1)), "seen in another slot");
    }

    #[test]
    fn tickets_out_of_reach_are_always_reported_again() {
        let reported = Reported::default();
        for ticket in [0, FIRST - 1, FIRST + PAGES as u64 * TICKETS, u64::MAX] {
            assert!(!is_reported(&reported, ticket, 1, slot(1)), "{ticket}");
        }
    }

    #[test]
    fn an_end_is_never_overtaken_by_a_report() {
        let reported = Reported::default();
        assert!(is_reported(&reported, FIRST, 1, slot(1)));
        reported.forget(FIRST);
        let mark = reported.begin(slot(1), FIRST);
        assert!(!mark.is_reported(), "it ended after the report");
        // It ends while the report is on its way.
        reported.forget(FIRST);
        reported.confirm(&mark, 1);
        assert!(!reported.begin(slot(1), FIRST).is_reported());
    }
}
