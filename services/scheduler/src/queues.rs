//! Which queues are served: those of the configuration in force, each by a task of its own.

use std::collections::HashMap;
use std::sync::Arc;

use anteroom_core::store::Store;
use anteroom_runtime::{Config, Operations};
use anyhow::Context as _;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;
use crate::rules;
use crate::scheduled::Scheduled;
use crate::ticks::{self, Tick};
use crate::troubles::Troubles;

/// The configuration in force, again at each change.
pub type Changes = watch::Receiver<Arc<Config>>;

/// What all queues share.
pub struct Shared {
    /// The way to Redis.
    pub store: Store,
    /// What is counted.
    pub metrics: Metrics,
    /// Which ticks fail at the moment.
    pub troubles: Troubles,
    /// Where ticks count for the success ratio.
    pub operations: Operations,
    /// Cancelled when the service is to end.
    pub shutdown: CancellationToken,
}

/// Serves every queue of the configuration in force until the service is to end.
///
/// # Errors
///
/// When the task of a queue panicked: the process ends and its supervisor starts a fresh one.
pub async fn keep(shared: Arc<Shared>, mut changes: Changes) -> anyhow::Result<()> {
    let mut tasks = JoinSet::new();
    let mut served = HashMap::new();
    while !shared.shutdown.is_cancelled() {
        let config = changes.borrow_and_update().clone();
        for name in config.queues.keys() {
            served.entry(name.clone()).or_insert_with(|| {
                tasks.spawn(serve(shared.clone(), name.clone(), changes.clone()));
            });
        }
        tokio::select! {
            () = shared.shutdown.cancelled() => break,
            changed = changes.changed() => {
                if changed.is_err() {
                    // The watch on the file is over, as at the end of the service.
                    shared.shutdown.cancelled().await;
                }
            }
            // It left the configuration; it may have come back by now.
            Some(ended) = tasks.join_next() => {
                served.remove(&ended.context("a queue's task failed")?);
            }
        }
    }
    while let Some(ended) = tasks.join_next().await {
        ended.context("a queue's task failed")?;
    }
    Ok(())
}

/// Serves one queue until the configuration no longer names it or the service is to end; gives its
/// name back. Nothing ticks before the file's rules are written.
async fn serve(shared: Arc<Shared>, name: String, changes: Changes) -> String {
    let Some(queue) = Scheduled::open(&shared, &name, changes) else { return name };
    tracing::info!(queue = name, "served");
    let ticks = async {
        queue.rules_written().await;
        tokio::join!(
            ticks::keep(Tick::Promote, &queue),
            ticks::keep(Tick::Sweep, &queue),
            ticks::keep(Tick::Snapshot, &queue),
        );
    };
    tokio::join!(rules::keep(&queue), ticks);
    if !shared.shutdown.is_cancelled() {
        shared.metrics.forget(&name);
        shared.troubles.forget(&name);
        tracing::info!(queue = name, "no longer served");
    }
    name
}
