//! The newest snapshot of each target, read about once a second, for the gauges and for what is
//! answered while the store is away.

use std::sync::Arc;
use std::time::Duration;

use rand::Rng as _;
use tokio_util::sync::CancellationToken;

use crate::app::App;

const EVERY: Duration = Duration::from_secs(1);

/// Reads the snapshots of one target about once a second until it is stopped.
pub async fn keep(app: Arc<App>, name: String, stop: CancellationToken) {
    let reading = async {
        // The first connection is a moment away.
        app.store.wait_up(EVERY).await;
        while let Some(target) = app.target(&name) {
            match target.target.snapshot(&target.rules).await {
                Ok(snapshot) => {
                    app.metrics.targets.gauges.show(target.name(), &snapshot);
                    target.last_known.note(snapshot.window());
                }
                // A store that is away says so itself.
                Err(error) => tracing::debug!(name = target.name(), %error, "no snapshot"),
            }
            drop(target);
            let jitter = rand::rng().random_range(0.8..1.2);
            tokio::time::sleep(EVERY.mul_f64(jitter)).await;
        }
    };
    stop.run_until_cancelled(reading).await;
}
