//! Who in line is present: last-seen slots, heard time, first polls, check-in periods.

use std::collections::BTreeSet;

use super::{Id, Queue, SECOND, STEP, Slot, Stand};

/// A check-in period pauses when no visitor has polled for this long.
const STILL: u64 = 20 * SECOND;

/// The last check-in period.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CheckIn {
    /// What was left of it when a visitor last polled.
    left: u64,
    /// The slot that it opened: those before do not count any more.
    slot: u64,
    /// The last ticket that must check in.
    top: Option<u64>,
}

impl Queue {
    /// For how long no visitor has polled, by queue time or by the store's clock.
    fn silence(&self) -> u64 {
        let by_queue_time = self.now - self.heard_at.unwrap_or(0);
        by_queue_time.max(self.wall.saturating_sub(self.heard_wall))
    }

    /// Whether no visitor has polled for so long that promotion waits.
    pub(super) fn is_silent(&self) -> bool {
        self.silence() > self.rules.first_poll_ttl
    }

    /// What is left of the check-in period.
    pub(super) fn check_in_left(&self) -> u64 {
        let since = self.now - self.heard_at.unwrap_or(self.now);
        self.check_in.left.saturating_sub(since.min(STILL))
    }

    pub(super) fn hear(&mut self) {
        let fresh = self.slots_opened > 0 && 4 * (self.now - self.slot_at) < self.rules.idle_ttl;
        if fresh && self.silence() < SECOND {
            return;
        }
        let begins = self.is_silent() && self.depth() > 0;
        self.check_in.left = self.check_in_left();
        self.heard += (self.now - self.heard_at.unwrap_or(0)).min(STEP);
        self.heard_at = Some(self.now);
        self.heard_wall = self.wall;
        self.last = self.now;
        if !fresh || begins {
            let in_line = |(_, (_, stand)): &(&u64, &(Id, Stand))| *stand == Stand::Waiting;
            let head = self.line.iter().find(in_line).map(|(ticket, _)| *ticket);
            self.slots.push_back(Slot {
                number: self.slots_opened,
                base: head.unwrap_or(self.last_ticket + 1),
                top: self.last_ticket,
                seen: BTreeSet::new(),
            });
            self.slots_opened += 1;
            self.slot_at = self.now;
            if self.slots.len() > 5 {
                self.slots.pop_front();
            }
        }
        if begins {
            let left = match self.check_in.left {
                0 => self.rules.first_poll_ttl,
                // Silent again before the end of one.
                left => left.max(STILL),
            };
            let slot = self.slots_opened - 1;
            self.check_in = CheckIn { left, slot, top: Some(self.last_ticket) };
        }
    }

    pub(super) fn see(&mut self, ticket: u64) {
        if let Some(slot) = self.slots.back_mut() {
            slot.seen.insert(ticket);
        }
    }

    /// The present slot: its number, and the head of the line when it was opened.
    pub fn present_slot(&self) -> Option<(u64, u64)> {
        self.slots.back().map(|slot| (slot.number, slot.base))
    }

    /// A process knows that visitors were seen in this slot. Whether it is one of the five.
    pub fn mark_seen(&mut self, slot: (u64, u64), tickets: &[u64]) -> bool {
        let found = self.slots.iter_mut().find(|it| (it.number, it.base) == slot);
        let Some(found) = found else { return false };
        found.seen.extend(tickets);
        true
    }

    pub(super) fn age(&mut self) {
        // Samples give the join time of the tickets up to the next one, to a second, and heard
        // time may lag by one more; 64 samples a call.
        let samples: Vec<_> =
            self.samples.range(self.first_polls_over + 1..).copied().take(64).collect();
        for (at, ticket) in samples.iter().enumerate() {
            if self.joined[ticket].1 + 2 * SECOND + self.rules.first_poll_ttl > self.heard {
                return;
            }
            if let Some(next) = samples.get(at + 1) {
                self.first_polls_over = next - 1;
            } else if samples.len() < 64 {
                self.first_polls_over = self.last_ticket;
            }
        }
    }

    /// Nothing when present; else whether it was never seen.
    pub(super) fn absence(&self, ticket: u64) -> Option<bool> {
        let CheckIn { slot: since, top, .. } = self.check_in;
        let must_check_in = top.is_some_and(|top| ticket <= top);
        if self.slots.is_empty() || (ticket > self.first_polls_over && !must_check_in) {
            return None;
        }
        let mut slots = self.slots.iter().filter(|slot| slot.number >= since);
        if slots.any(|slot| slot.seen.contains(&ticket)) {
            return None;
        }
        let is_forgotten = self.slots_opened >= 5 && ticket <= self.slots[0].top;
        Some(!is_forgotten && !must_check_in)
    }
}
