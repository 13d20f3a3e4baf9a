//! How often a limit was checked in the last few seconds, from readings of its counters.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The longest time that a rate covers. Older readings are dropped.
const WITHIN: Duration = Duration::from_millis(5_500);
/// The shortest time that a rate covers.
const AT_LEAST: Duration = Duration::from_millis(500);

/// Readings of 2 counters.
#[derive(Debug, Default)]
pub struct Recent(Mutex<VecDeque<(Instant, [u64; 2])>>);

impl Recent {
    /// Takes a reading, and returns how much each counter grew per second in the last 5 seconds,
    /// or since the first reading in that time. `None` without an earlier reading.
    pub fn rates(&self, now: Instant, counts: [u64; 2]) -> Option<[f64; 2]> {
        let mut readings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while readings.front().is_some_and(|(at, _)| now.saturating_duration_since(*at) > WITHIN) {
            readings.pop_front();
        }
        let first = readings.front().copied();
        let newest = readings.back().map(|(at, _)| *at);
        if newest.is_none_or(|at| now.saturating_duration_since(at) >= AT_LEAST) {
            readings.push_back((now, counts));
        }
        let (at, before) = first?;
        let seconds = now.saturating_duration_since(at);
        if seconds < AT_LEAST {
            return None;
        }
        let rate = |i: usize| {
            let grown = counts[i].saturating_sub(before[i]) as f64;
            (grown / seconds.as_secs_f64() * 10.0).round() / 10.0
        };
        Some([rate(0), rate(1)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_that_of_the_last_five_seconds() {
        let (recent, start) = (Recent::default(), Instant::now());
        let at = |seconds: u64, counts| recent.rates(start + Duration::from_secs(seconds), counts);
        assert_eq!(at(0, [10, 0]), None);
        assert_eq!(at(0, [10, 0]), None, "no time has passed");
        assert_eq!(at(1, [20, 1]), Some([10.0, 1.0]));
        assert_eq!(at(2, [20, 1]), Some([5.0, 0.5]));
        for second in 3..7 {
            at(second, [20, 1]);
        }
        assert_eq!(at(7, [20, 1]), Some([0.0, 0.0]));
        assert_eq!(at(60, [90, 90]), None, "no reading is left");
    }
}
