//! What this binary does between the shell's start and its end.

use std::sync::Arc;
use std::time::Duration;

use anteroom_core::queue::SCRIPTS;
use anteroom_core::store::Store;
use anteroom_runtime::{Context, watch_store};

use crate::metrics::Metrics;
use crate::queues::{self, Shared};
use crate::troubles::Troubles;

/// How long the first tick waits for the store.
const FIRST_CONNECTION: Duration = Duration::from_secs(1);

/// Runs the ticks of every configured queue until the shell asks for an end; then lets those in
/// hand finish.
pub async fn run(context: Context) -> anyhow::Result<()> {
    let Context { config, changes, registry, readiness, shutdown, operations } = context;
    let store = Store::open(&config.store(), &SCRIPTS, &registry)?;
    let metrics = Metrics::register(&registry)?;
    watch_store(&store, &readiness, config.queues.is_empty(), &registry)?;
    // A tick before the first connection would only be an error in the metrics.
    store.wait_up(FIRST_CONNECTION).await;
    let troubles = Troubles::new(store.clone());
    let shared = Arc::new(Shared { store, metrics, troubles, operations, shutdown });
    queues::keep(shared, changes).await
}
