//! What the scheduler does for every kind alike: one task for each entity, which keeps the rules of
//! the file written and ticks.

use std::fmt::Debug;
use std::sync::Arc;

use anteroom_config::{Config, Declared, Section};
use anteroom_core::Kind as _;
use anteroom_core::breaker::Breaker;
use anteroom_core::limit::Limits;
use anteroom_core::store::Error;
use anteroom_runtime::{Changes, Families, Supervisor};
use tokio_util::sync::CancellationToken;

use crate::log::log_entity;
use crate::metrics::Counted;
use crate::rules;
use crate::shared::Shared;
use crate::tick::Tick;

/// A kind, and what the scheduler does for it. Nothing by default: the rules of limits and targets
/// travel with each call, and their keys end by themselves.
pub trait Scheduled: Declared {
    /// The metrics of all of its kind.
    type Families: Families + Clone + Debug;

    /// Its ticks; without any, the scheduler does nothing for it.
    const TICKS: &'static [Tick] = &[];

    /// Serves each entity that the configuration declares until the service ends.
    fn serve(_tasks: &Tasks) -> impl Future<Output = ()> + Send {
        async {}
    }
}

impl Scheduled for Limits {
    type Families = ();
}

impl Scheduled for Breaker {
    type Families = ();
}

/// An entity that ticks, and whose rules a file sets.
pub trait Entity: Sized + Send + Sync + 'static {
    /// Its kind.
    type Kind: Counted;
    /// Its rules.
    type Rules: Clone + PartialEq + Send + Sync;

    /// The rules in its part of the configuration.
    fn rules(table: &<Self::Kind as Section>::Table) -> &Self::Rules;

    /// Opens it.
    fn open(served: Served, rules: Self::Rules) -> Self;

    /// Takes the rules for a Redis that has none while none were seen.
    fn set_rules(&self, rules: Self::Rules);

    /// Writes the rules if those in Redis differ. Returns whether it wrote.
    fn apply_rules(&self, rules: &Self::Rules) -> impl Future<Output = Result<bool, Error>> + Send;

    /// What all kinds have.
    fn served(&self) -> &Served;

    /// Ticks until it is stopped.
    fn tick(&self) -> impl Future<Output = ()> + Send;
}

/// Starts the tasks.
pub struct Tasks {
    /// Starts a task again after a panic.
    pub supervisor: Supervisor,
    /// What the tasks share.
    pub shared: Arc<Shared>,
    /// The configuration in force.
    pub changes: Changes,
    /// Cancelled at the end of the service.
    pub stop: CancellationToken,
}

impl Tasks {
    /// Keeps a task for each entity of a kind until the service ends, and lets the ticks in hand
    /// finish.
    pub async fn keep<E: Entity>(&self) {
        let (shared, changes) = (self.shared.clone(), self.changes.clone());
        let serve = move |name, stop| serve::<E>(shared.clone(), name, changes.clone(), stop);
        let names = |config: &Arc<Config>| E::Kind::declared(config).keys().cloned().collect();
        let (task, stop) = (format!("{}_ticks", E::Kind::NAME), self.stop.clone());
        self.supervisor.keep(&task, self.changes.clone(), names, stop, serve).await;
    }
}

/// The rules in a configuration; `None` if it does not declare the entity any more.
pub fn rules_in<E: Entity>(config: &Config, name: &str) -> Option<E::Rules> {
    E::Kind::declared(config).get(name).map(|table| E::rules(table).clone())
}

/// Serves one entity until it is stopped. Nothing ticks before the rules of the file are written.
async fn serve<E: Entity>(
    shared: Arc<Shared>,
    name: String,
    changes: Changes,
    stop: CancellationToken,
) {
    let kind = E::Kind::NAME;
    let Some(rules) = rules_in::<E>(&changes.borrow(), &name) else { return };
    let entity = E::open(Served::new(&shared, kind, &name, changes, stop), rules);
    log_entity!(info, kind, &name, "served");
    let ticks = async {
        entity.served().rules_written().await;
        entity.tick().await;
    };
    tokio::join!(rules::keep(&entity), ticks);
    E::Kind::families(&shared.metrics).forget(&name);
    shared.failures.forget(kind, &name);
    log_entity!(info, kind, &name, "no longer served");
}

/// What all kinds have.
pub struct Served {
    /// The name of the kind, such as `queue`.
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
