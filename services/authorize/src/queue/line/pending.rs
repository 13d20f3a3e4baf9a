//! Visitors who have polled in a slot, and who are to be reported within a second, all in one call.

use std::sync::{Mutex, PoisonError};

use anteroom_core::queue::{Polled, Seen, Ticket};

/// More visitors are reported one by one, so that the memory is bounded.
const MOST: usize = 1 << 16;

#[derive(Default)]
pub struct Pending(Mutex<Vec<Polled>>);

impl Pending {
    /// One more in this slot. `false`: there are too many, or it is out of reach of the bits.
    pub fn add(&self, seen: &Seen, ticket: Ticket) -> bool {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if pending.iter().map(Polled::len).sum::<usize>() >= MOST {
            return false;
        }
        if !pending.last().is_some_and(|last| last.are_of(seen)) {
            pending.push(seen.polled());
        }
        pending.last_mut().is_some_and(|last| last.add(ticket))
    }

    /// Takes all, to be sent one by one.
    pub fn take(&self) -> Unsent<'_> {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Unsent { of: self, polled: std::mem::take(&mut *pending) }
    }
}

/// What was taken and is not sent. It is put back when this is dropped: the task that sends is
/// ended before the last requests are answered.
pub struct Unsent<'a> {
    of: &'a Pending,
    polled: Vec<Polled>,
}

impl Unsent<'_> {
    /// The next to be sent.
    pub fn last(&self) -> Option<&Polled> {
        self.polled.last()
    }

    /// The next one is sent.
    pub fn pop(&mut self) {
        self.polled.pop();
    }
}

impl Drop for Unsent<'_> {
    fn drop(&mut self) {
        let mut pending = self.of.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The newest are last, so that more can be added to them.
        let newer = std::mem::replace(&mut *pending, std::mem::take(&mut self.polled));
        pending.extend(newer);
    }
}

#[cfg(test)]
mod tests {
    use anteroom_core::queue::{Epoch, SeenSlot};

    use super::*;

    const REACH: u64 = 100;

    fn seen(number: u64) -> Seen {
        let (epoch, opened_at, base) = (Epoch([7; 8]), number + 1, 1_000);
        let slot = SeenSlot { epoch, opened_at, number, is_check_in: false, base, reach: REACH };
        Seen::new(slot, base, base + 2 * REACH, Vec::new())
    }

    /// How many are pending, slot by slot.
    fn lengths(pending: Pending) -> Vec<usize> {
        let pending = pending.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        pending.iter().map(Polled::len).collect()
    }

    #[test]
    fn visitors_of_one_slot_are_together_and_those_out_of_reach_are_not_among_them() {
        let (pending, slots) = (Pending::default(), [seen(1), seen(2)]);
        for ticket in 1_000..1_010 {
            assert!(pending.add(&slots[0], ticket));
            assert!(!pending.add(&slots[0], ticket + REACH));
        }
        assert!(pending.add(&slots[1], 1_000));
        assert_eq!(lengths(pending), [10, 1]);
    }

    #[test]
    fn there_is_a_bound() {
        let (pending, seen) = (Pending::default(), seen(1));
        assert!((0..MOST).all(|_| pending.add(&seen, 1_000)));
        assert!(!pending.add(&seen, 1_000));
    }

    #[test]
    fn what_is_not_sent_is_put_back() {
        let (pending, slots) = (Pending::default(), [seen(1), seen(2)]);
        for (seen, tickets) in slots.iter().zip([1_000..1_003, 1_000..1_005]) {
            assert!(tickets.into_iter().all(|ticket| pending.add(seen, ticket)));
        }
        let mut unsent = pending.take();
        assert_eq!(unsent.last().map(Polled::len), Some(5));
        unsent.pop();
        assert!(pending.add(&slots[1], 1_000), "meanwhile");
        drop(unsent);
        assert!(pending.add(&slots[1], 1_001));
        assert_eq!(lengths(pending), [3, 2]);
    }
}
