//! What a connection is doing and since when, as its own task notes it: for the time-out of slow
//! heads, and for choosing the connection that makes room for another.
//!
//! | from                       | event                                | to                      |
//! | -------------------------- | ------------------------------------ | ----------------------- |
//! | any but `Evicted`          | a request arrives, or more of a body | `Busy`                  |
//! | `Busy`                     | its answer is whole                  | `AwaitsHead`, not begun |
//! | `Busy`                     | its answer is a stream               | `Streams`               |
//! | `Busy`                     | more of its body is needed           | `AwaitsBody`            |
//! | `AwaitsHead`               | bytes arrive                         | `AwaitsHead`, begun     |
//! | `AwaitsHead`, `AwaitsBody` | eviction, unchanged since seen       | `Evicted`, the end      |
//!
//! hyper's own time-out for heads sets a timer for each request and takes it back. This one notes a
//! time for each request, and looks at it once in the time-out.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// What one connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionState {
    /// The client has to send a head; `begun` when a part of it has arrived.
    AwaitsHead { since: Instant, begun: bool },
    /// The client has to send more of a body.
    AwaitsBody { since: Instant },
    /// A request is being answered.
    Busy,
    /// The answer is a stream: the client need not send any more.
    Streams,
    /// It was closed to make room for another one.
    Evicted,
}

impl ConnectionState {
    /// Since when Anteroom waits for the client; absent while it does not.
    pub fn waits_since(self) -> Option<Instant> {
        match self {
            Self::AwaitsHead { since, .. } | Self::AwaitsBody { since } => Some(since),
            Self::Busy | Self::Streams | Self::Evicted => None,
        }
    }
}

/// The state of one connection, which its own task and the one that evicts it share.
#[derive(Clone, Debug)]
pub struct Activity(Arc<Mutex<ConnectionState>>);

impl Activity {
    /// A new connection awaits its first head.
    pub fn new() -> Self {
        let state = ConnectionState::AwaitsHead { since: Instant::now(), begun: false };
        Self(Arc::new(Mutex::new(state)))
    }

    /// What it is doing now.
    pub fn state(&self) -> ConnectionState {
        *self.lock()
    }

    /// A request has arrived, or more of its body. False after an eviction: the request must have
    /// no effect.
    pub fn received(&self) -> bool {
        let mut state = self.lock();
        if *state == ConnectionState::Evicted {
            return false;
        }
        *state = ConnectionState::Busy;
        true
    }

    /// The answer is whole: the next head is awaited.
    pub fn answered(&self) {
        self.leave_busy(ConnectionState::AwaitsHead { since: Instant::now(), begun: false });
    }

    /// The answer is a stream.
    pub fn streams(&self) {
        self.leave_busy(ConnectionState::Streams);
    }

    /// More of a body is awaited, and has been since then.
    pub fn awaits_body(&self, since: Instant) {
        self.leave_busy(ConnectionState::AwaitsBody { since });
    }

    /// Bytes have arrived from the client.
    pub fn heard(&self) {
        if let ConnectionState::AwaitsHead { begun, .. } = &mut *self.lock() {
            *begun = true;
        }
    }

    /// Evicts the connection if Anteroom still waits for its client as it was seen to do.
    pub fn evict(&self, seen: ConnectionState) -> bool {
        let mut state = self.lock();
        let unchanged = *state == seen && seen.waits_since().is_some();
        if unchanged {
            *state = ConnectionState::Evicted;
        }
        unchanged
    }

    /// Ends when a head has been awaited for longer than `limit`.
    pub async fn head_timeout(&self, limit: Duration) {
        let mut look = Instant::now() + limit;
        loop {
            sleep_until(look).await;
            let now = Instant::now();
            look = match self.state() {
                ConnectionState::AwaitsHead { since, .. } => since + limit,
                _ => now + limit,
            };
            if look <= now {
                return;
            }
        }
    }

    fn leave_busy(&self, next: ConnectionState) {
        let mut state = self.lock();
        if *state == ConnectionState::Busy {
            *state = next;
        }
    }

    fn lock(&self) -> MutexGuard<'_, ConnectionState> {
        // It is whole after every statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{sleep, timeout};

    use super::ConnectionState::{AwaitsBody, AwaitsHead, Busy, Evicted, Streams};
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

    /// Each event in each state, and an eviction by each state that was seen.
    #[tokio::test(start_paused = true)]
    async fn each_event_leads_to_the_state_of_the_table() {
        let now = Instant::now();
        let states: Vec<_> = [now, now + LIMIT]
            .into_iter()
            .flat_map(|since| {
                let head = |begun| AwaitsHead { since, begun };
                [head(false), head(true), AwaitsBody { since }]
            })
            .chain([Busy, Streams, Evicted])
            .collect();
        let after = |before, event: &dyn Fn(&Activity)| {
            let activity = Activity(Arc::new(Mutex::new(before)));
            event(&activity);
            activity.state()
        };
        for before in states.iter().copied() {
            let served = if before == Evicted { Evicted } else { Busy };
            assert_eq!(after(before, &|it| assert_eq!(it.received(), before != Evicted)), served);
            let begun = match before {
                AwaitsHead { since, .. } => AwaitsHead { since, begun: true },
                other => other,
            };
            assert_eq!(after(before, &Activity::heard), begun);
            let left = |next| if before == Busy { next } else { before };
            let head = AwaitsHead { since: now, begun: false };
            assert_eq!(after(before, &Activity::answered), left(head));
            assert_eq!(after(before, &Activity::streams), left(Streams));
            let body = AwaitsBody { since: now };
            assert_eq!(after(before, &|it| it.awaits_body(now)), left(body));
            for seen in states.iter().copied() {
                let waits = matches!(before, AwaitsHead { .. } | AwaitsBody { .. });
                let evicted = waits && seen == before;
                let expected = if evicted { Evicted } else { before };
                assert_eq!(after(before, &|it| assert_eq!(it.evict(seen), evicted)), expected);
            }
        }
    }

    /// All interleavings of a connection's events with a look at it and an eviction by what was
    /// seen: either it was unchanged and is served no more, or it goes on as if nothing had been
    /// tried.
    #[tokio::test(start_paused = true)]
    async fn a_connection_is_evicted_or_served_but_never_both() {
        let opened = Instant::now();
        let at = |seconds| opened + Duration::from_secs(seconds);
        let heard = |it: &Activity| {
            it.heard();
            true
        };
        let body = |it: &Activity| {
            it.awaits_body(at(1));
            true
        };
        let head = |it: &Activity| {
            it.leave_busy(AwaitsHead { since: at(2), begun: false });
            true
        };
        let streams = |it: &Activity| {
            it.streams();
            true
        };
        let received = Activity::received;
        let task: [&dyn Fn(&Activity) -> bool; 9] =
            [&heard, &received, &body, &heard, &received, &head, &heard, &received, &streams];
        let mut evictions = 0;
        for look in 0..=task.len() {
            for evict in look..=task.len() {
                let activity = Activity::new();
                let (mut seen, mut evicted, mut served) = (Busy, false, 0);
                for step in 0..=task.len() {
                    if step == look {
                        seen = activity.state();
                    }
                    if step == evict {
                        let waits = seen.waits_since().is_some() && activity.state() == seen;
                        evicted = activity.evict(seen);
                        assert_eq!(evicted, waits, "{look} {evict}");
                        evictions += u32::from(evicted);
                    }
                    match task.get(step).map(|event| event(&activity)) {
                        Some(true) => served += 1,
                        // Its own task ends at the first request that it must not serve.
                        Some(false) | None => break,
                    }
                }
                assert_eq!(activity.state() == Evicted, evicted, "{look} {evict}");
                assert_eq!(served == task.len(), !evicted, "{look} {evict}");
            }
        }
        assert_eq!(evictions, 7, "each look at a head or a body with nothing in between");
    }
}
