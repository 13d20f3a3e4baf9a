//! Which places this process has reported, and Redis has found in line: for each ticket a part of
//! the id of its place.

use std::sync::atomic::{AtomicU16, AtomicU64, Ordering, fence};
use std::sync::{Arc, OnceLock};

use anteroom_core::queue::{Epoch, PlaceRef, Ticket};
use arc_swap::ArcSwapOption;

/// Tickets of a page of 64 KiB.
const TICKETS: u64 = 1 << 15;
/// For 67 million tickets. Places behind that are always reported.
const PAGES: usize = 2_048;
/// So many pages of tickets before the head of the line are kept before they are dropped.
const PASSED_PAGES: u64 = 64;
/// Calls that end a place are counted apart by ticket, so that few are in each other's way.
const COUNTERS: usize = 1_024;

/// As long as this stays the same, no ticket is given to a second place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Era {
    /// The epoch of the queue.
    pub epoch: Epoch,
    /// How many connections to Redis there have been. After a new one Redis may have gone back to
    /// older data.
    pub connections: u64,
    /// How often places left the line that Redis did not name, or another server answered. A node
    /// of a cluster is replaced without a new connection of this process.
    pub unnamed: u64,
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
type Page = Arc<OnceLock<Box<[AtomicU16]>>>;

/// The places that were reported in an era: for each ticket the [`tag`] of its place, or 0.
struct Tags {
    era: Era,
    /// The number of the first page.
    first: u64,
    pages: Box<[Page]>,
}

/// A part of the id. If Redis goes back to older data, a ticket is given again, to another place.
fn tag(of: PlaceRef) -> u16 {
    u16::from_be_bytes([of.id.0[0], of.id.0[1]]).max(1)
}

impl Tags {
    /// Those of this era from the head of the line on, with what `before` has of them.
    fn new(era: Era, head: Ticket, before: Option<&Self>) -> Self {
        let first = head / TICKETS;
        let before = before.filter(|before| before.era == era);
        let page = |number| before.and_then(|before| before.page(number)).cloned();
        let pages = (first..).take(PAGES).map(|number| page(number).unwrap_or_default());
        Self { era, first, pages: pages.collect() }
    }

    /// Whether these are of the era and reach far enough for the line.
    fn fit(&self, era: Era, head: Ticket) -> bool {
        self.era == era && head / TICKETS < self.first + PASSED_PAGES
    }

    fn page(&self, number: u64) -> Option<&Page> {
        self.pages.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// The page of a ticket, and where it is in the page.
    fn at(&self, ticket: Ticket) -> Option<(&Page, usize)> {
        Some((self.page(ticket / TICKETS)?, usize::try_from(ticket % TICKETS).ok()?))
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
    /// Whether the place was reported, and has not ended through this process since.
    pub fn is_reported(&self) -> bool {
        self.tags.has(self.of)
    }
}

impl Reported {
    /// Begins a poll, while the line has this head.
    pub fn begin(&self, era: Era, head: Ticket, of: PlaceRef) -> Mark {
        let ended = self.ended(of.ticket).load(Ordering::Acquire);
        Mark { tags: self.of(era, head), of, ended }
    }

    /// What was reported in an era. What was in the one before is dropped, and the tickets that the
    /// line has passed.
    fn of(&self, era: Era, head: Ticket) -> Arc<Tags> {
        let present = self.present.load_full();
        if let Some(tags) = present.filter(|tags| tags.fit(era, head)) {
            return tags;
        }
        self.present.rcu(|present| match present {
            Some(tags) if tags.fit(era, head) => present.clone(),
            before => Some(Arc::new(Tags::new(era, head, before.as_deref()))),
        });
        let present = self.present.load_full();
        let is_new = |tags: &Arc<Tags>| tags.fit(era, head);
        // Unless another thread is in another era already.
        present.filter(is_new).unwrap_or_else(|| Arc::new(Tags::new(era, head, None)))
    }

    /// Redis has found the place in line.
    pub fn confirm(&self, mark: &Mark) {
        let Mark { tags, of, ended } = mark;
        tags.set(*of);
        // The place may have ended after Redis found it, and before this was noted. With the fence,
        // either this sees the end, or the end clears what was set.
        fence(Ordering::SeqCst);
        if self.ended(of.ticket).load(Ordering::Acquire) != *ended {
            tags.clear(of.ticket);
        }
    }

    /// A call has ended the place, or may have.
    pub fn forget(&self, ticket: Ticket) {
        self.ended(ticket).fetch_add(1, Ordering::AcqRel);
        fence(Ordering::SeqCst);
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

    const HEAD: Ticket = 10 * TICKETS + 5;
    const ERA: Era = Era { epoch: Epoch([7; 8]), connections: 1, unnamed: 0 };

    fn place(ticket: Ticket) -> PlaceRef {
        PlaceRef { epoch: ERA.epoch, id: PlaceId([5; 14]), ticket }
    }

    /// Whether a place that Redis has found in line needs a report in this era, with this head.
    fn is_reported(reported: &Reported, ticket: Ticket, era: Era, head: Ticket) -> bool {
        let mark = reported.begin(ERA, HEAD, place(ticket));
        assert!(!mark.is_reported());
        reported.confirm(&mark);
        reported.begin(era, head, place(ticket)).is_reported()
    }

    #[test]
    fn a_report_counts_for_its_place_in_its_era() {
        let reported = Reported::default();
        assert!(is_reported(&reported, HEAD, ERA, HEAD));
        assert!(is_reported(&reported, HEAD + 3 * TICKETS + 5, ERA, HEAD));
        assert!(!reported.begin(ERA, HEAD, place(HEAD + 1)).is_reported());
        let reset = Era { epoch: Epoch([8; 8]), ..ERA };
        assert!(!is_reported(&Reported::default(), HEAD, reset, HEAD));
        for other in [Era { connections: 2, ..ERA }, Era { unnamed: 1, ..ERA }] {
            assert!(!is_reported(&Reported::default(), HEAD, other, HEAD), "{other:?}");
        }
    }

    #[test]
    fn promise_06_a_report_is_of_one_place_if_its_ticket_was_given_twice() {
        let reported = Reported::default();
        assert!(is_reported(&reported, HEAD, ERA, HEAD));
        let lost = PlaceRef { id: PlaceId([6; 14]), ..place(HEAD) };
        assert!(!reported.begin(ERA, HEAD, lost).is_reported());
    }

    #[test]
    fn reports_stay_while_the_line_moves_on() {
        let reported = Reported::default();
        let far = HEAD + 200 * TICKETS;
        assert!(is_reported(&reported, far, ERA, HEAD + 1));
        for head in [HEAD + TICKETS, HEAD + 70 * TICKETS, HEAD + 130 * TICKETS, far] {
            assert!(reported.begin(ERA, head, place(far)).is_reported(), "{head}");
        }
        // Tickets that could not be noted before can be now.
        let last = far + (PAGES as u64 - 1) * TICKETS;
        let mark = reported.begin(ERA, far, place(last));
        reported.confirm(&mark);
        assert!(reported.begin(ERA, far, place(last)).is_reported());
    }

    #[test]
    fn tickets_out_of_reach_are_always_reported_again() {
        let reported = Reported::default();
        for ticket in [0, HEAD - TICKETS, HEAD + PAGES as u64 * TICKETS, u64::MAX] {
            assert!(!is_reported(&reported, ticket, ERA, HEAD), "{ticket}");
        }
    }

    #[test]
    fn an_end_is_never_overtaken_by_a_report() {
        let reported = Reported::default();
        assert!(is_reported(&reported, HEAD, ERA, HEAD));
        reported.forget(HEAD);
        let mark = reported.begin(ERA, HEAD, place(HEAD));
        assert!(!mark.is_reported(), "it ended after the report");
        // It ends while the report is on its way.
        reported.forget(HEAD);
        reported.confirm(&mark);
        assert!(!reported.begin(ERA, HEAD, place(HEAD)).is_reported());
    }
}
