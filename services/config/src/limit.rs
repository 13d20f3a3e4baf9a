//! `[limits.NAME]`: the rule of one limit.

use std::time::Duration;

use anteroom_core::limit::{Algorithm, Rule};
use serde::Deserialize;

use crate::{error::Fault, parse, section::Named, sections::Section};

/// One limit, with the values of `[limits."*"]` where it says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct LimitConfig {
    /// How units are counted.
    #[serde(deserialize_with = "parse::parsed")]
    pub algorithm: Algorithm,
    /// At most so many units …
    #[serde(deserialize_with = "parse::whole::<_, _, 1, 100_000_000>")]
    pub limit: u32,
    /// … in any such time.
    #[serde(deserialize_with = "parse::seconds::<_, 1, 86_400>")]
    pub window: Duration,
    /// Whether it refuses no call, and only reports that it would.
    #[serde(deserialize_with = "parse::flag")]
    pub shadow: bool,
    /// What a check answers while the store is down.
    #[serde(deserialize_with = "parse::parsed")]
    pub on_store_error: LimitWithoutStore,
}

impl LimitConfig {
    /// The rule, in the words of `anteroom_core`.
    pub fn rule(&self) -> Rule {
        let Self { algorithm, limit, window, shadow, .. } = *self;
        Rule { algorithm, limit, window, shadow }
    }
}

impl Section for anteroom_core::limit::Limits {
    type Table = LimitConfig;
}

impl Named for LimitConfig {
    const REQUIRED: Option<&'static str> = Some("limit");

    fn check(&self) -> Result<(), Fault> {
        let holds = self.limit <= self.algorithm.max_limit();
        Fault::unless(holds, "limit", "must be at most 10_000 while algorithm is log")
    }
}

parse::words!(Algorithm { "log" => Log, "counter" => Counter, "gcra" => Gcra, });

/// What a check of a limit answers while the store is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitWithoutStore {
    /// That it is refused.
    Closed,
    /// That it is allowed.
    Open,
}

parse::words!(LimitWithoutStore { "closed" => Closed, "open" => Open, });
