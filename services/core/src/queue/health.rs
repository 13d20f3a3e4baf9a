//! Promotion that follows the health of a target: what schedulers say of it with each tick, and
//! what a queue has made of it.

use std::time::Duration;

use crate::breaker::{LATENCY_BOUNDS_MS, State, Totals};
use crate::rules::choice;
use crate::store::Args;

/// What a queue follows, as a scheduler knows it at a tick; the default: nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// The target; `None` when it could not be read.
    pub reading: Option<BreakerReading>,
    /// The rules of the adaptive batch; `None` when the batch stays as it is.
    pub adaptive: Option<Adaptive>,
}

/// A target as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerReading {
    /// Its state, …
    pub state: State,
    /// … and the version of that, which only grows: a reading with an older one is passed over,
    /// unless no scheduler has read a newer one for 5 s.
    pub version: u64,
    /// Most places promoted in any `open_for` while it is half-open; at least 1.
    pub probes: u64,
    /// How long it stays open, and each quarter of the pace takes to come back; not zero.
    pub open_for: Duration,
    /// What was reported to it.
    pub totals: Totals,
}

/// How a batch adapts to the outcomes of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adaptive {
    /// The least batch, at least 1.
    pub min_batch: u64,
    /// The largest, at least `min_batch`.
    pub max_batch: u64,
    /// The share of successes that is aimed at, in millionths.
    pub success_target: u64,
    /// What 95 of 100 calls are to take at most, judged by the
    /// [bounds](crate::breaker::LATENCY_BOUNDS_MS) of the latency histogram; at least 1 ms.
    pub p95_target: Option<Duration>,
    /// Fewer outcomes than these since the last step decide nothing.
    pub min_samples: u64,
}

choice! {
    /// Why an adaptive batch is what it is.
    StepReason {
        /// There was no step yet.
        Start = "start",
        /// The aim was held and the batch used up: it rose.
        Raised = "raised",
        /// The same, but it is as large as it may be.
        Highest = "highest",
        /// The aim was held, but the batch not used up: it stayed.
        Unused = "unused",
        /// Too few calls succeeded: it was cut.
        CutSuccess = "cut_success",
        /// Too many calls were slow: it was cut.
        CutP95 = "cut_p95",
    }
}

/// An adaptive batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdaptiveBatch {
    /// The batch in force, unless an operator overrides it or the pace is still coming back after a
    /// fallback.
    pub batch: u64,
    /// The least that it may become.
    pub min_batch: u64,
    /// The most.
    pub max_batch: u64,
    /// Why it took its last step.
    pub reason: StepReason,
}

impl Health {
    /// The arguments of `queue.promote` behind the clock.
    pub(super) fn push_to(&self, args: &mut Args) {
        let none = |args: &mut Args| {
            args.push(0).push(0).push(0).push(0);
        };
        match &self.reading {
            Some(BreakerReading { state, version, probes, open_for, .. }) => {
                args.push(*state as u64).push(*version).push(*probes);
                args.push(u64::try_from(open_for.as_micros()).unwrap_or(u64::MAX));
            }
            None => none(args),
        }
        match &self.adaptive {
            Some(Adaptive { min_batch, max_batch, success_target, min_samples, .. }) => {
                args.push(*min_batch).push(*max_batch).push(*success_target).push(*min_samples);
            }
            None => none(args),
        }
        let p95_target = self.adaptive.and_then(|adaptive| adaptive.p95_target);
        args.push(p95_target.map_or(0, bounds_within));
        let totals = self.reading.map(|reading| packed(&reading.totals));
        args.push(totals.unwrap_or_default().as_slice());
    }
}

/// How many of the bounds of the latency histogram are within this aim. A call that may have taken
/// longer counts as past it.
fn bounds_within(p95_target: Duration) -> u64 {
    let bounds = LATENCY_BOUNDS_MS.into_iter().map(Duration::from_millis);
    bounds.filter(|bound| *bound <= p95_target).count() as u64
}

/// Successes, failures, and the latencies by their bounds, as doubles.
fn packed(totals: &Totals) -> Vec<u8> {
    let numbers = [totals.successes, totals.failures].into_iter().chain(totals.latencies);
    numbers.flat_map(|number| (number as f64).to_be_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_counts_as_quick_when_its_whole_bucket_is() {
        // Up to 200 ms there are eight buckets; the next ends at 500.
        for (ms, within) in [(1, 1), (200, 8), (499, 8), (500, 9), (60_000, 13)] {
            assert_eq!(bounds_within(Duration::from_millis(ms)), within, "{ms} ms");
        }
    }
}
