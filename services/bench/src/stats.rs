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
        assert_eq!((least(&[2.0, 1.0]), most(&[2.0, 1.0])), (1.0, 2.0));
    }
}
