//! The places that ended before their time.
//!
//! [`ActiveCache`](super::active_cache::ActiveCache) decides which places a reading lets
//! pass, and for how long.

use std::time::{Duration, Instant};

use super::refresh::{InUse, Refreshed};
use super::state::QueueState;

/// Reads them.
pub struct Revoked;

impl Refreshed for Revoked {
    const EVERY: Duration = Duration::from_millis(50);
    const REST_AFTER: Duration = Duration::from_secs(10);

    fn in_use(queue: &QueueState) -> &InUse {
        queue.active_cache.in_use()
    }

    async fn rest(queue: &QueueState) {
        queue.active_cache.lose_reading();
    }

    async fn read(queue: &QueueState) -> Option<Instant> {
        let now = Instant::now();
        match queue.queue.revocations(queue.active_cache.version()).await {
            Ok(read) => {
                queue.active_cache.read(now, &read);
                Some(now)
            }
            Err(error) => {
                queue.active_cache.lose_reading();
                // Redis being down is logged once, by the connection.
                tracing::debug!(queue = queue.name(), %error, "no revocations");
                None
            }
        }
    }
}
