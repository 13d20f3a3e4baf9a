//! How long a failed application waits for its next try: exponential with full jitter, so that
//! those that failed together do not come back together (AWS Architecture Blog, "Exponential
//! Backoff and Jitter").

use std::time::Duration;

/// The bound of the first pause; it doubles with each failed attempt.
const FIRST: Duration = Duration::from_secs(1);
/// The bound of the longest pause.
const LONGEST: Duration = Duration::from_secs(300);
/// What a receiver may ask for at most: no retry time exceeds it.
pub const LONGEST_REQUESTED: Duration = Duration::from_secs(3_600);

/// The pause after so many failed attempts, 1 being the first; `share`, from 0 to 1, is the random
/// part. A receiver that asks for a pause gets it, up to [`LONGEST_REQUESTED`], and the jitter on
/// top.
pub fn pause(attempts: u32, share: f64, requested: Option<Duration>) -> Duration {
    let doublings = attempts.saturating_sub(1).min(31);
    let bound = FIRST.saturating_mul(1 << doublings).min(LONGEST);
    requested.unwrap_or_default().min(LONGEST_REQUESTED) + bound.mul_f64(share.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_bound_doubles_up_to_the_longest() {
        let bounds = [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300];
        for (attempts, seconds) in (1..).zip(bounds) {
            assert_eq!(pause(attempts, 1.0, None), Duration::from_secs(seconds), "{attempts}");
        }
    }

    proptest! {
        #[test]
        fn a_pause_is_between_the_requested_one_and_its_bound(
            attempts: u32,
            share in 0.0..=1.0f64,
            requested in proptest::option::of(0..10_000u64),
        ) {
            let requested = requested.map(Duration::from_secs);
            let least = requested.unwrap_or_default().min(LONGEST_REQUESTED);
            let pause = pause(attempts, share, requested);
            prop_assert!(pause >= least && pause <= least + LONGEST);
        }

        #[test]
        fn a_larger_share_never_waits_shorter(attempts: u32, a in 0.0..=1.0f64, b in 0.0..=1.0f64) {
            let (less, more) = (a.min(b), a.max(b));
            prop_assert!(pause(attempts, less, None) <= pause(attempts, more, None));
        }
    }
}
