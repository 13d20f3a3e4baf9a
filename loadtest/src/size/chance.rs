//! Whether a share that is beyond its limit may be chance.

/// So many are expected at the limit where a share is taken as it is.
const MANY: f64 = 10.0;
/// A share of fewer is a miss where a service at its limit would show it this rarely.
const SIGNIFICANT: f64 = 0.05;

/// Whether a service of which this share is beyond the limit shows so many of all, or more, not
/// rarely: then it may be within it.
pub fn may_be_chance(beyond: u64, all: u64, share: f64) -> bool {
    share * all as f64 <= MANY && at_least(beyond, all, share) > SIGNIFICANT
}

/// The probability of so many or more among all, where each is one with this share: the upper tail
/// of the binomial distribution. With few of them expected no term vanishes.
fn at_least(many: u64, all: u64, share: f64) -> f64 {
    let mut term = (1.0 - share).powf(all as f64);
    let mut fewer = 0.0;
    for count in 0..many {
        fewer += term;
        term *= (all - count) as f64 / (count + 1) as f64 * share / (1.0 - share);
    }
    1.0 - fewer
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::objective::{Answers, Objective};
    use super::*;

    #[test]
    fn the_tail_is_that_of_the_binomial_distribution() {
        // 1 − 0.99^40 = 0.331; 1 − 0.99^40 − 40 × 0.01 × 0.99^39 = 0.061.
        assert!((at_least(1, 40, 0.01) - 0.331).abs() < 1e-3);
        assert!((at_least(2, 40, 0.01) - 0.061).abs() < 1e-3);
    }

    #[test]
    fn a_share_of_few_requests_may_be_chance() {
        let errors: Objective = "errors<1%".parse().expect("an objective");
        for (requests, failed, may_be_chance) in
            [(40, 1, true), (40, 2, true), (40, 3, false), (5, 5, false), (1_100, 11, false)]
        {
            let answers = Answers { requests, errors: failed, ..Answers::default() };
            let judged = errors.judge(&answers);
            assert_eq!(judged.may_be_chance, may_be_chance, "{failed} of {requests}");
            assert!(!judged.held);
        }
        let none: Objective = "errors<=0%".parse().expect("an objective");
        let one = Answers { requests: 4, errors: 1, ..Answers::default() };
        assert!(!none.judge(&one).may_be_chance, "none is none");
        let p95: Objective = "p95<200ms".parse().expect("an objective");
        for (slow, may_be_chance) in [(3, true), (5, false)] {
            let mut answers = Answers { requests: 40, ..Answers::default() };
            for n in 0..40 {
                answers.latency.note(Duration::from_millis(if n < slow { 300 } else { 20 }));
            }
            assert_eq!(p95.judge(&answers).may_be_chance, may_be_chance, "{slow} of 40");
        }
    }
}
