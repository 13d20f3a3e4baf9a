//! The requests of the tests.

use std::time::Duration;

use anteroom_core::limit::{Algorithm, Answer, Call, Check, Checked, Limits, Rule};

use crate::support::TimedStore;

impl TimedStore {
    /// The limits, by this store's time.
    pub fn limits(&self) -> Limits {
        Limits::open_with_clock(&self.store, 10_000, self.clock())
    }
}

/// A store of its own, and the limits on it.
pub async fn opened() -> (TimedStore, Limits) {
    let world = TimedStore::new().await;
    let limits = world.limits();
    (world, limits)
}

pub fn rule(algorithm: Algorithm, limit: u32, seconds: u64) -> Rule {
    Rule { algorithm, limit, window: Duration::from_secs(seconds), shadow: false }
}

/// A check of the limit `login` for so many units.
pub fn login(rule: Rule, key: &str, cost: u64) -> Check<'_> {
    Check { limit: "login", rule, key, group: None, cost }
}

/// What a call of one check says.
pub async fn ask(limits: &Limits, check: &Check<'_>) -> Checked {
    let call = Call::one(check, None).expect("a call");
    match limits.check(call).await {
        Ok(Answer::Decided { checks, .. }) => checks[0],
        other => panic!("{other:?}"),
    }
}
