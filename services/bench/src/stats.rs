//! Medians of few values, which one disturbed run does not move.

/// The middle value; of an even number, the mean of the two in the middle. NaN of none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[odd / 2],
        even => f64::midpoint(sorted[even / 2 - 1], sorted[even / 2]),
    }
}

/// The value that so large a share of all is not above, from 0 to 1. NaN of none.
pub fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN)
}

/// The smallest value.
pub fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NAN, f64::min)
}

/// The largest value.
pub fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NAN, f64::max)
}

/// The interval of the median by the sign test: between the k-th smallest and the k-th largest
/// value, where k is the largest for which that holds the median with a probability of at least
/// 95 %. Of fewer than 6 values no k does: then the smallest and the largest.
pub fn interval_of_median(values: &[f64]) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    // Each value is as likely above the median as below it.
    let (mut ways, mut outside, mut skipped) = (1.0, 0.0, 0);
    while skipped < n / 2 {
        outside += 2.0 * ways / 2_f64.powf(n as f64);
        if outside > 0.05 {
            break;
        }
        skipped += 1;
        ways *= (n - skipped + 1) as f64 / skipped as f64;
    }
    let end = skipped.max(1);
    let at = |rank: usize| sorted.get(rank).copied().unwrap_or(f64::NAN);
    (at(end - 1), at(n.wrapping_sub(end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_median_is_that_of_the_sign_test() {
        let ranks = |n: u32| interval_of_median(&(1..=n).map(f64::from).collect::<Vec<_>>());
        // k of the usual table of the sign test, 5 % on both sides.
        for (n, k) in [(5, 1), (6, 1), (8, 1), (9, 2), (11, 2), (12, 3), (15, 4), (20, 6)] {
            assert_eq!(ranks(n), (f64::from(k), f64::from(n + 1 - k)), "{n}");
        }
        assert_eq!(ranks(1), (1.0, 1.0));
        assert!(interval_of_median(&[]).0.is_nan());
    }

    #[test]
    fn the_middle_and_both_ends() {
        assert_eq!(median(&[3.0, 1.0, 100.0]), 3.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 100.0]), 3.0);
        assert!(median(&[]).is_nan());
        let hundred: Vec<_> = (1..=100).map(f64::from).collect();
        assert_eq!((percentile(&hundred, 0.99), percentile(&hundred, 1.0)), (99.0, 100.0));
        assert_eq!((percentile(&[7.0], 0.99), percentile(&[7.0], 0.0)), (7.0, 7.0));
        assert!(percentile(&[], 0.5).is_nan());
        assert_eq!((least(&[2.0, 1.0]), most(&[2.0, 1.0])), (1.0, 2.0));
    }
}
