//! What a target is judged by.

use std::time::Duration;

use crate::store::{Args, Constants};

/// Where the outcomes of a window are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Counted by buckets of 5 % of the window: the window is exact to one of them.
    InBuckets = 1,
    /// Each by itself, at most 100 000, then the oldest go: the window is exact.
    InLog = 2,
}

impl Kept {
    /// The most outcomes that a window is sure to hold.
    pub fn most(self) -> u32 {
        match self {
            Self::InBuckets => 200_000_000,
            Self::InLog => 100_000,
        }
    }
}

/// What the scripts know of it.
pub(super) fn constants(all: Constants) -> Constants {
    all.value("IN_BUCKETS", Kept::InBuckets as u8)
        .value("IN_LOG", Kept::InLog as u8)
        .value("MOST_IN_BUCKET", Kept::InBuckets.most())
        .value("MOST_IN_LOG", Kept::InLog.most())
        .value("MOST_LOGGED", MOST_LOGGED)
}

/// The rules of a target. They travel with each call; callers may have different ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How long an outcome counts, in whole milliseconds.
    pub window: Duration,
    /// The least share of successes of a healthy target, in millionths: 1 to 1 000 000.
    pub threshold_ppm: u32,
    /// With fewer outcomes a window is not judged: 1 to 1 000 000, at most 100 000 in a log.
    pub min_samples: u32,
    /// Where the outcomes stand.
    pub kept: Kept,
    /// From how many reporters failures must come, once so many are known: 1 to 64.
    pub quorum: u32,
    /// How long it stays open, and how long a permit lasts, in whole milliseconds.
    pub open_for: Duration,
    /// How many probes decide whether it has recovered, and how many calls at a time bring them:
    /// 1 to 1 000.
    pub probes: u32,
}

/// The most outcomes that one call may put into a log.
const MOST_LOGGED: u32 = 100;

impl Rules {
    /// The most outcomes that one call may report.
    pub fn most_outcomes(&self) -> u32 {
        match self.kept {
            Kept::InBuckets => 1_000_000,
            Kept::InLog => MOST_LOGGED,
        }
    }

    /// Appends what the scripts read as `rules`.
    pub(super) fn push_to(&self, args: &mut Args) {
        let micros = |time: Duration| time.as_micros() as f64;
        let numbers = [
            micros(self.window),
            f64::from(self.threshold_ppm),
            f64::from(self.min_samples),
            f64::from(self.kept as u8),
            f64::from(self.quorum),
            micros(self.open_for),
            f64::from(self.probes),
        ];
        args.push(numbers.map(f64::to_be_bytes).as_flattened());
    }
}

impl Default for Rules {
    /// The defaults of the configuration, at a threshold of one half.
    fn default() -> Self {
        Self {
            window: Duration::from_secs(300),
            threshold_ppm: 500_000,
            min_samples: 20,
            kept: Kept::InBuckets,
            quorum: 2,
            open_for: Duration::from_secs(10),
            probes: 5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LUA: &str = include_str!("../../../../lua/breaker/lib/rules.lua");

    #[test]
    fn the_scripts_read_as_many_rules() {
        let mut args = Args::new();
        Rules::default().push_to(&mut args);
        let numbers = args.iter().next().map_or(0, <[u8]>::len) / 8;
        assert!(LUA.contains(&format!("struct.unpack('>{}', ARGV[2])", "d".repeat(numbers))));
    }
}
