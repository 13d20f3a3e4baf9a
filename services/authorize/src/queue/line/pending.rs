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

    /// Takes all.
    pub fn take(&self) -> Vec<Polled> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
