//! The places that ended before their time, read every 50 ms for each queue with `local_answers`
//! while it has requests.
//!
//! [`ActiveCache`](super::active_cache::ActiveCache) decides which places a reading lets
//! pass, and for how long. A queue without requests, or whose rule is off, costs Redis nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::state::QueueState;

/// Half as long as a reading lets pass, so that one may come late.
const EVERY: Duration = Duration::from_millis(50);
/// Readings go on for so long after the last request.
const REST_AFTER: Duration = Duration::from_secs(10);
/// Between two checks whether the rule has been switched on.
const RULE_EVERY: Duration = Duration::from_secs(1);
/// After a failure, which costs Redis nothing while it is down.
const AGAIN: Duration = Duration::from_millis(200);

/// Reads those of one queue until `find` has it no longer.
pub async fn keep(find: impl Fn() -> Option<Arc<QueueState>>) {
    let mut rest_at = Instant::now();
    while let Some(queue) = find() {
        if !queue.latest.local_answers() {
            queue.active_cache.lose_reading();
            tokio::time::sleep(RULE_EVERY).await;
            continue;
        }
        let sent = Instant::now();
        if queue.active_cache.was_used() {
            rest_at = sent + REST_AFTER;
        } else if sent >= rest_at {
            queue.active_cache.lose_reading();
            // After a second: the queue may be gone from the configuration.
            let _ = tokio::time::timeout(RULE_EVERY, queue.active_cache.is_needed()).await;
            continue;
        }
        let pause = if read(&queue, sent).await { EVERY } else { AGAIN };
        tokio::time::sleep_until((sent + pause).into()).await;
    }
}

async fn read(queue: &QueueState, sent: Instant) -> bool {
    match queue.queue.revocations(queue.active_cache.version()).await {
        Ok(read) => {
            queue.active_cache.read(sent, &read);
            true
        }
        Err(error) => {
            queue.active_cache.lose_reading();
            // Redis being down is logged once, by the connection.
            tracing::debug!(queue = queue.name(), %error, "no revocations");
            false
        }
    }
}
