//! `[queues.NAME.adaptive]`: a batch that follows the outcomes of the queue's target.

use std::time::Duration;

use anteroom_core::queue::Adaptive;
use serde::{Deserialize, Deserializer};

use crate::{error::Fault, parse};

/// The bounds of the batch, and what is aimed at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct AdaptiveConfig {
    /// The least batch.
    #[serde(deserialize_with = "parse::whole::<_, _, 1, 1_000_000>")]
    pub min_batch: u64,
    /// The largest.
    #[serde(deserialize_with = "parse::whole::<_, _, 1, 1_000_000>")]
    pub max_batch: u64,
    /// The share of calls that are to succeed, in millionths.
    #[serde(deserialize_with = "parse::share")]
    pub success_target: u32,
    /// What 95 of 100 calls are to take at most.
    #[serde(default, deserialize_with = "parse::span::<_, _, 1, 10_000>")]
    pub p95_target: Option<Duration>,
}

impl AdaptiveConfig {
    /// The same in the words of `anteroom_core`, with the `min_samples` of the target.
    pub fn rules(&self, min_samples: u32) -> Adaptive {
        Adaptive {
            min_batch: self.min_batch,
            max_batch: self.max_batch,
            success_target: u64::from(self.success_target),
            p95_target: self.p95_target,
            min_samples: u64::from(min_samples),
        }
    }

    pub(crate) fn check(&self) -> Result<(), Fault> {
        let rule = "must be at least min_batch";
        Fault::unless(self.max_batch >= self.min_batch, "adaptive.max_batch", rule)
    }
}

/// The table, for a key that may be absent.
pub(crate) fn some<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<AdaptiveConfig>, D::Error> {
    AdaptiveConfig::deserialize(deserializer).map(Some)
}
