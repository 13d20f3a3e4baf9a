//! The target that a queue follows, and what the log shows of it: one line when reports stop, one
//! when they resume, and one for each change of its state.

use std::sync::{Mutex, MutexGuard, PoisonError};

use anteroom_config::BreakerConfig;
use anteroom_core::breaker::{Breaker, Snapshot, State};
use anteroom_core::store::Store;

/// The scheduler reports nothing, so nothing ever waits in a target's lanes.
const LANE_BOUND: usize = 1;

/// The target as the configuration named it last.
#[derive(Default)]
pub struct Followed(Mutex<Option<Open>>);

/// An open target.
struct Open {
    target: Breaker,
    /// The log shows that it gets no reports.
    silence_logged: bool,
    /// The state that the log showed last; closed at the beginning.
    state_logged: State,
}

impl Followed {
    /// The target of this name.
    pub fn open(&self, store: &Store, name: &str) -> Breaker {
        let mut open = self.lock();
        if let Some(open) = open.as_ref().filter(|open| open.target.name() == name) {
            return open.target.clone();
        }
        let target = Breaker::open(store, name, LANE_BOUND);
        *open = Some(Open {
            target: target.clone(),
            silence_logged: false,
            state_logged: State::Closed,
        });
        target
    }

    /// The queue follows none any more.
    pub fn close(&self) {
        *self.lock() = None;
    }

    /// Logs when reports to the target stop, and when they resume.
    pub fn note_silence(&self, queue: &str, snapshot: &Snapshot, rules: &BreakerConfig) {
        let is_silent = snapshot.last_outcome_ago.is_none_or(|ago| ago > rules.window);
        let mut open = self.lock();
        let Some(open) = open.as_mut().filter(|open| open.silence_logged != is_silent) else {
            return;
        };
        open.silence_logged = is_silent;
        let followed = open.target.name();
        if is_silent {
            tracing::warn!(queue, followed, "the target that the queue follows gets no reports");
        } else {
            tracing::info!(queue, followed, "the target that the queue follows gets reports");
        }
    }

    /// Logs when the state of the target has changed, and so whether it pauses the queue.
    pub fn note_state(&self, queue: &str, state: State) {
        let mut open = self.lock();
        let Some(open) = open.as_mut().filter(|open| open.state_logged != state) else {
            return;
        };
        open.state_logged = state;
        let followed = open.target.name();
        match state {
            State::Open => {
                tracing::warn!(queue, followed, "the target is open: admission is paused");
            }
            State::HalfOpen => {
                tracing::info!(
                    queue,
                    followed,
                    "the target is half open: a few visitors are admitted to test it"
                );
            }
            State::Closed => {
                tracing::info!(
                    queue,
                    followed,
                    "the target is closed: the admission rate returns in steps"
                );
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        // It is whole after every statement, so a panic elsewhere cannot have broken it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
