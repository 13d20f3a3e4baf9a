//! The newest snapshot of each pool, read about once a second: for the gauges, and so that this
//! process knows the newest rules when the store loses them.

use std::sync::Arc;
use std::time::Duration;

use rand::Rng as _;
use tokio_util::sync::CancellationToken;

use crate::app::App;

const EVERY: Duration = Duration::from_secs(1);

/// Reads the snapshots of one pool about once a second until it is stopped.
pub async fn keep(app: Arc<App>, name: String, stop: CancellationToken) {
    let reading = async {
        // The first connection is a moment away.
        app.store.wait_up(EVERY).await;
        while let Some(pool) = app.pool(&name) {
            match pool.pool.snapshot().await {
                Ok(snapshot) => app.metrics.pools.gauges.show(pool.name(), &snapshot),
                // A store that is away says so itself.
                Err(error) => tracing::debug!(name = pool.name(), %error, "no snapshot"),
            }
            drop(pool);
            let jitter = rand::rng().random_range(0.8..1.2);
            tokio::time::sleep(EVERY.mul_f64(jitter)).await;
        }
    };
    stop.run_until_cancelled(reading).await;
}
