//! Reads the sketches: one a second for each queue with `local_answers`, while visitors poll.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::super::state::QueueState;

/// Half as long as a sketch may answer, so that one may come late.
const EVERY: Duration = Duration::from_secs(1);
/// After the last poll they go on for so long.
const REST_AFTER: Duration = Duration::from_secs(30);
/// Between two checks whether the rule has been switched on.
const RULE_EVERY: Duration = Duration::from_secs(1);
/// After a failure, which costs Redis nothing while it is down.
const AGAIN: Duration = Duration::from_millis(200);

/// Reads those of one queue until `find` has it no longer.
pub async fn keep(find: impl Fn() -> Option<Arc<QueueState>>) {
    let mut rest_at = Instant::now();
    while let Some(queue) = find() {
        let line = &queue.line;
        if !queue.latest.local_answers() {
            line.lose();
            tokio::time::sleep(RULE_EVERY).await;
            continue;
        }
        let sent = Instant::now();
        if line.used.swap(false, Ordering::Relaxed) {
            rest_at = sent + REST_AFTER;
        } else if sent >= rest_at {
            line.lose();
            // After a second: the queue may be gone from the configuration.
            let _ = tokio::time::timeout(RULE_EVERY, line.is_needed()).await;
            continue;
        }
        let pause = if read(&queue, sent).await { EVERY } else { AGAIN };
        tokio::time::sleep_until((sent + pause).into()).await;
    }
}

async fn read(queue: &QueueState, sent: Instant) -> bool {
    let line = &queue.line;
    let losses = line.losses.load(Ordering::Acquire);
    // A report that fails is not repeated: it would be of a time long ago.
    let heard = line.polled.swap(false, Ordering::Relaxed);
    match queue.queue.sketch(heard).await {
        Ok(sketch) if sketch.local_answers => {
            line.put(sketch, sent, losses);
            true
        }
        Ok(_) => {
            line.lose();
            true
        }
        Err(error) => {
            // The last one answers until it is too old. Redis being down is logged once, by the
            // connection.
            tracing::debug!(queue = queue.name(), %error, "no sketch");
            false
        }
    }
}
