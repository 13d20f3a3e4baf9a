//! Which places this process has reported as seen in the present slot: for each ticket a part of
//! the id of its place.

use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use anteroom_core::queue::{Epoch, PlaceRef, Ticket};
use arc_swap::ArcSwapOption;

/// Tickets of a page of 64 KiB.
const TICKETS: u64 = 1 << 15;
/// Pages of a slot: for 67 million tickets. Places behind that are always reported.
const PAGES: usize = 2_048;
/// Calls that end a place are counted apart by ticket, so that few are in each other's way.
const COUNTERS: usize = 1_024;

/// A slot in which visitors are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The epoch of the queue.
    pub epoch: Epoch,
    /// When it was opened, in queue time: no two slots have the same.
    pub opened_at: u64,
    /// How many connections to Redis there have been. After a new one Redis may have forgotten what
    /// was reported.
    pub connections: u64,
    /// The ticket at the head of the line when this process first heard of the slot.
    pub first: Ticket,
}

pub struct Reported {
    present: ArcSwapOption<Tags>,
    /// How many calls have ended a place.
    ended: [AtomicU64; COUNTERS],
}

impl Default for Reported {
    fn default() -> Self {
        Self { present: ArcSwapOption::empty(), ended: std::array::from_fn(|_| AtomicU64::new(0)) }
    }
}

/// Made when the first of its tickets is reported.
type Page = OnceLock<Box<[AtomicU16]>>;

/// The places that were reported in one slot: for each ticket the [`tag`] of its place, or 0.
struct Tags {
    slot: Slot,
    pages: Box<[Page]>,
}

/// A part of the id. If Redis goes back to older data, a ticket is given again, to another place.
fn tag(of: PlaceRef) -> u16 {
    u16::from_be_bytes([of.id.0[0], of.id.0[1]]).max(1)
}

impl Tags {
    fn new(slot: Slot) -> Self {
        Self { slot, pages: (0..PAGES).map(|_| OnceLock::new()).collect() }
    }

    fn is_of(&self, slot: &Slot) -> bool {
        let Slot { epoch, opened_at, connections, first: _ } = self.slot;
        (epoch, opened_at, connections) == (slot.epoch, slot.opened_at, slot.connections)
    }

    /// The page of a ticket, and where it is in the page.
    fn at(&self, ticket: Ticket) -> Option<(&Page, usize)> {
        let at = ticket.checked_sub(self.slot.first)?;
        let page = self.pages.get(usize::try_from(at / TICKETS).ok()?)?;
        Some((page, usize::try_from(at % TICKETS).ok()?))
    }

    fn has(&self, of: PlaceRef) -> bool {
        let Some((page, at)) = self.at(of.ticket) else { return false };
        page.get().is_some_and(|page| page[at].load(Ordering::Acquire) == tag(of))
    }

    fn set(&self, of: PlaceRef) {
        if let Some((page, at)) = self.at(of.ticket) {
            let zeros = || (0..TICKETS).map(|_| AtomicU16::new(0)).collect();
            page.get_or_init(zeros)[at].store(tag(of), Ordering::Release);
        }
    }

    fn clear(&self, ticket: Ticket) {
        if let Some((page, at)) = self.at(ticket)
            && let Some(page) = page.get()
        {
            page[at].store(0, Ordering::Release);
        }
    }
}

/// A poll before it is reported.
pub struct Mark {
    tags: Arc<Tags>,
    of: PlaceRef,
    /// How many calls had ended a place before.
    ended: u64,
}

impl Mark {
    /// Whether the place was reported in the slot.
    pub fn is_reported(&self) -> bool {
        self.tags.has(self.of)
    }
}

impl Reported {
    /// Begins a poll in a slot.
    pub fn begin(&self, slot: Slot, of: PlaceRef) -> Mark {
        let ended = self.ended(of.ticket).load(Ordering::Acquire);
        Mark { tags: self.of(slot), of, ended }
    }

    /// What was reported in a slot. Where it is a new one, the slot before is dropped.
    fn of(&self, slot: Slot) -> Arc<Tags> {
        let present = self.present.load_full();
        if let Some(tags) = present.filter(|tags| tags.is_of(&slot)) {
            return tags;
        }
        let new = Arc::new(Tags::new(slot));
        let before = self.present.rcu(|present| match present {
            Some(present) if present.is_of(&slot) => present.clone(),
            _ => new.clone(),
        });
        before.filter(|tags| tags.is_of(&slot)).unwrap_or(new)
    }

    /// Redis has seen the visitor in a slot, named as in [`Slot::opened_at`]: its later polls need
    /// no report.
    pub fn confirm(&self, mark: &Mark, slot: u64) {
        let Mark { tags, of, ended } = mark;
        if tags.slot.opened_at != slot {
            return;
        }
        tags.set(*of);
        // The place may have ended after Redis saw the visitor, and before this was noted.
        if self.ended(of.ticket).load(Ordering::Acquire) != *ended {
            tags.clear(of.ticket);
        }
    }

    /// A call has ended the place, or may have.
    pub fn forget(&self, ticket: Ticket) {
        self.ended(ticket).fetch_add(1, Ordering::AcqRel);
        if let Some(tags) = self.present.load().as_deref() {
            tags.clear(ticket);
        }
    }

    fn ended(&self, ticket: Ticket) -> &AtomicU64 {
        &self.ended[usize::try_from(ticket).unwrap_or_default() % COUNTERS]
    }
}

#[cfg(test)]
mod tests {
    use anteroom_core::queue::PlaceId;

    use super::*;

    const FIRST: Ticket = 1_000;

    fn slot(opened_at: u64) -> Slot {
        Slot { epoch: Epoch([7; 8]), opened_at, connections: 1, first: FIRST }
    }

    fn place(ticket: Ticket) -> PlaceRef {
        PlaceRef { epoch: Epoch([7; 8]), id: PlaceId([5; 14]), ticket }
    }

    /// A poll that Redis confirms in a slot; whether the next one in `next` needs no report.
    fn is_reported(reported: &Reported, ticket: Ticket, seen_in: u64, next: Slot) -> bool {
        let mark = reported.begin(slot(1), place(ticket));
        assert!(!mark.is_reported());
        reported.confirm(&mark, seen_in);
        reported.begin(next, place(ticket)).is_reported()
    }

    #[test]
    fn a_report_counts_for_its_ticket_in_its_slot() {
        let reported = Reported::default();
        assert!(is_reported(&reported, FIRST, 1, slot(1)));
        assert!(is_reported(&reported, FIRST + 3 * TICKETS + 5, 1, slot(1)));
        assert!(!reported.begin(slot(1), place(FIRST + 1)).is_reported());
        assert!(!reported.begin(slot(2), place(FIRST)).is_reported(), "another slot");
        let reset = Slot { epoch: Epoch([8; 8]), ..slot(1) };
        assert!(!is_reported(&Reported::default(), FIRST, 1, reset), "another epoch");
        let connected = Slot { connections: 2, ..slot(1) };
        assert!(!is_reported(&Reported::default(), FIRST, 1, connected), "older data, perhaps");
        assert!(!is_reported(&Reported::default(), FIRST, 2, slot(1)), "seen in another slot");
    }

    #[test]
    fn promise_06_a_report_is_of_one_place_if_its_ticket_was_given_twice() {
        let reported = Reported::default();
        assert!(is_reported(&reported, FIRST, 1, slot(1)));
        let lost = PlaceRef { id: PlaceId([6; 14]), ..place(FIRST) };
        assert!(!reported.begin(slot(1), lost).is_reported());
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
        let mark = reported.begin(slot(1), place(FIRST));
        assert!(!mark.is_reported(), "it ended after the report");
        // It ends while the report is on its way.
        reported.forget(FIRST);
        reported.confirm(&mark, 1);
        assert!(!reported.begin(slot(1), place(FIRST)).is_reported());
    }
}
