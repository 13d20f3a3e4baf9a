//! How long something takes: always the same, anything between two bounds, or by chance.

use std::time::Duration;

use crate::durations::{format_duration, parse_duration};
use rand::Rng as _;
use rand::rngs::StdRng;
use serde::Serialize;

use crate::scenario::Think;

/// A distribution of durations.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(into = "String")]
pub enum Span {
    /// `30s`, or uniform: `10s..1m`.
    Between(Think),
    /// `exponential:30s`: of this mean.
    Exponential(Duration),
}

impl Span {
    /// Reads what it is shown as.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some(mean) = text.strip_prefix("exponential:") else {
            let between = Think::try_from(text.to_owned()).map(Self::Between);
            return between.map_err(|error| error.to_string());
        };
        let wrong = |error| format!("`{mean}`: {error}; give exponential:30s");
        parse_duration(mean.trim()).map(Self::Exponential).map_err(wrong)
    }

    /// One of them, in microseconds.
    pub fn draw(&self, random: &mut StdRng) -> u64 {
        match *self {
            Self::Between(Think { least, most }) => {
                random.random_range(micros(least)..=micros(most))
            }
            Self::Exponential(mean) => micros(mean.mul_f64(exponential(random))),
        }
    }
}

impl From<Span> for String {
    fn from(span: Span) -> Self {
        match span {
            Span::Between(bounds) => bounds.to_string(),
            Span::Exponential(mean) => format!("exponential:{}", format_duration(mean)),
        }
    }
}

/// A number of the exponential distribution of mean 1, by its inverse.
pub fn exponential(random: &mut StdRng) -> f64 {
    // 1 − u is never 0.
    -(1.0 - random.random::<f64>()).ln()
}

/// A duration in whole microseconds.
pub fn micros(length: Duration) -> u64 {
    u64::try_from(length.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng as _;

    #[test]
    fn what_is_read_is_shown_again() {
        for text in ["30s", "10s..1m", "exponential:2m 30s"] {
            assert_eq!(String::from(Span::parse(text).expect(text)), text);
        }
        for (text, rule) in [
            ("30", "is not a time"),
            ("2s..1s", "ends before it begins"),
            ("exponential:", "give exponential:30s"),
            ("..", "is not a time"),
        ] {
            let error = Span::parse(text).expect_err(text);
            assert!(error.contains(rule), "{text}: {error}");
        }
    }

    #[test]
    fn draws_have_their_mean() {
        let mut random = StdRng::seed_from_u64(1);
        for text in ["20s", "10s..30s", "exponential:20s"] {
            let span = Span::parse(text).expect(text);
            let sum: u64 = (0..20_000).map(|_| span.draw(&mut random)).sum();
            assert!((sum / 20_000).abs_diff(20_000_000) < 600_000, "{text}: {sum}");
        }
    }
}
