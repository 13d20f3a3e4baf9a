//! The last 15 minutes of a queue in steps of 5 seconds, from the snapshots that this process reads
//! anyway. It is in memory only, and empty after a start.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anteroom_core::queue::{Epoch, Snapshot, Totals};

use crate::durations::since_1970;

/// The length of a step.
pub const STEP: Duration = Duration::from_secs(5);
/// The number of steps that are kept.
const STEPS: u64 = 180;
/// Steps of a minute.
const STEPS_OF_A_MINUTE: u64 = 12;
/// Steps of a point of the sparkline.
const STEPS_OF_A_SPARK: u64 = 3;
/// The number of epochs with which totals began, and whose last reading is kept. More than one,
/// because Redis can lose the newest one.
const EPOCHS: usize = 8;

/// A step in which a snapshot was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    number: u64,
    /// The clock of this process at the first reading in it, in seconds since 1970.
    pub at: u64,
    /// Waiting visitors at the last reading.
    pub depth: u64,
    /// Visitors who were called, at the last reading.
    pub ready: u64,
    /// Visitors who have entered, at the last reading.
    pub active: u64,
    /// What happened between the last reading of the step before and the last one of this step.
    pub totals: Totals,
    /// The number of steps in which it happened: more than one after a time without a reading.
    covers: u64,
}

/// The steps of one queue.
#[derive(Debug)]
pub struct History {
    started_at: Instant,
    steps: Mutex<Steps>,
}

#[derive(Debug, Default)]
struct Steps {
    steps: VecDeque<Step>,
    last: Option<(Instant, u64)>,
    /// The last reading of totals, by the epoch with which they began, the newest at the end.
    epochs: VecDeque<(Option<Epoch>, Totals)>,
}

impl Default for History {
    fn default() -> Self {
        Self { started_at: Instant::now(), steps: Mutex::default() }
    }
}

impl History {
    /// Adds a snapshot that was requested at this time. Ignores it if a later one was added before.
    pub fn note(&self, requested_at: Instant, snapshot: &Snapshot) {
        let at = since_1970().as_secs();
        let number = self.number(requested_at);
        let reading = Step {
            number,
            at,
            depth: snapshot.depth,
            ready: snapshot.ready,
            active: snapshot.active,
            totals: snapshot.totals,
            covers: 1,
        };
        self.lock().note(requested_at, snapshot.totals_of, reading);
    }

    /// The steps of the last 15 minutes in which something was read, oldest first.
    pub fn steps(&self) -> Vec<Step> {
        let now = self.number(Instant::now());
        let steps = self.lock();
        steps.steps.iter().filter(|step| step.number + STEPS > now).cloned().collect()
    }

    /// Places promoted in the last minute, as far as this process has read; `None` if it has read
    /// nothing in that minute. Promotions in a time without a reading count evenly over that time.
    pub fn promoted_in_a_minute(&self) -> Option<u64> {
        let now = self.number(Instant::now());
        let steps = self.lock();
        let in_it = steps.steps.iter().filter(|step| step.number + STEPS_OF_A_MINUTE > now);
        let of_it = in_it.map(|step| {
            let covered = step.number + STEPS_OF_A_MINUTE - now;
            step.totals.promoted() * covered.min(step.covers) / step.covers
        });
        of_it.reduce(|sum, more| sum + more)
    }

    /// The depth at the end of each 15 seconds of the last 15 minutes, oldest first. The 15 seconds
    /// in progress are left out, and those in which nothing was read.
    pub fn sparkline(&self) -> Vec<u64> {
        let now = self.number(Instant::now());
        let present = now / STEPS_OF_A_SPARK;
        let mut sparks: Vec<(u64, u64)> = Vec::new();
        for step in &self.lock().steps {
            let number = step.number / STEPS_OF_A_SPARK;
            if number >= present || number + STEPS / STEPS_OF_A_SPARK < present {
                continue;
            }
            match sparks.last_mut() {
                Some((last, depth)) if *last == number => *depth = step.depth,
                _ => sparks.push((number, step.depth)),
            }
        }
        sparks.into_iter().map(|(_, depth)| depth).collect()
    }

    fn number(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.started_at).as_secs() / STEP.as_secs()
    }

    fn lock(&self) -> MutexGuard<'_, Steps> {
        // Each step is written whole.
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Steps {
    /// `reading` has the totals, which began at 0 with an epoch.
    fn note(&mut self, requested_at: Instant, began: Option<Epoch>, reading: Step) {
        if self.last.is_some_and(|(at, _)| at > requested_at) {
            return;
        }
        let totals = reading.totals.since(&self.before(began, &reading.totals));
        self.epochs.retain(|(of, _)| *of != began);
        self.epochs.push_back((began, reading.totals));
        if self.epochs.len() > EPOCHS {
            self.epochs.pop_front();
        }
        let last = self.last.replace((requested_at, reading.number));
        let covers = last.map_or(1, |(_, number)| (reading.number - number).max(1));
        match self.steps.back_mut() {
            Some(step) if step.number == reading.number => {
                let totals = step.totals.plus(&totals);
                *step = Step { at: step.at, totals, covers: step.covers, ..reading };
            }
            _ => self.steps.push_back(Step { totals, covers, ..reading }),
        }
        let newest = self.steps.back().map_or(0, |step| step.number);
        while self.steps.front().is_some_and(|step| step.number + STEPS <= newest) {
            self.steps.pop_front();
        }
    }
}

impl Steps {
    /// The totals to subtract from a reading of those that began with this epoch.
    fn before(&self, began: Option<Epoch>, now: &Totals) -> Totals {
        if self.epochs.is_empty() {
            // Nothing before the first reading counts.
            return *now;
        }
        let known = self.epochs.iter().find(|(of, _)| *of == began);
        known.map(|(_, before)| *before).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use anteroom_core::queue::Waits;
    use proptest::collection::vec;
    use proptest::prelude::{any, proptest};

    use super::*;

    const EPOCH: Option<Epoch> = Some(Epoch([1; 8]));

    fn totals(at_once: u64, waited: u64) -> Totals {
        let waits = Waits::of(&[(waited, Duration::from_secs(9))], 0);
        Totals { at_once, missed: at_once / 2, waits }
    }

    fn reading(number: u64, depth: u64, totals: Totals) -> Step {
        Step { number, at: 100 + 5 * number, depth, ready: 0, active: 0, totals, covers: 1 }
    }

    fn promoted(steps: &Steps) -> Vec<(u64, u64)> {
        steps.steps.iter().map(|step| (step.number, step.totals.promoted())).collect()
    }

    #[test]
    fn a_step_has_what_happened_since_the_step_before() {
        let (mut steps, start) = (Steps::default(), Instant::now());
        let second = |at| start + Duration::from_secs(at);
        steps.note(second(0), EPOCH, reading(0, 1, totals(90, 7)));
        steps.note(second(1), EPOCH, reading(0, 2, totals(91, 7)));
        steps.note(second(5), EPOCH, reading(1, 3, totals(91, 9)));
        steps.note(second(4), EPOCH, reading(0, 9, totals(91, 8)));
        steps.note(second(16), EPOCH, reading(3, 4, totals(94, 9)));
        assert_eq!(promoted(&steps), [(0, 1), (1, 2), (3, 3)], "of the first reading nothing");
        assert_eq!(steps.steps.iter().map(|step| step.depth).collect::<Vec<_>>(), [2, 3, 4]);
        // Redis lost all, and other totals began with nothing. Then it can lose what came last.
        let other = Some(Epoch([2; 8]));
        steps.note(second(20), other, reading(4, 0, totals(99, 9)));
        steps.note(second(25), other, reading(5, 0, totals(98, 9)));
        steps.note(second(30), other, reading(6, 0, totals(101, 10)));
        assert_eq!(promoted(&steps)[3..], [(4, 108), (5, 0), (6, 4)]);
        // An older Redis is back.
        steps.note(second(35), EPOCH, reading(7, 0, totals(95, 9)));
        steps.note(second(40), None, reading(8, 0, totals(2, 0)));
        assert_eq!(promoted(&steps)[6..], [(7, 1), (8, 2)]);
        steps.note(second(900), None, reading(180, 0, totals(2, 0)));
        assert_eq!(steps.steps.front().map(|step| step.number), Some(1), "180 steps are kept");
    }

    #[test]
    fn what_happened_without_a_reading_is_spread_over_that_time() {
        let long_ago = Instant::now().checked_sub(Duration::from_secs(600)).expect("long enough");
        let history = History { started_at: long_ago, ..History::default() };
        let now = history.number(Instant::now());
        let note = |number: u64, at_once| {
            let at = long_ago + Duration::from_secs(5 * number);
            history.lock().note(at, EPOCH, reading(number, 0, totals(at_once, 0)));
        };
        note(now - 60, 0);
        note(now - 30, 300);
        assert_eq!(history.promoted_in_a_minute(), None);
        note(now, 600);
        // Of 30 steps the last 12; the machine may have come to the next step meanwhile.
        let shown = history.promoted_in_a_minute().expect("a reading");
        assert!((100..=120).contains(&shown), "{shown}");
    }

    #[test]
    fn an_empty_history_shows_nothing() {
        let history = History::default();
        assert_eq!((history.steps(), history.sparkline()), (vec![], vec![]));
        assert_eq!(history.promoted_in_a_minute(), None);
    }

    #[test]
    fn a_point_of_the_sparkline_is_the_end_of_15_seconds() {
        let long_ago = Instant::now().checked_sub(Duration::from_secs(1_000));
        let history =
            History { started_at: long_ago.expect("it runs long enough"), ..History::default() };
        let now = history.number(Instant::now());
        let numbers = [now - 185, now - 9, now - 8, now - 7, now - 6, now - 5, now];
        for (depth, number) in (0..).zip(numbers) {
            history.lock().steps.push_back(reading(number, depth, totals(1, 0)));
        }
        let ends = |number: u64| number / 3;
        let over = numbers
            .iter()
            .zip(0..)
            .filter(|(number, _)| ends(**number) < ends(now) && ends(**number) + 60 >= ends(now));
        let mut expected: Vec<(u64, u64)> = Vec::new();
        for (number, depth) in over {
            expected.retain(|(other, _)| *other != ends(*number));
            expected.push((ends(*number), depth));
        }
        let expected: Vec<_> = expected.into_iter().map(|(_, depth)| depth).collect();
        assert_eq!(history.sparkline(), expected);
        assert_eq!(history.promoted_in_a_minute(), Some(6));
        assert_eq!(history.steps().len(), 6);
    }

    proptest! {
        /// For any readings: the sum of the steps is what was counted since the first reading, if
        /// Redis loses nothing.
        #[test]
        fn nothing_is_counted_twice_or_left_out(readings in vec(any::<[u8; 3]>(), 1..40)) {
            let (mut steps, start) = (Steps::default(), Instant::now());
            let (mut number, mut sum, mut first) = (0, Totals::default(), None);
            for (at, [later, at_once, waited]) in (0..).zip(readings) {
                number += u64::from(later % 4);
                sum = sum.plus(&totals(at_once.into(), waited.into()));
                first.get_or_insert(sum.promoted());
                steps.note(start + Duration::from_secs(at), EPOCH, reading(number, 0, sum));
            }
            let all: u64 = steps.steps.iter().map(|step| step.totals.promoted()).sum();
            assert_eq!(all, sum.promoted() - first.expect("a reading"));
        }
    }
}
