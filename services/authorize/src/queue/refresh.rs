//! What this process reads again and again of a queue while there are requests: with the rule
//! `local_answers`, or for the board. A queue without requests costs Redis nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::state::QueueState;

/// Between two checks whether the rule has been switched on, or the queue is still configured.
const RULE_EVERY: Duration = Duration::from_secs(1);
/// After a failure, which costs Redis nothing while it is down.
const AGAIN: Duration = Duration::from_millis(200);

/// Something that is read again and again.
pub trait Refreshed {
    /// The time from one reading to the next: at most half as long as one may answer, so that the
    /// next may come late.
    const EVERY: Duration;
    /// Readings go on for so long after the last request.
    const REST_AFTER: Duration;

    /// Whether answers are made from it: with the rule.
    fn is_needed(queue: &QueueState) -> bool {
        queue.latest.local_answers()
    }

    /// Whether there are requests.
    fn in_use(queue: &QueueState) -> &InUse;

    /// There will be no reading for a while: nothing is answered from the last one. Called every
    /// second until the next reading.
    fn rest(queue: &QueueState) -> impl Future<Output = ()> + Send;

    /// Reads. Returns when it was made, for this process or another one, or `None` if it failed.
    fn read(queue: &QueueState) -> impl Future<Output = Option<Instant>> + Send;
}

/// Reads of one queue until `find` has it no longer.
pub async fn keep<R: Refreshed>(find: impl Fn() -> Option<Arc<QueueState>>) {
    let mut rest_at = Instant::now();
    while let Some(queue) = find() {
        if !R::is_needed(&queue) {
            R::rest(&queue).await;
            tokio::time::sleep(RULE_EVERY).await;
            continue;
        }
        let now = Instant::now();
        if R::in_use(&queue).was_noted() {
            rest_at = now + R::REST_AFTER;
        } else if now >= rest_at {
            R::rest(&queue).await;
            let _ = tokio::time::timeout(RULE_EVERY, R::in_use(&queue).until_noted()).await;
            continue;
        }
        // Another process that had it made reads again at the same time. So it is made once for
        // both.
        let next = R::read(&queue).await.map_or(now + AGAIN, |known_at| known_at + R::EVERY);
        tokio::time::sleep_until(next.into()).await;
    }
}

/// Notes whether there are requests.
#[derive(Debug, Default)]
pub struct InUse {
    noted: AtomicBool,
    wake: Notify,
}

impl InUse {
    /// There is a request: readings are worth their cost.
    pub fn note(&self) {
        // Seldom written, so that the processors do not fight for it.
        if !self.noted.load(Ordering::Relaxed) {
            self.noted.store(true, Ordering::Relaxed);
            self.wake.notify_one();
        }
    }

    /// Whether there was a request since the last call of this.
    pub fn was_noted(&self) -> bool {
        self.noted.swap(false, Ordering::Relaxed)
    }

    /// Waits for a request.
    pub async fn until_noted(&self) {
        while !self.noted.load(Ordering::Relaxed) {
            self.wake.notified().await;
        }
    }
}
