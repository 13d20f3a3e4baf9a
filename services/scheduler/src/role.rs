//! What this binary does between the shell's start and its end.

use std::sync::Arc;
use std::time::Duration;

use anteroom_core::store::Store;
use anteroom_runtime::{Config, Context, watch_store};

use crate::events;
use crate::failures::Failures;
use crate::metrics::Metrics;
use crate::queues;
use crate::shared::Shared;

/// How long the first tick waits for the store.
const FIRST_CONNECTION: Duration = Duration::from_secs(1);

/// Runs the ticks of every configured queue and event until the shell asks for an end; then lets those in
/// hand finish.
pub async fn run(context: Context) -> anyhow::Result<()> {
    let Context { config, changes, registry, readiness, shutdown, operations, supervisor } =
        context;
    let store = Store::open(&config.store(), &anteroom_core::scripts(), &registry)?;
    let metrics = Metrics::register(&registry)?;
    let nothing_ticks = config.queues.is_empty() && config.events.is_empty();
    watch_store(&store, &readiness, nothing_ticks, &registry)?;
    // A tick before the first connection would only be an error in the metrics.
    store.wait_up(FIRST_CONNECTION).await;
    let failures = Failures::new(store.clone());
    let refused = store.clone();
    let shared = Arc::new(Shared { store, metrics, failures, operations });
    let queues = supervisor.keep(
        "queue_ticks",
        changes.clone(),
        |config: &Arc<Config>| config.queues.keys().cloned().collect(),
        shutdown.clone(),
        {
            let (shared, changes) = (shared.clone(), changes.clone());
            move |name, stop| queues::serve(shared.clone(), name, changes.clone(), stop)
        },
    );
    let events = supervisor.keep(
        "event_ticks",
        changes.clone(),
        |config: &Arc<Config>| config.events.keys().cloned().collect(),
        shutdown,
        move |name, stop| events::serve(shared.clone(), name, changes.clone(), stop),
    );
    tokio::select! {
        _ = async { tokio::join!(queues, events) } => Ok(()),
        refused = refused.refused_at_start() => Err(refused.into()),
    }
}
