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
/// It is told events, and need not say anything any more.
const STREAM: u64 = u64::MAX - 1;
/// It was waited for too long: the connection has to go.
const CLOSED: u64 = u64::MAX - 2;
/// Added while a body is awaited, which has a time-out, and an answer to it, of its own.
const BODY: u64 = 1 << 62;
/// Added when something has come of what is awaited.
const HEARD: u64 = 1 << 61;

/// A wait for a client, as it was when it was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// When it began.
    pub since: Instant,
    opened: Instant,
    raw: u64,
}

/// Since when the client is waited for.
#[derive(Clone, Debug)]
pub struct Idle {
    opened: Instant,
    /// Microseconds after `opened`, or [`BUSY`], [`STREAM`] or [`CLOSED`].
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

    /// The answer is a stream.
    pub fn begin_stream(&self) {
        self.since.store(STREAM, Relaxed);
    }

    /// A body is awaited, and has been since then.
    pub fn begin_body(&self, since: Instant) {
        self.since.store(self.micros(since) | BODY, Relaxed);
    }

    /// Something has come from the client.
    pub fn hear(&self) {
        if self.since.load(Relaxed) < HEARD {
            self.since.fetch_or(HEARD, Relaxed);
        }
    }

    /// Whether nothing has come since the last answer, or since the connection was opened.
    pub fn is_silent(&self) -> bool {
        self.since.load(Relaxed) < HEARD
    }

    /// Whether the client is not waited for: its request is being answered.
    pub fn is_busy(&self) -> bool {
        self.since.load(Relaxed) == BUSY
    }

    fn micros(&self, at: Instant) -> u64 {
        // A hundred thousand years fit.
        (at - self.opened).as_micros() as u64
    }

    /// The wait for the client; absent while it is not waited for.
    pub fn wait(&self) -> Option<Wait> {
        let raw = Some(self.since.load(Relaxed)).filter(|since| *since < CLOSED)?;
        let since = self.opened + Duration::from_micros(raw & !(BODY | HEARD));
        Some(Wait { since, opened: self.opened, raw })
    }

    /// When the connection was opened.
    pub fn opened(&self) -> Instant {
        self.opened
    }

    /// Whether the connection had to go.
    pub fn is_closed(&self) -> bool {
        self.since.load(Relaxed) == CLOSED
    }

    /// The connection has to go; false when this wait is over, the client was heard of, or it is
    /// another connection's.
    pub fn close(&self, wait: Wait) -> bool {
        wait.opened == self.opened
            && self.since.compare_exchange(wait.raw, CLOSED, Relaxed, Relaxed).is_ok()
    }

    /// Ends when a head is awaited for longer than `limit`.
    pub async fn too_long(&self, limit: Duration) {
        let mut look = self.opened + limit;
        loop {
            sleep_until(look).await;
            let since = self.since.load(Relaxed);
            let since = if since < BODY {
                Duration::from_micros(since & !HEARD)
            } else {
                self.opened.elapsed()
            };
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
    fn who_was_heard_of_is_not_silent_until_the_next_wait_begins() {
        let idle = Idle::new();
        let before = idle.wait().expect("it waits");
        assert!(idle.is_silent());
        idle.hear();
        assert!(!idle.is_silent());
        let heard = idle.wait().expect("it waits for the rest");
        assert_eq!(heard.since, before.since, "and as long as before");
        assert!(!idle.close(before));
        assert!(idle.over() && !idle.is_silent() && idle.is_busy());
        idle.hear();
        assert!(idle.is_busy());
        idle.begin();
        assert!(idle.is_silent());
    }

    #[test]
    fn who_is_being_answered_cannot_be_closed_and_for_who_is_closed_nothing_is_done() {
        let idle = Idle::new();
        let before = idle.wait().expect("it waits for a head");
        assert!(idle.over());
        assert!(!idle.close(before) && idle.wait().is_none());
        idle.begin();
        let head = idle.wait().expect("it waits for the next one");
        idle.begin_body(idle.opened());
        let body = idle.wait().expect("it waits for a body");
        assert_eq!(body.since, idle.opened());
        assert!(!idle.close(head), "that wait is over");
        assert!(idle.close(body));
        assert!(!idle.over());
    }

    #[tokio::test(start_paused = true)]
    async fn the_wait_of_one_connection_closes_no_other() {
        let before = Idle::new().wait().expect("it waits");
        sleep(LIMIT).await;
        assert!(!Idle::new().close(before));
    }
}
