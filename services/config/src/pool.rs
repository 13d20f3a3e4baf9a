//! `[pools.NAME]`: the rules of one pool.

use anteroom_core::pool::{RULES, Rules};
use anteroom_core::rules::{Rule, Value};
use serde::Deserialize;

use crate::{error::Fault, section::Named, sections::Section};

/// One pool, with the values of `[pools."*"]` where it says nothing.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct PoolConfig {
    /// The rules, all of which stand in the store: read by their table, not by serde.
    #[serde(skip)]
    pub rules: Rules,
}

impl Section for anteroom_core::pool::Pool {
    type Table = PoolConfig;
}

impl Named for PoolConfig {
    const RULES: &'static [Rule] = RULES;

    fn with_rules(
        self,
        value: impl FnMut(&'static Rule) -> Result<Option<Value>, Fault>,
    ) -> Result<Self, Fault> {
        Rules::read(value).map(|rules| Self { rules })
    }
}
