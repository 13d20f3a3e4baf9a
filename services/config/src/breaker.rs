//! `[targets.NAME]`: the rules of one success-rate window.

use std::time::Duration;

use anteroom_core::breaker::{Kept, Rules};
use serde::Deserialize;

use crate::{error::Fault, parse, section::Named, sections::Section};

/// One target, with the values of `[targets."*"]` where it says nothing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct BreakerConfig {
    /// How long an outcome counts.
    #[serde(deserialize_with = "parse::span::<_, _, 1_000, 86_400_000>")]
    pub window: Duration,
    /// The least share of successes of a healthy target, in millionths.
    #[serde(deserialize_with = "parse::share")]
    pub threshold: u32,
    /// With fewer outcomes the window is not judged.
    #[serde(deserialize_with = "parse::whole::<_, _, 1, 1_000_000>")]
    pub min_samples: u32,
    /// Where the outcomes stand.
    #[serde(deserialize_with = "parse::parsed")]
    pub store: Kept,
    /// From how many reporters failures must come.
    #[serde(deserialize_with = "parse::whole::<_, _, 1, 64>")]
    pub quorum: u32,
    /// How long it stays open.
    #[serde(deserialize_with = "parse::span::<_, _, 1_000, 3_600_000>")]
    pub open_for: Duration,
    /// How many outcomes decide whether it has recovered.
    #[serde(deserialize_with = "parse::whole::<_, _, 1, 1_000>")]
    pub probes: u32,
}

impl BreakerConfig {
    /// The rules, in the words of `anteroom_core`.
    pub fn rules(&self) -> Rules {
        Rules {
            window: self.window,
            threshold_ppm: self.threshold,
            min_samples: self.min_samples,
            kept: self.store,
            quorum: self.quorum,
            open_for: self.open_for,
            probes: self.probes,
        }
    }
}

impl Section for anteroom_core::breaker::Breaker {
    type Table = BreakerConfig;
}

impl Named for BreakerConfig {
    /// A log that holds fewer than `min_samples` would never be judged.
    fn check(&self) -> Result<(), Fault> {
        let holds = self.min_samples <= self.store.most();
        Fault::unless(holds, "min_samples", "must be at most 100_000 with store = \"log\"")
    }
}

parse::words!(Kept { "buckets" => InBuckets, "log" => InLog, });
