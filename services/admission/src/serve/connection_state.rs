//! What a connection is doing, in one word, so that the task that serves it and the one that evicts
//! it can never both have their way.
//!
//! | from                       | event                                 | to                      |
//! | -------------------------- | ------------------------------------- | ----------------------- |
//! | any but `Evicted`          | a request has come, or more of a body | `Busy`                  |
//! | `Busy`                     | its answer is whole                   | `AwaitsHead`, not heard |
//! | `Busy`                     | its answer is a stream                | `Streams`               |
//! | `Busy`                     | more of its body is needed            | `AwaitsBody`            |
//! | `AwaitsHead`               | bytes have come                       | `AwaitsHead`, heard     |
//! | `AwaitsHead`, `AwaitsBody` | eviction, unchanged since it was seen | `Evicted`               |
//!
//! `Evicted` is the end. Nobody but the connection's own task leaves `Busy`, so it may look and
//! then write.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What a connection is doing. Times are microseconds since it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionState {
    /// The client has to send a head; `heard` when a part of it has come.
    AwaitsHead { since_us: u64, heard: bool },
    /// The client has to send more of a body.
    AwaitsBody { since_us: u64 },
    /// A request is being answered.
    Busy,
    /// The client is sent a stream, and need not say anything any more.
    Streams,
    /// It was closed to make room for another one.
    Evicted,
}

impl ConnectionState {
    const TAG_SHIFT: u32 = 61;
    /// 73 000 years.
    const TIME: u64 = (1 << Self::TAG_SHIFT) - 1;

    const fn pack(self) -> u64 {
        let (tag, time_us) = match self {
            Self::AwaitsHead { since_us, heard: false } => (0, since_us),
            Self::AwaitsHead { since_us, heard: true } => (1, since_us),
            Self::AwaitsBody { since_us } => (2, since_us),
            Self::Busy => (3, 0),
            Self::Streams => (4, 0),
            Self::Evicted => (5, 0),
        };
        (tag << Self::TAG_SHIFT) | (time_us & Self::TIME)
    }

    const fn unpack(word: u64) -> Self {
        let since_us = word & Self::TIME;
        match word >> Self::TAG_SHIFT {
            0 => Self::AwaitsHead { since_us, heard: false },
            1 => Self::AwaitsHead { since_us, heard: true },
            2 => Self::AwaitsBody { since_us },
            3 => Self::Busy,
            4 => Self::Streams,
            _ => Self::Evicted,
        }
    }

    /// Since when the client is waited for; absent while it is not.
    pub const fn waits_since_us(self) -> Option<u64> {
        match self {
            Self::AwaitsHead { since_us, .. } | Self::AwaitsBody { since_us } => Some(since_us),
            Self::Busy | Self::Streams | Self::Evicted => None,
        }
    }
}

/// A [`ConnectionState`] that two tasks share, with its transitions.
#[derive(Debug)]
pub struct SharedConnectionState(AtomicU64);

impl SharedConnectionState {
    /// A new connection awaits its first head from its opening on.
    pub fn new() -> Self {
        Self(AtomicU64::new(ConnectionState::AwaitsHead { since_us: 0, heard: false }.pack()))
    }

    /// What it is doing now.
    pub fn get(&self) -> ConnectionState {
        ConnectionState::unpack(self.0.load(Relaxed))
    }

    /// A request has come, or more of its body. False after an eviction: nothing must be done for
    /// it.
    pub fn received(&self) -> bool {
        let busy = |word| {
            let evicted = ConnectionState::unpack(word) == ConnectionState::Evicted;
            (!evicted).then_some(ConnectionState::Busy.pack())
        };
        self.0.fetch_update(Relaxed, Relaxed, busy).is_ok()
    }

    /// What follows the present request, or a part of it. Only for the task that serves the
    /// connection.
    pub fn leave_busy(&self, next: ConnectionState) {
        if self.get() == ConnectionState::Busy {
            self.0.store(next.pack(), Relaxed);
        }
    }

    /// Bytes have come; of no interest unless they are the first of a head.
    pub fn heard(&self) {
        let word = self.0.load(Relaxed);
        if let ConnectionState::AwaitsHead { since_us, heard: false } =
            ConnectionState::unpack(word)
        {
            let heard = ConnectionState::AwaitsHead { since_us, heard: true }.pack();
            // Only an eviction can have come before.
            let _ = self.0.compare_exchange(word, heard, Relaxed, Relaxed);
        }
    }

    /// Evicts the connection if it still waits as it was seen to do.
    pub fn evict(&self, seen: ConnectionState) -> bool {
        let evicted = ConnectionState::Evicted.pack();
        seen.waits_since_us().is_some()
            && self.0.compare_exchange(seen.pack(), evicted, Relaxed, Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::ConnectionState::{AwaitsBody, AwaitsHead, Busy, Evicted, Streams};
    use super::*;

    /// Every state, at two times.
    const STATES: [ConnectionState; 9] = [
        AwaitsHead { since_us: 0, heard: false },
        AwaitsHead { since_us: 0, heard: true },
        AwaitsHead { since_us: 7, heard: false },
        AwaitsHead { since_us: 7, heard: true },
        AwaitsBody { since_us: 0 },
        AwaitsBody { since_us: 7 },
        Busy,
        Streams,
        Evicted,
    ];

    fn shared(state: ConnectionState) -> SharedConnectionState {
        SharedConnectionState(AtomicU64::new(state.pack()))
    }

    #[test]
    fn every_state_is_a_word_of_its_own() {
        for (index, state) in STATES.iter().enumerate() {
            assert_eq!(ConnectionState::unpack(state.pack()), *state);
            assert!(STATES[..index].iter().all(|other| other.pack() != state.pack()));
        }
        let far = AwaitsBody { since_us: ConnectionState::TIME };
        assert_eq!(ConnectionState::unpack(far.pack()), far);
    }

    #[test]
    fn each_event_leads_where_the_table_says() {
        for before in STATES {
            let state = shared(before);
            assert_eq!(state.received(), before != Evicted);
            assert_eq!(state.get(), if before == Evicted { Evicted } else { Busy });

            let state = shared(before);
            state.heard();
            let expected = match before {
                AwaitsHead { since_us, .. } => AwaitsHead { since_us, heard: true },
                other => other,
            };
            assert_eq!(state.get(), expected);

            for seen in STATES {
                let state = shared(before);
                let waits = matches!(before, AwaitsHead { .. } | AwaitsBody { .. });
                assert_eq!(state.evict(seen), waits && seen == before, "{before:?} {seen:?}");
                assert_eq!(state.get(), if waits && seen == before { Evicted } else { before });
            }
        }
        for (before, next) in STATES.iter().flat_map(|from| STATES.map(|to| (*from, to))) {
            let state = shared(before);
            state.leave_busy(next);
            assert_eq!(state.get(), if before == Busy { next } else { before });
        }
    }

    /// All interleavings of a connection's life with a look at it and an eviction by what was seen:
    /// either it was unchanged and nothing is done for it any more, or it goes on as if nothing had
    /// been tried.
    #[test]
    fn a_connection_is_evicted_or_served_but_never_both() {
        type Step = fn(&SharedConnectionState) -> bool;
        let heard: Step = |state| {
            state.heard();
            true
        };
        let received: Step = SharedConnectionState::received;
        let awaits_body: Step = |state| {
            state.leave_busy(AwaitsBody { since_us: 1 });
            true
        };
        let awaits_head: Step = |state| {
            state.leave_busy(AwaitsHead { since_us: 2, heard: false });
            true
        };
        let streams: Step = |state| {
            state.leave_busy(Streams);
            true
        };
        let first = [heard, received, awaits_body, heard, received, awaits_head];
        let task = [&first[..], &[heard, received, streams]].concat();
        let mut evictions = 0;
        for look in 0..=task.len() {
            for evict in look..=task.len() {
                let state = SharedConnectionState::new();
                let (mut seen, mut evicted, mut served) = (Busy, false, 0);
                for at in 0..=task.len() {
                    if at == look {
                        seen = state.get();
                    }
                    if at == evict {
                        let unchanged = state.get() == seen;
                        evicted = state.evict(seen);
                        let waits = seen.waits_since_us().is_some();
                        assert_eq!(evicted, unchanged && waits, "{look} {evict}");
                        evictions += u32::from(evicted);
                    }
                    match task.get(at).map(|step| step(&state)) {
                        Some(true) => served += 1,
                        // Its own task ends at the first request that it must not serve.
                        Some(false) | None => break,
                    }
                }
                assert_eq!(state.get() == Evicted, evicted, "{look} {evict}");
                assert_eq!(served == task.len(), !evicted, "{look} {evict}");
            }
        }
        assert_eq!(evictions, 7, "each look at a head or a body with nothing in between");
    }
}
