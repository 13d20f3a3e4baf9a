//! The task of one queue: its rules are kept written, and its ticks come.

use std::sync::Arc;

use anteroom_runtime::Changes;
use tokio_util::sync::CancellationToken;

use crate::rules;
use crate::scheduled::Scheduled;
use crate::served::Entity as _;
use crate::shared::Shared;
use crate::tick::Tick;
use crate::ticks;

/// Serves one queue until it is stopped. Nothing ticks before the file's rules are written.
pub async fn serve(shared: Arc<Shared>, name: String, changes: Changes, stop: CancellationToken) {
    let Some(queue) = Scheduled::open(&shared, &name, changes, stop) else { return };
    tracing::info!(queue = name, "served");
    let ticks = async {
        queue.served().rules_written().await;
        tokio::join!(
            ticks::keep(Tick::Promote, &queue, ticks::promote),
            ticks::keep(Tick::Sweep, &queue, ticks::sweep),
            ticks::keep(Tick::Snapshot, &queue, ticks::snapshot),
        );
    };
    tokio::join!(rules::keep(&queue), ticks);
    shared.metrics.forget(&name);
    shared.failures.forget("queue", &name);
    tracing::info!(queue = name, "no longer served");
}
