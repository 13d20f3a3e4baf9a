//! The expected wait of a place in line, by what the last tick of promotion left for the estimates.
//!
//! A script answers with the turn of a place: how many promotions there are up to its own. Less
//! the share of those in front that drop out, the time until so many turns were given is the
//! median. The 90th percentile is the time of a later turn, by what is known of the spread of
//! turns. This is not worked out in the scripts, because all visitors share the one core that Redis
//! uses.

use std::time::Duration;

use super::place::Wait;
use super::rules::Pace;
use crate::store::{Constants, Error, Numbers, Reply};

/// Declares numbers that the scripts pack in this order.
macro_rules! packed {
    ($(#[doc = $doc:literal])+ $name:ident { $($field:ident,)+ }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, Default)]
        struct $name {
            $($field: f64,)+
        }

        impl $name {
            /// How many.
            const LEN: usize = size_of::<Self>() / size_of::<f64>();
            /// Their names, in order.
            #[allow(dead_code, reason = "where the scripts use them")]
            const NAMES: &[&str] = &[$(stringify!($field)),+];

            fn read(numbers: &mut Numbers) -> Result<Self, Error> {
                if numbers.len() != Self::LEN {
                    return Err(numbers.error(format!("not {} numbers", Self::LEN)));
                }
                Ok(Self { $($field: numbers.double()?),+ })
            }
        }
    };
}

packed! {
    /// The queue at the time of a call: `lua/queue/lib/waits.lua`.
    Call {
        now, tick, check_in_left, quarters, batch, capacity, interval, pace, heard,
    }
}

packed! {
    /// What the last tick left, as `lua/queue/lib/turns.lua` writes it; times in µs. In order:
    ///
    /// - when it was written; the time from one turn to the next; the variance of turns: `near`
    ///   times their number for few, `jitter` + `spread` times their number for many; that of the
    ///   rate in parts of its square; drop-outs of a place in a µs, and how unsure that is
    /// - turns that only the batch delays (below 0: that come first, because the room is fuller
    ///   than the capacity); the first end of a slot (0: unknown), the time from one end to the
    ///   next, else from one slot that is freed before its end to the next; the time that turns
    ///   wait for each other; the time between ticks
    /// - with the pace `batch`: its size, the time of the next one and how many come with that; the
    ///   time between turns that the batch allows
    /// - the rules
    Left {
        written, gap, near, jitter, spread, drift, drop, unsure, spare, opens, opens_gap, early_gap,
        burst_gap, spacing, wave, wave_at, first_wave, rule_gap, of_capacity, of_batch, of_interval,
    }
}

/// All of the pace, which comes back in so many parts after a fallback.
pub(super) const QUARTERS: f64 = 4.0;
const EVEN: f64 = Pace::Even as u8 as f64;
/// The 90th percentile, in standard deviations above the mean: a little more than the 1.28 of a
/// normal distribution, because waits have a long tail.
const SLOW: f64 = 1.33;

/// What the scripts know of all this.
pub(super) fn constants(all: Constants) -> Constants {
    all.numbered("", Left::NAMES)
        .doubles("OUTLOOK", Left::LEN)
        .doubles("CALL", Call::LEN)
        .value("QUARTERS", QUARTERS)
}

/// What the estimates of one call follow from.
pub(super) struct Outlook {
    call: Call,
    /// With times from now, and `drop` in a turn.
    left: Left,
    /// From batch to batch.
    period: f64,
    /// Known from the rules alone, which give no slow times.
    is_vague: bool,
}

impl Outlook {
    /// Reads what is behind the outcomes of a call. `None`: nothing is known, or the call
    /// answers no place in line.
    pub(super) fn read(reply: &mut Reply) -> Result<Option<Self>, Error> {
        if reply.is_empty() {
            return Ok(None);
        }
        let (call, left) = (reply.packed()?, reply.packed()?);
        Self::of(call, left)
    }

    /// The same from a reply that has more parts after it. `None` also if the first text is empty.
    pub(super) fn read_ahead(reply: &mut Reply) -> Result<Option<Self>, Error> {
        let (call, left) = (reply.packed()?, reply.packed()?);
        if call.len() == 0 { Ok(None) } else { Self::of(call, left) }
    }

    fn of(mut call: Numbers, mut left: Numbers) -> Result<Option<Self>, Error> {
        // There is nothing before the first tick, and another version may have left other numbers.
        let left = (left.len() == Left::LEN).then(|| Left::read(&mut left)).transpose()?;
        Ok(Self::new(Call::read(&mut call)?, left))
    }

    fn new(call: Call, left: Option<Left>) -> Option<Self> {
        let same = |left: &Left| {
            left.of_batch == call.batch
                && left.of_interval == call.interval
                && (left.of_capacity > 0.0) == (call.capacity > 0.0)
        };
        let left = left.filter(same);
        let is_vague = left.is_none() && call.capacity > 0.0;
        let mut left = match left {
            Some(left) if left.of_capacity == call.capacity => left,
            Some(left) => {
                let gap = left.gap * left.of_capacity / call.capacity;
                Left { gap, opens: 0.0, ..left }
            }
            // No tick has come by these rules yet: a batch says how fast the line moves at most.
            None if call.batch == 0.0 => return None,
            None if call.pace == EVEN => {
                Left { gap: call.interval / call.batch, ..Left::default() }
            }
            None => Left { wave: call.batch, ..Left::default() },
        };
        if left.written != call.tick {
            // The line was empty at the last tick.
            (left.opens, left.spare) = (0.0, 0.0);
            (left.wave_at, left.first_wave) = (call.now + call.interval, left.wave);
        }
        let period = call.interval + left.spacing / 2.0;
        left.wave_at = (left.wave_at - call.now).max(0.0);
        left.opens = (left.opens - call.now).max(0.0);
        if left.opens == 0.0 {
            left.opens_gap = 0.0;
        }
        // It is of the whole pace. How soon a target that is probed recovers is unknown.
        let back = QUARTERS / call.quarters;
        if back > 1.0 {
            left.gap *= back;
            left.rule_gap *= back;
            left.wave /= back;
            left.opens = 0.0;
        }
        left.drop *= if left.wave > 0.0 { period / left.wave } else { left.gap };
        if left.wave == 0.0 && left.opens_gap == 0.0 && left.spare == 0.0 {
            left.gap = left.gap.max(left.rule_gap);
        }
        Some(Self { call, left, period, is_vague })
    }

    /// Queue time and heard time of the call, in µs.
    pub(super) fn times(&self) -> (f64, f64) {
        (self.call.now, self.call.heard)
    }

    /// The wait of the place that is promoted as the `turn`-th from now. Neither time is shorter
    /// than what is left of a check-in period.
    pub(super) fn wait(&self, turn: u64) -> Wait {
        let (turns, variance) = self.turns(turn as f64);
        let left = &self.left;
        let mut median = self.time_of(turns - 0.3 * left.near.min(1.0));
        let mut slow = self.time_of(turns + SLOW * variance.sqrt());
        slow += left.spacing
            * if left.wave > 0.0 {
                // Each batch comes up to a tick later than its interval.
                0.5 + 0.5 * ((slow - left.wave_at) / self.period + 1.0).sqrt()
            } else {
                0.7
            };
        if left.burst_gap > 2.0 * left.gap && left.opens_gap == 0.0 {
            // Many turns come together, and the next ones at any moment until the gap between
            // bursts is over.
            let burst = left.burst_gap + left.gap;
            median = ((median / burst).ceil() - 0.5) * burst;
            slow = ((slow / burst).ceil() - 0.1) * burst;
        } else if left.burst_gap > 0.0 {
            let half = left.burst_gap / 2.0;
            median = median.max(half);
            slow = slow.max(half) + 0.4 * left.burst_gap;
        }
        median = (median + left.spacing / 2.0).max(self.call.check_in_left);
        slow = slow.max(median);
        let millis = |time: f64| Duration::from_millis(((time + 999.0) / 1_000.0) as u64);
        Wait::Expected { eta: millis(median), eta_p90: (!self.is_vague).then(|| millis(slow)) }
    }

    /// How many turns are given up to that of a place, and the variance of their number.
    fn turns(&self, turn: f64) -> (f64, f64) {
        let Left { near, jitter, spread, drift, drop, unsure, .. } = self.left;
        // Turns take some of the places in front, and of the others some drop out all the time:
        // n' = -1 - drop × n. So it is ln(1 + drop × n) ÷ drop turns.
        let gone = drop * turn;
        let (turns, variance) = if gone > 0.001 {
            let turns = gone.ln_1p() / drop;
            let lost = turn - turns;
            (turns, turn * gone / (2.0 * (1.0 + gone).powi(2)) + lost * lost * unsure)
        } else {
            (turn, 0.0)
        };
        let counted = (turns * near).min(jitter + turns * spread);
        (turns, variance + turns * turns * drift + counted)
    }

    /// The time until so many turns were given.
    fn time_of(&self, turns: f64) -> f64 {
        let left = &self.left;
        let behind = (turns - left.spare).max(0.0);
        let mut time = behind * left.gap;
        if left.opens > 0.0 && behind > 0.0 {
            time = time.max(if left.early_gap == 0.0 {
                left.opens + behind.min(self.call.capacity) * left.opens_gap
            } else {
                left.opens.min(behind * left.early_gap)
            });
        }
        if left.wave == 0.0 {
            return time.max(turns * left.rule_gap);
        }
        let mut waves = ((turns - left.first_wave) / left.wave).ceil().max(0.0);
        if time > (waves + 1.0) * self.period {
            waves = (time / self.period).ceil() - 1.0;
        }
        left.wave_at + waves * self.period
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: f64 = 1e6;

    /// A batch of 10 in 10 s, no capacity.
    fn call() -> Call {
        let (batch, interval) = (10.0, 10.0 * S);
        Call {
            now: 100.0 * S,
            tick: 99.0 * S,
            quarters: 4.0,
            batch,
            interval,
            pace: EVEN,
            ..Call::default()
        }
    }

    /// Turns that came by the batch.
    fn left() -> Left {
        let Call { tick: written, batch: of_batch, interval: of_interval, .. } = call();
        Left { written, gap: S, of_batch, of_interval, ..Left::default() }
    }

    fn seconds(call: Call, left: Option<Left>, turn: u64) -> (f64, Option<f64>) {
        match Outlook::new(call, left).expect("something is known").wait(turn) {
            Wait::Expected { eta, eta_p90 } => {
                (eta.as_secs_f64(), eta_p90.map(|slow| slow.as_secs_f64()))
            }
            Wait::Unknown { .. } => unreachable!("an outlook gives an estimate"),
        }
    }

    #[test]
    fn nothing_is_known_before_the_first_tick_but_what_a_batch_says() {
        assert!(Outlook::new(Call { batch: 0.0, capacity: 5.0, ..call() }, None).is_none());
        assert_eq!(seconds(call(), None, 30), (30.0, Some(30.0)));
        assert_eq!(seconds(Call { capacity: 5.0, ..call() }, None, 30), (30.0, None), "at least");
        // With the other pace the next batch comes after an interval at most.
        let call = Call { pace: 2.0, ..call() };
        assert_eq!(seconds(call, None, 10).0, 10.0);
        assert_eq!(seconds(call, None, 11).0, 20.0);
    }

    #[test]
    fn a_changed_capacity_changes_the_pace_in_proportion() {
        let full = Left { of_capacity: 100.0, spare: -1.0, ..left() };
        assert_eq!(seconds(Call { capacity: 100.0, ..call() }, Some(full), 9).0, 10.0);
        assert_eq!(seconds(Call { capacity: 50.0, ..call() }, Some(full), 9).0, 20.0);
        // One that was not there says nothing of how long sessions last.
        let call = Call { capacity: 50.0, ..call() };
        assert_eq!(seconds(call, Some(left()), 9), (9.0, None));
    }

    #[test]
    fn the_pace_that_is_back_after_a_failure_counts() {
        assert_eq!(seconds(call(), Some(left()), 9).0, 9.0);
        assert_eq!(seconds(Call { quarters: 1.0, ..call() }, Some(left()), 9).0, 36.0);
    }

    #[test]
    fn no_estimate_is_shorter_than_the_rest_of_a_check_in_period() {
        let call = Call { check_in_left: 40.0 * S, ..call() };
        assert_eq!(seconds(call, Some(left()), 9), (40.0, Some(40.0)));
    }

    #[test]
    fn what_is_not_known_makes_only_the_slow_time_longer() {
        let left = Left { near: 1.0, jitter: 1e9, drift: 0.01, ..left() };
        let (median, slow) = seconds(call(), Some(left), 100);
        assert_eq!(median, 99.7);
        // The variances of 100 turns: 100 of themselves and 100 of the rate.
        assert_eq!(slow, Some(100.0 + (SLOW * 200f64.sqrt() * 1e3).ceil() / 1e3));
        // Half of those in front drop out.
        let left = Left { drop: 0.05 / S, ..left };
        let (median, slow) = seconds(call(), Some(left), 100);
        assert!((35.5..35.6).contains(&median) && slow > Some(45.0), "{median} {slow:?}");
    }

    #[test]
    fn a_full_room_opens_when_the_first_session_ends() {
        let left =
            Left { of_capacity: 10.0, opens: 160.0 * S, opens_gap: 2.0 * S, rule_gap: S, ..left() };
        let call = Call { capacity: 10.0, ..call() };
        assert_eq!(seconds(call, Some(left), 1).0, 62.0);
        assert_eq!(seconds(call, Some(left), 4).0, 68.0);
        // Turns that the capacity allows wait for the batch alone.
        let left = Left { spare: 3.0, ..left };
        assert_eq!(seconds(call, Some(left), 3).0, 3.0);
        assert_eq!(seconds(call, Some(left), 4).0, 62.0);
    }
}
