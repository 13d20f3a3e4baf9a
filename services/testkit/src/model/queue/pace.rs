//! How many places a tick promotes: the rate rule with its slices, batches and returned shares.

use super::{BreakerState, Promoted, Queue, SECOND, Stand};

/// Past so many entries the scripts merge old ones, which the model does not.
const MOST_ENTRIES: usize = 256;

/// Promotions that the scripts count as one, of the last of these times.
#[derive(Clone, Copy, Debug)]
struct Entry {
    first: u64,
    last: u64,
    count: u64,
}

/// What the queue keeps between two ticks.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    /// When the slice or batch began; `None`: none has.
    began_at: Option<u64>,
    /// What the last slice left of a whole place, in parts of `interval`.
    carry: u64,
    /// What the slice or batch still promotes, and until when.
    left: u64,
    left_until: u64,
    /// Returned shares, and when the last one was returned.
    returned: u64,
    returned_at: u64,
    log: Vec<Entry>,
    /// Whether the log ever had more than the scripts keep.
    is_merged: bool,
    /// What the rules still admitted behind the last call of a tick.
    rest: u64,
}

impl Pace {
    fn since(&self, time: u64) -> u64 {
        self.log.iter().filter(|entry| entry.last > time).map(|entry| entry.count).sum()
    }

    fn log(&mut self, now: u64, interval: u64, count: u64) {
        match self.log.last_mut() {
            Some(entry) if 200 * (now - entry.first) < interval => {
                (entry.last, entry.count) = (now, entry.count + count);
            }
            _ => self.log.push(Entry { first: now, last: now, count }),
        }
        self.is_merged |= self.log.len() > MOST_ENTRIES;
    }

    /// A promotion of that time returns its share of the rate.
    pub(super) fn give_back(&mut self, now: u64, interval: u64, promoted_at: u64) {
        let entry = self.log.iter_mut().rev().find(|entry| entry.first <= promoted_at);
        let Some(entry) = entry.filter(|it| it.last >= promoted_at && it.count > 0) else { return };
        entry.count -= 1;
        if entry.last > now.saturating_sub(interval) {
            (self.returned, self.returned_at) = (self.returned + 1, now);
        }
    }
}

impl Queue {
    fn slice_length(&self) -> u64 {
        (self.rules.interval / 100).max(100_000)
    }

    /// Promotions in the interval up to now, as the scripts count them.
    fn logged(&self) -> u64 {
        self.pace.since(self.now.saturating_sub(self.rules.interval))
    }

    fn begin_slice(&mut self, batch: u64) {
        let (now, interval, even) = (self.now, self.rules.interval, self.rules.even);
        let length = if even { self.slice_length() } else { interval };
        let since = self.pace.began_at.map_or(length, |began| now - began);
        if since < length || (!even && self.logged() >= batch) {
            return;
        }
        let pace = &mut self.pace;
        if even {
            let parts = batch * since.min(2 * length) + pace.carry.min(interval - 1);
            let share = pace.returned.min((batch * length).div_ceil(interval));
            (pace.left, pace.carry) = (parts / interval + share, parts % interval);
            pace.returned -= share;
            (pace.began_at, pace.left_until) = (Some(now), now + 2 * length);
        } else {
            // A tick that is a little late keeps the rhythm.
            let is_late = since - length >= SECOND;
            let due = pace.began_at.filter(|_| !is_late).map(|began| began + length);
            (pace.began_at, pace.left) = (Some(due.unwrap_or(now)), batch);
            pace.left_until = now + SECOND;
        }
    }

    /// How many places a tick may promote now.
    pub(super) fn due(&mut self) -> u64 {
        let (now, (_, batch)) = (self.now, self.pace());
        if batch == 0 {
            return self.room();
        }
        if now - self.pace.returned_at >= self.rules.interval {
            self.pace.returned = 0;
        }
        self.begin_slice(batch);
        if now > self.pace.left_until {
            self.pace.left = 0;
        }
        let by_slice = if self.rules.even {
            let (length, interval) = (self.slice_length(), self.rules.interval);
            let share = |slices: u64| (slices * batch * length).div_ceil(interval);
            self.pace.left.min(share(2) + share(1))
        } else if self.health() == Some(BreakerState::HalfOpen) {
            batch
        } else {
            self.pace.left + self.pace.returned
        };
        by_slice.min(batch.saturating_sub(self.logged())).min(self.room())
    }

    /// Whether a join that finds no visitor in line is promoted at once; `None`: a share that was
    /// returned at this instant may have come too late for it.
    pub(super) fn passes(&self) -> Option<bool> {
        let (now, (_, batch)) = (self.now, self.pace());
        let mut free = self.room();
        if batch > 0 {
            free = free.min(batch.saturating_sub(self.logged()));
        }
        if batch > 0 && self.rules.even {
            let length = self.slice_length();
            let share = (batch * length).div_ceil(self.rules.interval);
            free = free.min(share.saturating_sub(self.pace.since(now.saturating_sub(length))));
        }
        let is_unclear = self.pace.returned_at == now || self.pace.is_merged;
        (free == 0 || !is_unclear).then_some(free > 0)
    }

    /// A tick promotes so many of those that are due.
    pub(super) fn spend(&mut self, due: u64, promoted: u64) {
        self.pace.rest = due - promoted;
        if self.pace().1 > 0 {
            let beyond = promoted.saturating_sub(self.pace.left);
            self.pace.left -= promoted - beyond;
            self.pace.returned = self.pace.returned.saturating_sub(beyond);
        }
    }

    /// A place is promoted now.
    pub(super) fn note_promotion(&mut self, ticket: u64) {
        self.promotions.push(Promoted { at: self.now, ticket, given_back: false });
        self.pace.log(self.now, self.rules.interval, 1);
    }

    /// Whether the tick that is over left a place in line that it should have promoted.
    pub fn held_back(&self) -> bool {
        let head = self.line.iter().find(|(_, (_, stand))| !matches!(stand, Stand::Away(_)));
        // In a check-in period the line waits for a head that has not polled.
        let waits = |ticket| self.check_in_left() > 0 && self.absence(ticket).is_some();
        let is_due = self.pace.rest > 0 && !self.pace.is_merged;
        is_due && head.is_some_and(|(ticket, _)| !waits(*ticket))
    }
}
