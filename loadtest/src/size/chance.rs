//! What chance alone shows.

/// The probability that of so many each with this probability, 0 to below 1, at least `many` are:
/// the upper tail of the binomial distribution.
pub fn at_least(many: u64, all: u64, share: f64) -> f64 {
    let mut term = (1.0 - share).powf(all as f64);
    let mut fewer = 0.0;
    for count in 0..many {
        fewer += term;
        term *= (all - count) as f64 / (count + 1) as f64 * share / (1.0 - share);
    }
    (1.0 - fewer).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_that_of_the_binomial_distribution() {
        // 1 − 0.99^40 = 0.331; 1 − 0.99^40 − 40 × 0.01 × 0.99^39 = 0.061.
        assert!((at_least(1, 40, 0.01) - 0.331).abs() < 1e-3);
        assert!((at_least(2, 40, 0.01) - 0.061).abs() < 1e-3);
    }
}
