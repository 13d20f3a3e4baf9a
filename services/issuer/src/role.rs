//! What this binary does between the shell's start and its end.

use std::sync::Arc;
use std::time::Duration;

use anteroom_config::Config;
use anteroom_core::store::Store;
use anteroom_runtime::{Context, watch_store};
use tokio::sync::SetOnce;

use crate::issuing;
use crate::metrics::Metrics;
use crate::shared::Shared;

/// How long the first claim waits for the store.
const FIRST_CONNECTION: Duration = Duration::from_secs(1);

/// Issues for every configured event until the shell asks for an end; then drains.
///
/// # Errors
///
/// When the name of a metric is taken, or the user at Redis lacks a permission, at the start or
/// later.
pub async fn run(context: Context) -> anyhow::Result<()> {
    let Context { config, changes, registry, readiness, shutdown, operations, supervisor } =
        context;
    let store = Store::open(&config.store(), &anteroom_core::scripts(), &registry)?;
    let metrics = Metrics::register(&registry)?;
    watch_store(&store, &readiness, config.events.is_empty(), &registry)?;
    // A claim before the first connection would only be an error in the metrics.
    store.wait_up(FIRST_CONNECTION).await;
    let shared = Arc::new(Shared { store, metrics, operations, refused: SetOnce::new() });
    let names = |config: &Arc<Config>| config.events.keys().cloned().collect();
    let serve = {
        let (shared, changes) = (shared.clone(), changes.clone());
        move |name, stop| issuing::serve(shared.clone(), name, changes.clone(), stop)
    };
    tokio::select! {
        () = supervisor.keep("event_issuing", changes, names, shutdown, serve) => Ok(()),
        refused = shared.store.refused_at_start() => Err(refused.into()),
        refused = shared.refused.wait() => Err(refused.clone().into()),
    }
}
