//! Who in line is present: last-seen slots, heard time, first polls.

use std::collections::BTreeSet;

use super::{Queue, SECOND, STEP, Slot};

impl Queue {
    pub(super) fn hear(&mut self) {
        let gap = self.now - self.heard_at.unwrap_or(0);
        let fresh = self.slots_opened > 0 && 4 * (self.now - self.slot_at) < self.rules.idle_ttl;
        if fresh && gap < SECOND {
            return;
        }
        self.heard += gap.min(STEP);
        self.heard_at = Some(self.now);
        self.last = self.now;
        if !fresh {
            self.slots_opened += 1;
            self.slot_at = self.now;
            self.slots.push_back(Slot { top: self.last_ticket, seen: BTreeSet::new() });
            if self.slots.len() > 5 {
                self.slots.pop_front();
            }
        }
    }

    pub(super) fn see(&mut self, ticket: u64) {
        if let Some(slot) = self.slots.back_mut() {
            slot.seen.insert(ticket);
        }
    }

    pub(super) fn age(&mut self) {
        // Marked tickets tell the join time of those up to the next mark, to a second, and heard time may
        // lag by one more; 64 marks a call.
        let marks: Vec<_> = self.marks.range(self.young + 1..).copied().take(64).collect();
        for (at, ticket) in marks.iter().enumerate() {
            if self.joined[ticket].1 + 2 * SECOND + self.rules.first_poll_ttl > self.heard {
                return;
            }
            if let Some(next) = marks.get(at + 1) {
                self.young = next - 1;
            } else if marks.len() < 64 {
                self.young = self.last_ticket;
            }
        }
    }

    /// Nothing when present; else whether it was never seen.
    pub(super) fn absence(&self, ticket: u64) -> Option<bool> {
        if self.slots.is_empty() || ticket > self.young {
            return None;
        }
        if self.slots.iter().any(|slot| slot.seen.contains(&ticket)) {
            return None;
        }
        Some(self.slots_opened < 5 || ticket > self.slots[0].top)
    }
}
