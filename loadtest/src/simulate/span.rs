//! How long something takes: always the same, anything between two bounds, or by chance.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use rand::Rng as _;
use rand::rngs::StdRng;

/// A distribution of durations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Span {
    /// `30s`
    Fixed(Duration),
    /// `10s..1m`: uniform.
    Between(Duration, Duration),
    /// `exponential:30s`: of this mean.
    Exponential(Duration),
}

impl Span {
    /// One of them, in microseconds.
    pub fn draw(&self, random: &mut StdRng) -> u64 {
        match *self {
            Self::Fixed(length) => micros(length),
            Self::Between(least, most) => random.random_range(micros(least)..=micros(most)),
            Self::Exponential(mean) => {
                // 1 − u is never 0.
                micros(mean.mul_f64(-(1.0 - random.random::<f64>()).ln()))
            }
        }
    }
}

/// A duration in whole microseconds.
pub fn micros(length: Duration) -> u64 {
    u64::try_from(length.as_micros()).unwrap_or(u64::MAX)
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let time = |part: &str| {
            humantime::parse_duration(part.trim())
                .map_err(|error| format!("`{part}`: {error}; give 30s, 10s..1m or exponential:30s"))
        };
        if let Some(mean) = text.strip_prefix("exponential:") {
            return Ok(Self::Exponential(time(mean)?));
        }
        let Some((least, most)) = text.split_once("..") else {
            return Ok(Self::Fixed(time(text)?));
        };
        let (least, most) = (time(least)?, time(most)?);
        if least > most {
            return Err(format!("`{text}`: the first bound is not above the second"));
        }
        Ok(Self::Between(least, most))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |length: Duration| humantime::format_duration(length);
        match *self {
            Self::Fixed(length) => write!(f, "{}", time(length)),
            Self::Between(least, most) => write!(f, "{}..{}", time(least), time(most)),
            Self::Exponential(mean) => write!(f, "exponential:{}", time(mean)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng as _;

    #[test]
    fn what_is_read_is_shown_again() {
        for text in ["30s", "10s..1m", "exponential:2m 30s"] {
            assert_eq!(text.parse::<Span>().expect(text).to_string(), text);
        }
        for (text, rule) in [
            ("30", "give 30s"),
            ("2s..1s", "not above the second"),
            ("exponential:", "give 30s"),
            ("..", "give 30s"),
        ] {
            let error = text.parse::<Span>().expect_err(text);
            assert!(error.contains(rule), "{text}: {error}");
        }
    }

    #[test]
    fn draws_have_their_mean() {
        let mut random = StdRng::seed_from_u64(1);
        for text in ["20s", "10s..30s", "exponential:20s"] {
            let span: Span = text.parse().expect(text);
            let sum: u64 = (0..20_000).map(|_| span.draw(&mut random)).sum();
            assert!((sum / 20_000).abs_diff(20_000_000) < 600_000, "{text}: {sum}");
        }
    }
}
