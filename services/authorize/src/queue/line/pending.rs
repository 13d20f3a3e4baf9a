//! Visitors who have polled in a slot, and who are to be reported together.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anteroom_core::queue::{Polled, Seen, Ticket};

/// A report has more calls the longer the line is, however few have polled. Each takes 0.3 ms of
/// Redis, so all take less than a thousandth of its time.
const FOR_EACH_CALL: Duration = Duration::from_millis(500);
/// No poll is reported later.
const LATEST: Duration = Duration::from_secs(10);

#[derive(Default)]
pub struct Pending(Mutex<Polls>);

#[derive(Default)]
struct Polls {
    /// Slot by slot.
    polled: Vec<Polled>,
    /// When the first of them polled.
    since: Option<Instant>,
}

impl Pending {
    /// One more in this slot. `false`: it is out of reach of the bits.
    pub fn add(&self, seen: &Seen, ticket: Ticket) -> bool {
        let mut polls = self.polls();
        if !polls.polled.last().is_some_and(|last| last.are_of(seen)) {
            polls.polled.push(seen.polled());
        }
        polls.since.get_or_insert_with(Instant::now);
        polls.polled.last_mut().is_some_and(|last| last.add(ticket))
    }

    /// Whether to report them now. The next chance is so much later.
    pub fn are_due(&self, later: Duration) -> bool {
        let polls = self.polls();
        let calls: usize = polls.polled.iter().map(Polled::calls).sum();
        let together = FOR_EACH_CALL * u32::try_from(calls).unwrap_or(u32::MAX);
        polls.since.is_some_and(|since| since.elapsed() + later >= together.min(LATEST))
    }

    /// Takes all, to be sent one by one.
    pub fn take(&self) -> Unsent<'_> {
        Unsent { of: self, polls: std::mem::take(&mut *self.polls()) }
    }

    fn polls(&self) -> MutexGuard<'_, Polls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What was taken and is not sent. It is put back when this is dropped: the task that sends is
/// ended before the last requests are answered.
pub struct Unsent<'a> {
    of: &'a Pending,
    polls: Polls,
}

impl Unsent<'_> {
    /// The next to be sent.
    pub fn last(&self) -> Option<&Polled> {
        self.polls.polled.last()
    }

    /// The next one is sent.
    pub fn pop(&mut self) {
        self.polls.polled.pop();
    }
}

impl Drop for Unsent<'_> {
    fn drop(&mut self) {
        if self.polls.polled.is_empty() {
            return;
        }
        let mut polls = self.of.polls();
        // The newest are last, so that more can be added to them.
        let newer = std::mem::replace(&mut *polls, std::mem::take(&mut self.polls));
        polls.polled.extend(newer.polled);
    }
}

#[cfg(test)]
mod tests {
    use anteroom_core::queue::{Epoch, SeenSlot};

    use super::*;

    const REACH: u64 = 100;

    fn seen(number: u64) -> Seen {
        seen_within(REACH, number)
    }

    fn seen_within(reach: u64, number: u64) -> Seen {
        let (epoch, opened_at, base) = (Epoch([7; 8]), number + 1, 1_000);
        let slot = SeenSlot { epoch, opened_at, number, is_check_in: false, base, reach };
        Seen::new(slot, base, base + 2 * REACH, Vec::new())
    }

    /// How many are pending, slot by slot.
    fn lengths(pending: &Pending) -> Vec<usize> {
        pending.polls().polled.iter().map(Polled::count).collect()
    }

    #[test]
    fn visitors_of_one_slot_are_together_and_those_out_of_reach_are_not_among_them() {
        let (pending, slots) = (Pending::default(), [seen(1), seen(2)]);
        for ticket in 1_000..1_010 {
            assert!(pending.add(&slots[0], ticket));
            assert!(!pending.add(&slots[0], ticket + REACH));
        }
        assert!(pending.add(&slots[1], 1_000));
        assert_eq!(lengths(&pending), [10, 1]);
    }

    #[test]
    fn polls_are_reported_each_second_if_the_line_is_not_very_long() {
        let at_once = |ticket| {
            let pending = Pending::default();
            assert!(pending.add(&seen_within(40_000_000, 1), ticket));
            pending.are_due(Duration::from_secs(1))
        };
        assert!(at_once(1_000) && at_once(1_000_000));
        assert!(!at_once(2_000_000) && !at_once(30_000_000));
        let empty = Pending::default();
        assert!(!empty.are_due(Duration::from_secs(1)));
    }

    #[test]
    fn what_is_not_sent_is_put_back() {
        let (pending, slots) = (Pending::default(), [seen(1), seen(2)]);
        for (seen, tickets) in slots.iter().zip([1_000..1_003, 1_000..1_005]) {
            assert!(tickets.into_iter().all(|ticket| pending.add(seen, ticket)));
        }
        let mut unsent = pending.take();
        assert_eq!(unsent.last().map(Polled::count), Some(5));
        unsent.pop();
        assert!(pending.add(&slots[1], 1_000), "meanwhile");
        drop(unsent);
        assert!(pending.add(&slots[1], 1_001));
        let since = pending.polls().since;
        drop(pending.take());
        assert_eq!(pending.polls().since, since, "they are due no later");
        assert_eq!(lengths(&pending), [3, 2]);
    }
}
