//! Reads the sketches, and reports that visitors have polled.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::super::refresh::{InUse, Refreshed};
use super::super::state::QueueState;

/// Reads them.
pub struct Sketches;

impl Refreshed for Sketches {
    const EVERY: Duration = Duration::from_secs(1);
    const REST_AFTER: Duration = Duration::from_secs(30);

    fn is_needed(queue: &QueueState) -> bool {
        queue.config.board || queue.latest.local_answers()
    }

    fn in_use(queue: &QueueState) -> &InUse {
        &queue.line.in_use
    }

    fn lose(queue: &QueueState) {
        queue.line.lose();
    }

    async fn read(queue: &QueueState, now: Instant) -> bool {
        let line = &queue.line;
        let losses = line.losses.load(Ordering::Acquire);
        // A report that fails is not repeated: it would be of a time long ago.
        let heard = line.polled.swap(false, Ordering::Relaxed);
        let read = queue.queue.sketch(heard).await;
        let is_read = read.is_ok();
        match read {
            Ok(sketch) => line.put(sketch, now, losses),
            Err(error) => {
                // The last one answers until it is too old. Redis being down is logged once, by the
                // connection.
                tracing::debug!(queue = queue.name(), %error, "no sketch");
            }
        }
        line.read.notify_waiters();
        is_read
    }
}
