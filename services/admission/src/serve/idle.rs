//! A connection whose client must send whole heads: from the answer to one request to the end of the
//! next one's head no more than the given time may pass.
//!
//! The framework has such a time-out, which sets and takes back a timer for each request. This one
//! notes a time for each request, and looks at it once in the time-out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// No head is awaited: a request is being answered.
const BUSY: u64 = u64::MAX;

/// Since when the next head is awaited.
#[derive(Clone, Debug)]
pub struct Idle {
    opened: Instant,
    /// Microseconds after `opened`, or [`BUSY`].
    since: Arc<AtomicU64>,
}

impl Idle {
    /// Of a connection that is opened now.
    pub fn new() -> Self {
        Self { opened: Instant::now(), since: Arc::default() }
    }

    /// A head has come.
    pub fn over(&self) {
        self.since.store(BUSY, Relaxed);
    }

    /// Its answer is whole: the next head is awaited.
    pub fn begin(&self) {
        // Half a million years fit.
        self.since.store(self.opened.elapsed().as_micros() as u64, Relaxed);
    }

    /// Ends when a head is awaited for longer than `limit`.
    pub async fn too_long(&self, limit: Duration) {
        let mut look = self.opened + limit;
        loop {
            sleep_until(look).await;
            look = match self.since.load(Relaxed) {
                BUSY => Instant::now() + limit,
                since => self.opened + Duration::from_micros(since) + limit,
            };
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
        idle.over();
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
}
