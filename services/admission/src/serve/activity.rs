//! What a connection is doing and since when, as its own task notes it: for the time-out of slow
//! heads, and for choosing the connection that makes room for another.
//!
//! hyper's time-out for heads sets a timer for each request and takes it back. This one notes a
//! time for each request, and looks at it once in the time-out.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::connection_state::{ConnectionState, SharedConnectionState};

/// What one connection is doing; clones are of the same connection.
#[derive(Clone, Debug)]
pub struct Activity {
    opened: Instant,
    state: Arc<SharedConnectionState>,
}

/// A connection that waits for its client, as it was when it was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// When the wait began.
    pub since: Instant,
    opened: Instant,
    state: ConnectionState,
}

impl Activity {
    /// Of a connection that is opened now.
    pub fn new() -> Self {
        Self { opened: Instant::now(), state: Arc::new(SharedConnectionState::new()) }
    }

    /// A request has come, or more of its body. False after an eviction: nothing must be done for
    /// it.
    pub fn received(&self) -> bool {
        self.state.received()
    }

    /// The answer is whole: the next head is awaited.
    pub fn answered(&self) {
        let since_us = self.micros(Instant::now());
        self.state.leave_busy(ConnectionState::AwaitsHead { since_us, heard: false });
    }

    /// The answer is a stream.
    pub fn streams(&self) {
        self.state.leave_busy(ConnectionState::Streams);
    }

    /// More of a body is awaited, and has been since then.
    pub fn awaits_body(&self, since: Instant) {
        self.state.leave_busy(ConnectionState::AwaitsBody { since_us: self.micros(since) });
    }

    /// Bytes have come from the client.
    pub fn heard(&self) {
        self.state.heard();
    }

    /// Whether nothing has come since the last answer, or since the connection was opened.
    pub fn is_silent(&self) -> bool {
        matches!(self.state.get(), ConnectionState::AwaitsHead { heard: false, .. })
    }

    /// Whether a request is being answered.
    pub fn is_busy(&self) -> bool {
        self.state.get() == ConnectionState::Busy
    }

    /// Whether more of a body is awaited.
    pub fn is_awaiting_body(&self) -> bool {
        matches!(self.state.get(), ConnectionState::AwaitsBody { .. })
    }

    /// The wait for the client; absent while it is not waited for.
    pub fn wait(&self) -> Option<Wait> {
        let state = self.state.get();
        let since = self.opened + Duration::from_micros(state.waits_since_us()?);
        Some(Wait { since, opened: self.opened, state })
    }

    /// When the connection was opened.
    pub fn opened(&self) -> Instant {
        self.opened
    }

    /// Whether the connection was evicted.
    pub fn is_evicted(&self) -> bool {
        self.state.get() == ConnectionState::Evicted
    }

    /// Evicts the connection; false when this wait is over, the client was heard since, or it is
    /// another connection's.
    pub fn evict(&self, wait: Wait) -> bool {
        wait.opened == self.opened && self.state.evict(wait.state)
    }

    /// Ends when a head has been awaited for longer than `limit`.
    pub async fn head_timeout(&self, limit: Duration) {
        let mut look = self.opened + limit;
        loop {
            sleep_until(look).await;
            look = match self.state.get() {
                ConnectionState::AwaitsHead { since_us, .. } => {
                    self.opened + Duration::from_micros(since_us) + limit
                }
                _ => Instant::now() + limit,
            };
            if look <= Instant::now() {
                return;
            }
        }
    }

    fn micros(&self, at: Instant) -> u64 {
        // `ConnectionState` holds less than a u64 does, and more than any connection lasts.
        (at - self.opened).as_micros() as u64
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{sleep, timeout};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn a_client_that_sends_no_head_is_let_go_at_the_limit() {
        let (activity, begun) = (Activity::new(), Instant::now());
        activity.head_timeout(LIMIT).await;
        assert!(begun.elapsed() >= LIMIT && begun.elapsed() < LIMIT * 11 / 10);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_is_being_answered_has_its_time_again_behind_the_answer() {
        let activity = Activity::new();
        assert!(activity.received());
        let watched = {
            let activity = activity.clone();
            tokio::spawn(async move {
                activity.head_timeout(LIMIT).await;
                Instant::now()
            })
        };
        sleep(LIMIT * 5).await;
        activity.answered();
        let answered = Instant::now();
        let let_go = timeout(LIMIT * 3, watched).await.expect("let go").expect("no panic");
        assert!(let_go - answered >= LIMIT && let_go - answered <= LIMIT * 2);
    }

    #[test]
    fn who_was_heard_is_not_silent_and_waits_since_the_same_time() {
        let activity = Activity::new();
        let before = activity.wait().expect("it waits");
        assert!(activity.is_silent());
        activity.heard();
        assert!(!activity.is_silent());
        let heard = activity.wait().expect("it waits for the rest");
        assert_eq!(heard.since, before.since);
        assert!(!activity.evict(before));
        assert!(activity.received() && !activity.is_silent() && activity.is_busy());
        activity.answered();
        assert!(activity.is_silent());
    }

    #[test]
    fn a_body_is_awaited_since_its_head_came() {
        let activity = Activity::new();
        let head = activity.wait().expect("it waits for a head");
        assert!(activity.received());
        activity.awaits_body(activity.opened());
        let body = activity.wait().expect("it waits for a body");
        assert_eq!(body.since, activity.opened());
        assert!(!activity.evict(head), "that wait is over");
        assert!(activity.evict(body));
        assert!(activity.is_evicted() && !activity.received());
    }

    #[tokio::test(start_paused = true)]
    async fn the_wait_of_one_connection_evicts_no_other() {
        let before = Activity::new().wait().expect("it waits");
        sleep(LIMIT).await;
        assert!(!Activity::new().evict(before));
    }
}
