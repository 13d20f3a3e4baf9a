//! A connection whose client must send whole heads: from the answer to one request to the end of the
//! next one's head no more than the given time may pass.
//!
//! The framework has such a time-out, which sets and takes back a timer for each request. This one
//! notes a time for each request, and looks at it once in the time-out. It also tells since when a
//! connection waits for its client, whatever it waits for, for one that waits may have to go when
//! others come.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// The client is not waited for: a request is being answered.
const BUSY: u64 = u64::MAX;
/// It was waited for too long: the connection has to go.
const CLOSED: u64 = u64::MAX - 1;
/// Added while a body is awaited, which has a time-out, and an answer to it, of its own.
const BODY: u64 = 1 << 62;

/// Since when the client is waited for.
#[derive(Clone, Debug)]
pub struct Idle {
    opened: Instant,
    /// Microseconds after `opened`, or [`BUSY`] or [`CLOSED`].
    since: Arc<AtomicU64>,
}

impl Idle {
    /// Of a connection that is opened now.
    pub fn new() -> Self {
        Self { opened: Instant::now(), since: Arc::default() }
    }

    /// What was waited for has come. False when the connection has to go: nothing must be done for it.
    pub fn over(&self) -> bool {
        let over = |since| (since != CLOSED).then_some(BUSY);
        self.since.fetch_update(Relaxed, Relaxed, over).is_ok()
    }

    /// The answer is whole: the next head is awaited.
    pub fn begin(&self) {
        self.since.store(self.micros(Instant::now()), Relaxed);
    }

    /// A body is awaited, and has been since then.
    pub fn begin_body(&self, since: Instant) {
        self.since.store(self.micros(since) | BODY, Relaxed);
    }

    fn micros(&self, at: Instant) -> u64 {
        // A hundred thousand years fit.
        (at - self.opened).as_micros() as u64
    }

    /// Since when the client is waited for; absent while it is not.
    pub fn since(&self) -> Option<Instant> {
        let since = Some(self.since.load(Relaxed)).filter(|since| *since < CLOSED)?;
        Some(self.opened + Duration::from_micros(since & !BODY))
    }

    /// When the connection was opened.
    pub fn opened(&self) -> Instant {
        self.opened
    }

    /// Whether the connection had to go.
    pub fn is_closed(&self) -> bool {
        self.since.load(Relaxed) == CLOSED
    }

    /// The connection has to go; false when what was waited for has come just now.
    pub fn close(&self) -> bool {
        let close = |since| (since < CLOSED).then_some(CLOSED);
        self.since.fetch_update(Relaxed, Relaxed, close).is_ok()
    }

    /// Ends when a head is awaited for longer than `limit`.
    pub async fn too_long(&self, limit: Duration) {
        let mut look = self.opened + limit;
        loop {
            sleep_until(look).await;
            let since = self.since.load(Relaxed);
            let since =
                if since < BODY { Duration::from_micros(since) } else { self.opened.elapsed() };
            look = self.opened + since + limit;
            if look <= Instant::now() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{sleep, timeout};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn a_client_that_sends_no_head_is_let_go_at_the_limit() {
        let (idle, begun) = (Idle::new(), Instant::now());
        idle.too_long(LIMIT).await;
        assert!(begun.elapsed() >= LIMIT && begun.elapsed() < LIMIT * 11 / 10);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_is_being_answered_is_not_idle_and_the_time_begins_anew_behind_the_answer()
     {
        let idle = Idle::new();
        assert!(idle.over());
        let watched = {
            let idle = idle.clone();
            tokio::spawn(async move {
                idle.too_long(LIMIT).await;
                Instant::now()
            })
        };
        sleep(LIMIT * 5).await;
        idle.begin();
        let answered = Instant::now();
        let let_go = timeout(LIMIT * 3, watched).await.expect("let go").expect("no panic");
        assert!(let_go - answered >= LIMIT && let_go - answered <= LIMIT * 2);
    }

    #[test]
    fn who_is_being_answered_cannot_be_closed_and_for_who_is_closed_nothing_is_done() {
        let idle = Idle::new();
        assert!(idle.over());
        assert!(!idle.close() && idle.since().is_none());
        idle.begin();
        assert!(idle.since().is_some());
        idle.begin_body(idle.opened());
        assert_eq!(idle.since(), Some(idle.opened()));
        assert!(idle.close());
        assert!(!idle.over());
    }
}
