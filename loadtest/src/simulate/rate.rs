//! The rate rule as the scheduler keeps it: slices of an even pace, or whole batches, and the log
//! of the last interval (`lua/queue/lib/slices.lua`, `lua/queue/lib/pace.lua`). Times are
//! microseconds.

use std::collections::VecDeque;

use crate::plan::Pace;

/// Promotions made between two times, less those that were given back.
struct Entry {
    first: u64,
    last: u64,
    count: u64,
}

/// At most `batch` promotions in any interval.
#[derive(Default)]
pub struct Rate {
    batch: u64,
    interval: u64,
    pace: Pace,
    /// Of the last interval, oldest first.
    log: VecDeque<Entry>,
    logged: u64,
    slice_at: Option<u64>,
    /// What the last slice left over, in promotions × microseconds.
    carry: u64,
    left: u64,
    left_until: u64,
    credit: u64,
    credit_at: u64,
}

impl Rate {
    /// A rule that is not used yet.
    pub fn new(batch: u64, interval: u64, pace: Pace) -> Self {
        Self { batch, interval, pace, ..Self::default() }
    }

    fn slice(&self) -> u64 {
        (self.interval / 100).max(100_000)
    }

    fn forget(&mut self, now: u64) {
        while let Some(entry) = self.log.front()
            && entry.last + self.interval <= now
        {
            self.logged -= entry.count;
            self.log.pop_front();
        }
    }

    /// Logs promotions: entries closer than a two-hundredth of the interval become one.
    fn record(&mut self, count: u64, now: u64) {
        self.logged += count;
        match self.log.back_mut() {
            Some(entry) if now - entry.first < self.interval / 200 => {
                (entry.last, entry.count) = (now, entry.count + count);
            }
            _ => self.log.push_back(Entry { first: now, last: now, count }),
        }
    }

    fn start_slice(&mut self, now: u64) {
        let length = if self.pace == Pace::Even { self.slice() } else { self.interval };
        let since = self.slice_at.map_or(length, |before| now - before);
        if since < length || (self.pace == Pace::Batch && self.logged >= self.batch) {
            return;
        }
        if self.pace == Pace::Even {
            let units = self.batch * since.min(2 * length) + self.carry;
            let share = self.credit.min((self.batch * length).div_ceil(self.interval));
            (self.slice_at, self.carry) = (Some(now), units % self.interval);
            (self.left, self.credit) = (units / self.interval + share, self.credit - share);
            self.left_until = now + 2 * length;
        } else {
            let in_time = self.slice_at.filter(|_| since - length < 1_000_000);
            self.slice_at = Some(in_time.map_or(now, |before| before + length));
            (self.left, self.left_until) = (self.batch, now + 1_000_000);
        }
    }

    /// How many a tick may promote now.
    pub fn free(&mut self, now: u64) -> u64 {
        self.forget(now);
        if now >= self.credit_at + self.interval {
            self.credit = 0;
        }
        self.start_slice(now);
        if now > self.left_until {
            self.left = 0;
        }
        let given_back = if self.pace == Pace::Batch { self.credit } else { 0 };
        (self.left + given_back).min(self.batch.saturating_sub(self.logged))
    }

    /// A tick has promoted so many.
    pub fn spend(&mut self, count: u64, now: u64) {
        if count > 0 {
            self.record(count, now);
        }
        let past = count.saturating_sub(self.left);
        (self.left, self.credit) =
            (self.left.saturating_sub(count), self.credit.saturating_sub(past));
    }

    /// Whether a join that finds an empty line may pass, and it does.
    pub fn pass(&mut self, now: u64) -> bool {
        self.forget(now);
        let mut free = self.batch.saturating_sub(self.logged);
        if self.pace == Pace::Even {
            let slice = self.slice();
            let newest = self.log.iter().rev().take_while(|entry| entry.last + slice > now);
            let passed: u64 = newest.map(|entry| entry.count).sum();
            let share = (self.batch * slice).div_ceil(self.interval);
            free = free.min(share.saturating_sub(passed));
        }
        if free > 0 {
            self.record(1, now);
        }
        free > 0
    }

    /// A turn that was not taken gives its share back to the interval it was promoted in.
    pub fn give_back(&mut self, promoted_at: u64, now: u64) {
        let after = self.log.partition_point(|entry| entry.first <= promoted_at);
        let Some(entry) = after.checked_sub(1).and_then(|at| self.log.get_mut(at)) else { return };
        if entry.last >= promoted_at && entry.count > 0 && entry.last + self.interval > now {
            entry.count -= 1;
            self.logged -= 1;
            (self.credit, self.credit_at) = (self.credit + 1, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;
    const TICK: u64 = 110_000;

    /// When so many ticks promote, and how many, if they find more waiting than they may take.
    fn promoted(rate: &mut Rate, ticks: u64) -> Vec<(u64, u64)> {
        let tick = |now| {
            let free = rate.free(now);
            rate.spend(free, now);
            (now, free)
        };
        (0..ticks).map(|tick| tick * TICK).map(tick).filter(|(_, count)| *count > 0).collect()
    }

    /// What the last interval has no room for is lost, so a little less than the batch comes.
    #[test]
    fn an_even_pace_is_a_stream() {
        let mut rate = Rate::new(33, 10 * SECOND, Pace::Even);
        let made = promoted(&mut rate, 1_000);
        assert!(made.iter().all(|(_, count)| *count == 1), "{made:?}");
        let most = 33 * 11;
        assert!(made.len() <= most && made.len() * 100 >= most * 97, "{} in 110 s", made.len());
    }

    #[test]
    fn a_batch_comes_at_once_and_keeps_its_rhythm() {
        let mut rate = Rate::new(500, 10 * SECOND, Pace::Batch);
        let in_half_seconds = |(at, count)| (at / (SECOND / 2), count);
        let made: Vec<_> = promoted(&mut rate, 300).into_iter().map(in_half_seconds).collect();
        assert_eq!(made, [(0, 500), (20, 500), (40, 500), (60, 500)]);
    }

    #[test]
    fn no_interval_holds_more_than_the_batch_but_what_was_given_back() {
        for pace in [Pace::Even, Pace::Batch] {
            let mut rate = Rate::new(100, 10 * SECOND, pace);
            let made = promoted(&mut rate, 400);
            for (end, _) in &made {
                let since = |at: u64| at <= *end && at + 10 * SECOND > *end;
                let sum: u64 = made.iter().filter(|(at, _)| since(*at)).map(|it| it.1).sum();
                assert!(sum <= 100, "{pace:?}: {sum} up to {end}");
            }
            let now = 400 * TICK;
            let before = rate.free(now);
            let (last, _) = made.last().expect("a promotion");
            rate.give_back(*last, now);
            let after = rate.free(now + TICK);
            assert!(after > before || pace == Pace::Even, "{pace:?}: {before}, {after}");
        }
    }

    #[test]
    fn who_finds_no_line_passes_up_to_a_slices_worth() {
        let mut rate = Rate::new(300, 10 * SECOND, Pace::Even);
        let passed = (0..10).filter(|_| rate.pass(SECOND)).count();
        assert_eq!(passed, 3, "300 in 10 s are 3 in 100 ms");
        assert!(rate.pass(SECOND + 100_000));
        let mut rate = Rate::new(300, 10 * SECOND, Pace::Batch);
        assert_eq!((0..400).filter(|_| rate.pass(SECOND)).count(), 300);
    }
}
