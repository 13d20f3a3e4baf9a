//! What runs beside the requests: a task for each entity that reads what all requests then use.

use std::cell::Cell;
use std::sync::Arc;

use anteroom_authorize::snapshots::{self, Snapshots};
use anteroom_config::{Config, Declared as _};
use anteroom_core::Kind as _;
use anteroom_runtime::{Changes, Supervisor};
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::entities::{Entity, Listed, Served};

/// Starts tasks: one for each entity of a kind that the configuration in force names.
pub struct Tasks<'a> {
    app: &'a Arc<App>,
    supervisor: &'a Supervisor,
    in_force: &'a Changes,
    are_idle: Cell<bool>,
}

/// Starts the tasks of every kind. Returns whether none has an entity, so that no script runs until
/// a request comes.
pub fn spawn(app: &Arc<App>, supervisor: &Supervisor, in_force: &Changes) -> bool {
    let tasks = Tasks { app, supervisor, in_force, are_idle: Cell::new(true) };
    fn spawn_those_of<K: Served>(tasks: &Tasks<'_>) {
        K::State::spawn(tasks);
    }
    anteroom_core::for_each_kind!(spawn_those_of(&tasks));
    tasks.are_idle.get()
}

impl Tasks<'_> {
    /// Keeps the newest snapshot of each entity.
    pub fn snapshots<K: Listed + Snapshots>(&self) {
        let task = format!("{}_snapshots", K::Kind::NAME);
        self.keep::<K, _>(task, |app, name, stop| async move {
            let reading = snapshots::keep(&app.process.store, || app.entity::<K>(&name));
            stop.run_until_cancelled(reading).await;
        });
    }

    /// Keeps one such task for each entity of a kind in the configuration in force, until the
    /// process stops.
    pub fn keep<K: Entity, F: Future<Output = ()> + Send + 'static>(
        &self,
        task: String,
        run: fn(Arc<App>, String, CancellationToken) -> F,
    ) {
        let names = |config: &Arc<Config>| K::Kind::declared(config).keys().cloned().collect();
        if !K::Kind::declared(&self.app.live().config).is_empty() {
            self.are_idle.set(false);
        }
        let (supervisor, app) = (self.supervisor.clone(), self.app.clone());
        let in_force = self.in_force.clone();
        tokio::spawn(async move {
            let stop = app.stopping.clone();
            let run = move |name, stop| run(app.clone(), name, stop);
            supervisor.keep(&task, in_force, names, stop, run).await;
        });
    }
}
