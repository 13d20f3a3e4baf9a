//! The newest snapshot of each entity, read more than once a second.
//!
//! It answers GET, feeds the gauges and what a process decides between two readings, and lets this
//! process know the newest rules in case Redis loses them. While Redis is down the old snapshot
//! stays, and shows its age.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anteroom_core::Kind as _;
use rand::Rng as _;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::entities::Snapshots;

/// Times 0.8 to 1.2, so that a snapshot is rarely older than the second that a GET promises.
const EVERY: Duration = Duration::from_millis(800);
/// After a failure, which costs Redis nothing while it is down.
const AGAIN: Duration = Duration::from_millis(200);

/// Reads the snapshots of one entity until it is stopped, or no longer configured.
pub async fn keep<K: Snapshots>(app: Arc<App>, name: String, stop: CancellationToken) {
    let reading = async {
        // The first connection is a moment away.
        app.store.wait_up(EVERY).await;
        while let Some(entity) = app.entity::<K>(&name) {
            let requested_at = Instant::now();
            let pause = match entity.snapshot().await {
                Ok(snapshot) => {
                    entity.act_on(K::families(&app.metrics.kinds), &snapshot);
                    entity.observe(requested_at, snapshot);
                    EVERY
                }
                // Redis being down is logged once, by the connection.
                Err(error) => {
                    tracing::debug!(kind = K::Kind::NAME, name, %error, "no snapshot");
                    AGAIN
                }
            };
            drop(entity);
            let jitter = rand::rng().random_range(0.8..1.2);
            tokio::time::sleep(pause.mul_f64(jitter)).await;
        }
    };
    stop.run_until_cancelled(reading).await;
}
