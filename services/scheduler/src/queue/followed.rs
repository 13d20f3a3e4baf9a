//! The target that a queue follows, and what was told of it in the log: once when nobody reports to
//! it any more, once when somebody does again, and so each change of its state.

use std::sync::{Mutex, MutexGuard, PoisonError};

use anteroom_config::BreakerConfig;
use anteroom_core::breaker::{Breaker, Snapshot, State};
use anteroom_core::store::Store;

/// Nobody reports here, so nothing ever waits in a target's lanes.
const LANE_BOUND: usize = 1;

/// The target as the configuration named it last.
#[derive(Default)]
pub struct Followed(Mutex<Option<Open>>);

/// An open target.
struct Open {
    target: Breaker,
    /// It was told that nobody reports to it.
    silence_told: bool,
    /// The state that was told last; of one that is closed from the beginning nothing is.
    state_told: State,
}

impl Followed {
    /// The target of this name.
    pub fn open(&self, store: &Store, name: &str) -> Breaker {
        let mut open = self.lock();
        if let Some(open) = open.as_ref().filter(|open| open.target.name() == name) {
            return open.target.clone();
        }
        let target = Breaker::open(store, name, LANE_BOUND);
        *open =
            Some(Open { target: target.clone(), silence_told: false, state_told: State::Closed });
        target
    }

    /// The queue follows none any more.
    pub fn close(&self) {
        *self.lock() = None;
    }

    /// Tells when nobody reports to the target any more, and when somebody does again.
    pub fn note_silence(&self, queue: &str, snapshot: &Snapshot, rules: &BreakerConfig) {
        let is_silent = snapshot.last_outcome_ago.is_none_or(|ago| ago > rules.window);
        let mut open = self.lock();
        let Some(open) = open.as_mut().filter(|open| open.silence_told != is_silent) else {
            return;
        };
        open.silence_told = is_silent;
        let followed = open.target.name();
        if is_silent {
            tracing::warn!(queue, followed, "nobody reports to the target that the queue follows");
        } else {
            tracing::info!(queue, followed, "the target that the queue follows is reported to");
        }
    }

    /// Tells when the state of the target has changed, and so whether it pauses the queue.
    pub fn note_state(&self, queue: &str, state: State) {
        let mut open = self.lock();
        let Some(open) = open.as_mut().filter(|open| open.state_told != state) else {
            return;
        };
        open.state_told = state;
        let followed = open.target.name();
        match state {
            State::Open => {
                tracing::warn!(queue, followed, "the health of a target pauses promotion");
            }
            State::HalfOpen => {
                tracing::info!(queue, followed, "a few are promoted to find out how the target is");
            }
            State::Closed => {
                tracing::info!(queue, followed, "the target is well: the pace comes back");
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        // It is whole after every statement, so a panic elsewhere cannot have broken it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
