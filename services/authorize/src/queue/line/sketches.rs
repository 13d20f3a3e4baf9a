//! Reads the sketches, and reports which visitors have polled.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anteroom_core::queue::{Departures, Sketch};
use anteroom_core::store::Error;

use super::super::refresh::{InUse, Refreshed};
use super::super::state::QueueState;
use super::Slot;

/// Between two readings of which tickets were seen. A visitor who was seen by another process
/// polls again later than this.
const SEEN_EVERY: Duration = Duration::from_secs(5);
/// An outline of the line serves other processes, too. More than half of the time between two
/// readings, so that of two processes one takes that of the other.
const SHARED_FOR: Duration = Duration::from_millis(600);

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

    async fn rest(queue: &QueueState) {
        queue.line.lose();
        report_polls(queue).await;
    }

    async fn read(queue: &QueueState) -> Option<Instant> {
        let line = &queue.line;
        if line.pending.are_due(Self::EVERY) {
            report_polls(queue).await;
        }
        let requested_at = Instant::now();
        let losses = line.losses.load(Ordering::Acquire);
        // A report that fails is not repeated: it would be of a time long ago.
        let heard = line.polled.swap(false, Ordering::Relaxed);
        let known_at = match read(queue, heard).await {
            Ok((sketch, slot)) => {
                let known_at = requested_at.checked_sub(sketch.age()).unwrap_or(requested_at);
                line.put(sketch, slot, known_at, losses);
                Some(known_at)
            }
            Err(error) => {
                // The last one answers until it is too old. Redis being down is logged once, by the
                // connection.
                tracing::debug!(queue = queue.name(), %error, "no sketch");
                None
            }
        };
        line.failed.store(known_at.is_none(), Ordering::Relaxed);
        line.read.notify_waiters();
        known_at
    }
}

/// Reports who was answered without Redis since the last time. What Redis does not take because it
/// fails is to be reported later: those visitors may not poll again in this slot. Returns whether
/// Redis has taken all.
pub async fn report_polls(queue: &QueueState) -> bool {
    let mut unsent = queue.line.pending.take();
    while let Some(polled) = unsent.last() {
        let marked = queue.queue.mark_seen(polled).await;
        if marked != Ok(true) {
            queue.line.unmarked.store(true, Ordering::Release);
        }
        if marked.is_err() {
            return false;
        }
        unsent.pop();
    }
    true
}

/// A sketch, after which no place that has left the line counts as reported; and with the rule
/// which tickets were seen in the present slot.
async fn read(queue: &QueueState, heard: bool) -> Result<(Sketch, Option<Arc<Slot>>), Error> {
    let line = &queue.line;
    let sketch = queue.queue.sketch(heard, SHARED_FOR).await?;
    let (Some(front), true) = (sketch.front(), sketch.local_answers) else {
        return Ok((sketch, None));
    };
    let since = line.departed.load().as_deref().copied();
    let Departures { upto, tickets } = queue.queue.departures(since).await?;
    match tickets {
        Some(tickets) => tickets.iter().for_each(|ticket| line.forget(*ticket)),
        None => _ = line.unnamed.fetch_add(1, Ordering::AcqRel),
    }
    if !since.is_some_and(|since| since.continues_in(&upto)) {
        line.unmarked.store(true, Ordering::Release);
    }
    line.departed.store(Some(Arc::new(upto)));
    if upto.server.is_none() {
        // It could be another one each time.
        return Ok((sketch, None));
    }
    let is_unmarked = line.unmarked.load(Ordering::Acquire);
    let last = line.seen.load_full().and_then(|line| line.slot.clone()).filter(|_| !is_unmarked);
    let fits = |slot: &Arc<Slot>| {
        let is_present =
            (slot.seen.slot.epoch, Some(slot.seen.slot.opened_at)) == (sketch.epoch, sketch.slot);
        is_present && slot.requested_at.elapsed() < SEEN_EVERY
    };
    if let Some(slot) = last.as_ref().filter(|slot| fits(slot)) {
        let slot = Some(slot.clone());
        return Ok((sketch, slot));
    }
    let requested_at = Instant::now();
    let Some(seen) = queue.queue.seen(front).await?.map(Arc::new) else {
        return Ok((sketch, None));
    };
    let before = last.and_then(|last| {
        if seen.follows(&last.seen) {
            Some(last.seen.clone())
        } else {
            last.before.clone().filter(|before| seen.follows(before))
        }
    });
    line.unmarked.store(false, Ordering::Release);
    Ok((sketch, Some(Arc::new(Slot { seen, before, requested_at }))))
}
