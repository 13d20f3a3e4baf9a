//! The newest snapshot of each queue, read about once a second.
//!
//! It feeds the public state, the state bypass, the store's clock for assertions, and the gauges.
//! A store that is away is not asked in vain: the old snapshot stays and tells its age.

use std::sync::Arc;
use std::time::Duration;

use rand::Rng as _;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::queue::state::QueueState;

const EVERY: Duration = Duration::from_secs(1);
/// After a failure, which costs the store nothing while it is away.
const AGAIN: Duration = Duration::from_millis(200);

/// Reads the snapshots of one queue about once a second until it is stopped.
pub async fn keep(app: Arc<App>, name: String, stop: CancellationToken) {
    let reading = async {
        // The first connection is a moment away.
        app.store.wait_up(EVERY).await;
        while let Some(queue) = app.queue(&name) {
            let pause = if read(&app, &queue).await { EVERY } else { AGAIN };
            let jitter = rand::rng().random_range(0.8..1.2);
            tokio::time::sleep(pause.mul_f64(jitter)).await;
        }
    };
    stop.run_until_cancelled(reading).await;
}

async fn read(app: &App, queue: &QueueState) -> bool {
    // A store that is away fails at once, and it says so itself when it goes.
    match queue.queue.snapshot().await {
        Ok(snapshot) => {
            app.metrics.queues.gauges.show(queue.name(), &snapshot);
            if queue.latest.get().is_some_and(|old| old.snapshot.epoch != snapshot.epoch) {
                queue.active_cache.clear();
            }
            queue.warn_of_crowding(&snapshot.rules);
            queue.latest.set(snapshot);
            true
        }
        Err(error) => {
            tracing::debug!(queue = queue.name(), %error, "no snapshot");
            false
        }
    }
}
