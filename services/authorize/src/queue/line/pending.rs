//! Visitors who have polled in a slot, and who are to be reported within a second, all in one call.

use std::sync::{Mutex, PoisonError};

use anteroom_core::queue::{Polled, Seen, Ticket};

/// More visitors are reported one by one, so that the memory is bounded.
const MOST: usize = 1 << 16;

#[derive(Default)]
pub struct Pending(Mutex<Vec<Polled>>);

impl Pending {
    /// One more in this slot. `false`: there are too many.
    pub fn add(&self, seen: &Seen, ticket: Ticket) -> bool {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if pending.iter().map(Polled::len).sum::<usize>() >= MOST {
            return false;
        }
        if let Some(last) = pending.last_mut()
            && last.add(seen, ticket)
        {
            return true;
        }
        let mut polled = seen.polled();
        let is_in_reach = polled.add(seen, ticket);
        pending.push(polled);
        is_in_reach
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
    pub fn peek(&self) -> Option<&Polled> {
        self.polled.last()
    }

    /// The next one is sent.
    pub fn is_sent(&mut self) {
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
