//! The newest snapshot of each entity, read more than once a second.
//!
//! It answers GET, feeds the gauges and what a process decides between two readings, and lets this
//! process know the newest rules in case Redis loses them. While Redis is down the old snapshot
//! stays, and shows its age.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anteroom_core::store::{Error, Store};
use rand::Rng as _;

use crate::latest::{Latest, Seen};

/// Times 0.8 to 1.2, so that a snapshot is rarely older than the second that a GET promises.
const EVERY: Duration = Duration::from_millis(800);
/// After a failure, which costs Redis nothing while it is down.
const AGAIN: Duration = Duration::from_millis(200);

/// An entity whose snapshots this process reads about once a second.
pub trait Snapshots: Send + Sync + 'static {
    /// What Redis returns of the entity as a whole.
    type Snapshot: Send + Sync + 'static;

    /// The newest of them.
    fn latest(&self) -> &Latest<Self::Snapshot>;

    /// Reads one from Redis.
    fn snapshot(&self) -> impl Future<Output = Result<Self::Snapshot, Error>> + Send;

    /// Shows one that was just read in the metrics and the log.
    fn act_on(&self, _snapshot: &Self::Snapshot) {}

    /// Keeps one that was requested at this time, unless a newer one is there. Every snapshot that
    /// this process reads comes through here.
    fn observe(
        &self,
        requested_at: Instant,
        snapshot: Self::Snapshot,
    ) -> Arc<Seen<Self::Snapshot>> {
        self.latest().set(requested_at, snapshot)
    }

    /// What GET answers with: the newest snapshot if it is at most a second old, else a new one.
    fn recent(&self) -> impl Future<Output = Result<Arc<Seen<Self::Snapshot>>, Error>> + Send {
        self.latest().at_most_a_second_old(async || {
            let requested_at = Instant::now();
            Ok(self.observe(requested_at, self.snapshot().await?))
        })
    }
}

/// Reads the snapshots of one entity until `find` has it no longer.
pub async fn keep<E: Snapshots>(store: &Store, find: impl Fn() -> Option<Arc<E>>) {
    // The first connection is a moment away.
    store.wait_up(EVERY).await;
    while let Some(entity) = find() {
        let requested_at = Instant::now();
        let pause = match entity.snapshot().await {
            Ok(snapshot) => {
                entity.act_on(&snapshot);
                entity.observe(requested_at, snapshot);
                EVERY
            }
            // Redis being down is logged once, by the connection.
            Err(error) => {
                tracing::debug!(entity = std::any::type_name::<E>(), %error, "no snapshot");
                AGAIN
            }
        };
        drop(entity);
        let jitter = rand::rng().random_range(0.8..1.2);
        tokio::time::sleep(pause.mul_f64(jitter)).await;
    }
}
