//! What this binary does between the shell's start and its end.

use std::sync::Arc;
use std::time::Duration;

use anteroom_core::store::Store;
use anteroom_runtime::{Config, Context, watch_store};

use crate::failures::Failures;
use crate::metrics::Metrics;
use crate::shared::Shared;
use crate::{events, pools, queues};

/// How long the first tick waits for the store.
const FIRST_CONNECTION: Duration = Duration::from_secs(1);

/// Runs the ticks of every configured queue, pool and event until the shell asks for an end; then
/// lets those in hand finish.
pub async fn run(context: Context) -> anyhow::Result<()> {
    let Context { config, changes, registry, readiness, shutdown, operations, supervisor } =
        context;
    let store = Store::open(&config.store(), &anteroom_core::scripts(), &registry)?;
    let metrics = Metrics::register(&registry)?;
    watch_store(
        &store,
        &readiness,
        config.queues.is_empty() && config.pools.is_empty() && config.events.is_empty(),
        &registry,
    )?;
    // A tick before the first connection would only be an error in the metrics.
    store.wait_up(FIRST_CONNECTION).await;
    let failures = Failures::new(store.clone());
    let refused = store.clone();
    let shared = Arc::new(Shared { store, metrics, failures, operations });
    let names = |config: &Arc<Config>| config.queues.keys().cloned().collect();
    let event_names = |config: &Arc<Config>| config.events.keys().cloned().collect();
    let pool_names = |config: &Arc<Config>| config.pools.keys().cloned().collect();
    let serve = {
        let (shared, changes) = (shared.clone(), changes.clone());
        move |name, stop| queues::serve(shared.clone(), name, changes.clone(), stop)
    };
    let serve_event = {
        let (shared, changes) = (shared.clone(), changes.clone());
        move |name, stop| events::serve(shared.clone(), name, changes.clone(), stop)
    };
    let serve_pool = {
        let changes = changes.clone();
        move |name, stop| pools::serve(shared.clone(), name, changes.clone(), stop)
    };
    let (queue_changes, stop) = (changes.clone(), shutdown.clone());
    let (event_changes, event_stop) = (changes.clone(), shutdown.clone());
    let ticks = async {
        tokio::join!(
            supervisor.keep("queue_ticks", queue_changes, names, stop, serve),
            supervisor.keep("event_ticks", event_changes, event_names, event_stop, serve_event),
            supervisor.keep("pool_ticks", changes, pool_names, shutdown, serve_pool),
        );
    };
    tokio::select! {
        () = ticks => Ok(()),
        refused = refused.refused_at_start() => Err(refused.into()),
    }
}
