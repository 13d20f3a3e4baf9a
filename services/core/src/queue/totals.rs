//! What a queue has done since it was created, as its scripts count it
//! (`lua/queue/lib/totals.lua`): promotions with their waits, and missed turns.
//!
//! The difference of two readings is what happened between them.

use std::time::Duration;

use crate::store::{Constants, Error, Reply};

/// Bounds of waits: 1 s, then √2 times the one before, to 4.6 h.
const BOUNDS: usize = 29;
/// The counts of a histogram: a wait up to each bound, longer ones, and those that are unknown.
const COUNTS: usize = BOUNDS + 2;

/// Totals of a queue. Version 0.2.0 promotes and ends places without counting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Places that their join promoted: they did not wait.
    pub at_once: u64,
    /// Missed turns.
    pub missed: u64,
    /// How long the others waited.
    pub waits: Waits,
}

/// A histogram of waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits([u64; COUNTS]);

/// The constants of the scripts.
pub(super) fn constants(all: Constants) -> Constants {
    all.value("WAIT_COUNTS", COUNTS).doubles("WAITS", COUNTS)
}

impl Totals {
    pub(super) fn read(reply: &mut Reply) -> Result<Self, Error> {
        let (at_once, missed) = (reply.count()?, reply.count()?);
        let mut packed = reply.packed()?;
        let mut waits = Waits::default();
        // There is no histogram before the first wait. Another version may have other bounds.
        if packed.len() == COUNTS {
            for count in &mut waits.0 {
                *count = packed.count()?;
            }
        }
        Ok(Self { at_once, missed, waits })
    }

    /// Places promoted, by a tick or by their join.
    pub fn promoted(&self) -> u64 {
        self.at_once + self.waits.0.iter().sum::<u64>()
    }

    /// What happened since an earlier reading. If Redis has lost writes, a count can be lower than
    /// before: then the difference is 0.
    pub fn since(&self, before: &Self) -> Self {
        let mut waits = self.waits;
        for (now, then) in waits.0.iter_mut().zip(before.waits.0) {
            *now = now.saturating_sub(then);
        }
        Self {
            at_once: self.at_once.saturating_sub(before.at_once),
            missed: self.missed.saturating_sub(before.missed),
            waits,
        }
    }

    /// The sum of both.
    pub fn plus(&self, other: &Self) -> Self {
        let mut waits = self.waits;
        for (sum, more) in waits.0.iter_mut().zip(other.waits.0) {
            *sum += more;
        }
        Self { at_once: self.at_once + other.at_once, missed: self.missed + other.missed, waits }
    }

    /// A quantile of the waits: 0.9 is the wait that 90 % did not exceed. Interpolates within a
    /// bucket, as Prometheus does. `None` if no wait is known. Waits beyond the last bound count as
    /// that bound.
    pub fn wait_quantile(&self, part: f64) -> Option<Duration> {
        let (known, _) = self.waits.0.split_at(BOUNDS + 1);
        let all = self.at_once + known.iter().sum::<u64>();
        if all == 0 {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let in_float = |count: u64| count as f64;
        let mut rest = in_float(all) * part - in_float(self.at_once);
        if rest <= 0.0 {
            return Some(Duration::ZERO);
        }
        for (at, count) in known.iter().enumerate().filter(|(_, count)| **count > 0) {
            let count = in_float(*count);
            if rest <= count && at < BOUNDS {
                let from = if at == 0 { Duration::ZERO } else { bound(at - 1) };
                return Some(from + (bound(at) - from).mul_f64(rest / count));
            }
            rest -= count;
        }
        Some(bound(BOUNDS - 1))
    }
}

impl Waits {
    /// The histogram of these waits, each with its number of promotions, and of unknown ones.
    pub fn of(known: &[(u64, Duration)], unknown: u64) -> Self {
        let mut waits = Self::default();
        for (count, wait) in known {
            let at = (0..BOUNDS).find(|at| *wait <= bound(*at)).unwrap_or(BOUNDS);
            waits.0[at] += count;
        }
        waits.0[COUNTS - 1] += unknown;
        waits
    }

    /// Counts waits that exceed this time as unknown ones.
    pub fn folded(mut self, past: Duration) -> Self {
        let first = (0..BOUNDS).find(|at| bound(*at) > past).unwrap_or(BOUNDS);
        let folded = self.0[first..].iter().sum();
        self.0[first..].fill(0);
        self.0[COUNTS - 1] = folded;
        self
    }
}

fn bound(at: usize) -> Duration {
    #[expect(clippy::cast_precision_loss, reason = "at most 28")]
    Duration::from_secs_f64((at as f64 / 2.0).exp2())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::*;

    const S: Duration = Duration::from_secs(1);

    fn totals(at_once: u64, waits: &[(u64, Duration)]) -> Totals {
        Totals { at_once, missed: 0, waits: Waits::of(waits, 0) }
    }

    #[test]
    fn the_bounds_reach_from_a_second_to_more_than_4_hours() {
        assert_eq!((bound(0), bound(2), bound(3).as_millis()), (S, 2 * S, 2_828));
        assert!(bound(BOUNDS - 1) > 4 * 3_600 * S);
    }

    #[test]
    fn a_quantile_is_within_its_bucket() {
        assert_eq!(Totals::default().wait_quantile(0.5), None);
        assert_eq!(totals(3, &[]).wait_quantile(0.9), Some(Duration::ZERO));
        // Of 4 the second half waited from 1.41 to 2 s.
        let half = totals(2, &[(2, 2 * S)]);
        assert_eq!(half.wait_quantile(0.5), Some(Duration::ZERO));
        let middle = half.wait_quantile(0.75).expect("known").as_secs_f64();
        assert!((middle - f64::midpoint(2f64.sqrt(), 2.0)).abs() < 1e-6, "{middle}");
        assert_eq!(half.wait_quantile(1.0), Some(2 * S));
        let long = totals(0, &[(1, 20 * 3_600 * S)]);
        assert_eq!(long.wait_quantile(0.5), Some(bound(BOUNDS - 1)));
        let unknown = Totals { waits: Waits::of(&[], 7), ..Totals::default() };
        assert_eq!((unknown.wait_quantile(0.5), unknown.promoted()), (None, 7));
    }

    #[test]
    fn a_store_that_lost_writes_gives_no_negative_numbers() {
        let (before, after) = (totals(5, &[(2, S), (1, 9 * S)]), totals(3, &[(4, S)]));
        assert_eq!(after.since(&before), totals(0, &[(2, S)]));
    }

    proptest! {
        #[test]
        fn differences_add_up(a in any::<[u8; 4]>(), b in any::<[u8; 4]>()) {
            let of = |[at_once, missed, short, long]: [u8; 4]| Totals {
                at_once: at_once.into(),
                missed: missed.into(),
                waits: Waits::of(&[(short.into(), S), (long.into(), 600 * S)], 0),
            };
            assert_eq!(of(a).plus(&of(b)).since(&of(a)), of(b));
        }
    }
}
