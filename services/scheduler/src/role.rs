//! What this binary does between the shell's start and its end.

use std::sync::Arc;
use std::time::Duration;

use anteroom_config::Config;
use anteroom_core::store::Store;
use anteroom_core::{for_each_kind, kinds};
use anteroom_runtime::{Context, watch_store};

use crate::entity::{Scheduled, Tasks};
use crate::failures::Failures;
use crate::metrics::Metrics;
use crate::shared::Shared;

/// How long the first tick waits for the store.
const FIRST_CONNECTION: Duration = Duration::from_secs(1);

/// Runs the ticks of every configured queue, pool and event until the shell asks for an end; then
/// lets those in hand finish.
pub async fn run(context: Context) -> anyhow::Result<()> {
    let Context { config, changes, registry, readiness, shutdown, operations, supervisor } =
        context;
    let store = Store::open(&config.store(), &anteroom_core::scripts(), &registry)?;
    let metrics = Metrics::register(&registry)?;
    fn look_for<K: Scheduled>(config: &Config, has_any: &mut bool) {
        *has_any |= !K::TICKS.is_empty() && !K::declared(config).is_empty();
    }
    let mut has_any = false;
    for_each_kind!(look_for(&config, &mut has_any));
    watch_store(&store, &readiness, !has_any, &registry)?;
    // A tick before the first connection would only be an error in the metrics.
    store.wait_up(FIRST_CONNECTION).await;
    let failures = Failures::new(store.clone());
    let refused = store.clone();
    let shared = Arc::new(Shared { store, metrics, failures, operations });
    let tasks = Tasks { supervisor, shared, changes, stop: shutdown };
    macro_rules! serve_all {
        (; $(($kind:ident $handle:ident $name:ident $section:ident))+) => {
            tokio::join!($(<anteroom_core::$kind::$handle as Scheduled>::serve(&tasks)),+)
        };
    }
    let ticks = async { kinds!(serve_all! {}) };
    tokio::select! {
        _ = ticks => Ok(()),
        refused = refused.refused_at_start() => Err(refused.into()),
    }
}
