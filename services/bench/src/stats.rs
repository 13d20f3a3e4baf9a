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

#[cfg(test)]
mod tests {
    use super::*;

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
