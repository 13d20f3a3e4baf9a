//! The rules of a pool. They stand in the store, and only a file sets them.

use std::time::Duration;

use super::scripts;
use crate::entity::Ruled;
use crate::rules::{Amounts, DAY, HOUR, Kind, MAX_AMOUNT, SECOND, choice, rules, span, whole};
use crate::store::Script;

choice! {
    /// What a pool does when the store's primary has changed, and may lack the latest movements.
    OnFailover {
        /// Goes on, and counts it.
        Continue = "continue",
        /// Moves no money until an operator confirms.
        Hold = "hold",
    }
}

/// The most options of a pool.
pub const MAX_OPTIONS: usize = 100;

rules! {
    file {
        /// What is in the pool when it is created.
        funds Funds: Option<u64>, whole(1, MAX_AMOUNT), None;
        /// How long a hold lasts.
        hold_ttl HoldTtl: Duration, span(SECOND, DAY), Duration::from_secs(60);
        /// continue or hold: what happens when the store's primary has changed.
        on_failover OnFailover: OnFailover, Kind::Choice(OnFailover::NAMES), OnFailover::Continue;
        /// How long movements are kept one by one in the ledger; older ones are summed up.
        ledger_keep LedgerKeep: Duration, span(HOUR, 3_650 * DAY),
            Duration::from_secs(30 * 86_400);
        /// The most that each option pays, by name.
        options Options: Amounts, Kind::Amounts { most: MAX_OPTIONS }, Amounts::default();
    }
    relations {}
}

impl Ruled for Rules {
    const PARTS: usize = 1;

    fn seed_script() -> &'static Script {
        &scripts::SEED_RULES
    }
}
