//! What serving an entity of any kind needs: its part of the configuration, and when to end.

use std::sync::Arc;

use anteroom_core::store::Error;
use anteroom_runtime::{Changes, Config};
use tokio_util::sync::CancellationToken;

use crate::shared::Shared;

/// An entity whose rules a file sets, as the scheduler holds it.
pub trait Entity {
    /// Its rules.
    type Rules: Clone + PartialEq;

    /// Those of a configuration; `None` when it does not name the entity any more.
    fn rules_in(&self, config: &Config) -> Option<Self::Rules>;

    /// Takes them for a store that holds none while none were seen.
    fn set_rules(&self, rules: Self::Rules);

    /// Writes them where the store's differ; whether it wrote.
    async fn apply_rules(&self, rules: &Self::Rules) -> Result<bool, Error>;

    /// What all kinds have.
    fn served(&self) -> &Served;
}

/// What all kinds have.
pub struct Served {
    /// The kind: `queue`, `pool` or `event`.
    pub kind: &'static str,
    /// The name in the configuration.
    pub name: String,
    /// Cancelled when it is to be served no longer.
    pub stop: CancellationToken,
    /// The way to Redis and what else all share.
    pub shared: Arc<Shared>,
    changes: Changes,
    rules_written: CancellationToken,
}

impl Served {
    /// Before its rules are written.
    pub fn new(
        shared: &Arc<Shared>,
        kind: &'static str,
        name: &str,
        changes: Changes,
        stop: CancellationToken,
    ) -> Self {
        let (shared, name) = (shared.clone(), name.to_owned());
        Self { kind, name, stop, shared, changes, rules_written: CancellationToken::new() }
    }

    /// The configuration in force, again at each change.
    pub fn changes(&self) -> Changes {
        self.changes.clone()
    }

    /// The configuration in force.
    pub fn config(&self) -> Arc<Config> {
        self.changes.borrow().clone()
    }

    /// Notes that the file's rules stand in the store.
    pub fn set_rules_written(&self) {
        self.rules_written.cancel();
    }

    /// Waits until the file's rules were written once, or until there is nothing to wait for.
    pub async fn rules_written(&self) {
        tokio::select! {
            () = self.rules_written.cancelled() => {}
            () = self.stop.cancelled() => {}
        }
    }

    /// Counts how a call for this entity went, and logs it when it begins or ends to fail.
    pub fn note<T>(&self, call: &'static str, result: &Result<T, Error>) {
        let error = result.as_ref().err();
        self.shared.operations.record(error.is_none());
        self.shared.failures.note(self.kind, &self.name, call, error);
    }
}
