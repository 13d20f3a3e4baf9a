//! The task of one queue: its rules are kept written, and its ticks come.

use std::sync::Arc;

use anteroom_core::queue::{Queue, Rules};
use anteroom_core::store::Error;
use anteroom_runtime::{Changes, Config};
use tokio_util::sync::CancellationToken;

use crate::rules;
use crate::scheduled::Scheduled;
use crate::shared::Shared;
use crate::ticks;

/// Serves one queue until it is stopped. Nothing ticks before the file's rules are written.
pub async fn serve(shared: Arc<Shared>, name: String, changes: Changes, stop: CancellationToken) {
    let Some(queue) = Scheduled::open(&shared, &name, changes, stop) else { return };
    tracing::info!(queue = name, "served");
    let ticks = async {
        queue.served.rules_written().await;
        ticks::keep(&queue).await;
    };
    let rules_in = |config: &Config| config.queues.get(&name).map(|queue| queue.rules.clone());
    let write = |rules| write(&queue.queue, rules);
    tokio::join!(rules::keep(&queue.served, rules_in, write), ticks);
    shared.metrics.forget(&name);
    shared.failures.forget(&name);
    tracing::info!(queue = name, "no longer served");
}

async fn write(queue: &Queue, rules: Rules) -> Result<bool, Error> {
    // For a store that holds none while none were seen.
    queue.set_rules(rules.clone());
    queue.apply_rules(&rules).await
}
