//! Reads the sketches, and reports that visitors have polled.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anteroom_core::queue::Sketch;
use anteroom_core::store::Error;

use super::super::refresh::{InUse, Refreshed};
use super::super::state::QueueState;
use super::Slot;

/// Between two readings of which tickets were seen. A visitor who was seen by another process
/// polls again later than this.
const SEEN_EVERY: Duration = Duration::from_secs(5);

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
        let read = read(queue, heard).await;
        let is_read = read.is_ok();
        match read {
            Ok((sketch, slot)) => line.put(sketch, slot, now, losses),
            Err(error) => {
                // The last one answers until it is too old. Redis being down is logged once, by the
                // connection.
                tracing::debug!(queue = queue.name(), %error, "no sketch");
            }
        }
        line.failed.store(!is_read, Ordering::Relaxed);
        line.read.notify_waiters();
        is_read
    }
}

/// A sketch, and with the rule which tickets were seen in the present slot.
async fn read(queue: &QueueState, heard: bool) -> Result<(Sketch, Option<Arc<Slot>>), Error> {
    let sketch = queue.queue.sketch(heard).await?;
    let (Some(front), true) = (sketch.front(), sketch.local_answers) else {
        return Ok((sketch, None));
    };
    let before = queue.line.seen.load_full().and_then(|line| line.slot.clone());
    let fits = |slot: &Arc<Slot>| {
        let is_present =
            (slot.seen.epoch, Some(slot.seen.opened_at)) == (sketch.epoch, sketch.slot);
        is_present && slot.requested_at.elapsed() < SEEN_EVERY
    };
    if let Some(slot) = before.filter(fits) {
        return Ok((sketch, Some(slot)));
    }
    let requested_at = Instant::now();
    let seen = queue.queue.seen(front).await?;
    Ok((sketch, seen.map(|seen| Arc::new(Slot { seen, requested_at }))))
}
