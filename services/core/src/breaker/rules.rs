//! What a target is judged by.

use std::time::Duration;

use crate::store::Args;

/// Where the outcomes of a window stand. The scripts name the same numbers, from 1.
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

impl Rules {
    /// The most outcomes that one call may report.
    pub fn most_outcomes(&self) -> u32 {
        match self.kept {
            Kept::InBuckets => 1_000_000,
            Kept::InLog => 100,
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
    fn where_outcomes_are_kept_is_as_the_scripts_have_it() {
        let (buckets, log) = (Kept::InBuckets as u8, Kept::InLog as u8);
        assert!(LUA.contains(&format!("local IN_BUCKETS, IN_LOG = {buckets}, {log}\n")));
    }

    #[test]
    fn a_window_holds_as_much_as_the_scripts_say() {
        const BUCKETS: &str = include_str!("../../../../lua/breaker/lib/buckets.lua");
        const LOG: &str = include_str!("../../../../lua/breaker/lib/log.lua");
        assert!(BUCKETS.contains(&format!("local FULL = {}\n", Kept::InBuckets.most())));
        assert!(LOG.contains(&format!("MOST_EVICTED = {}, 128\n", Kept::InLog.most())));
    }

    #[test]
    fn the_scripts_read_as_many_rules() {
        let mut args = Args::new();
        Rules::default().push_to(&mut args);
        let numbers = args.iter().next().map_or(0, <[u8]>::len) / 8;
        assert!(LUA.contains(&format!("struct.unpack('>{}', ARGV[2])", "d".repeat(numbers))));
    }
}
