//! What this process knew of a target last, for answers while the store is away.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anteroom_core::breaker::Window;

/// What is older is not told any more.
const KNOWN_FOR: Duration = Duration::from_secs(5);

/// The window that the store told last, and when.
#[derive(Debug, Default)]
pub struct LastKnown(Mutex<Option<(Instant, Window)>>);

impl LastKnown {
    /// Notes what the store has just told.
    pub fn note(&self, window: Window) {
        self.note_at(Instant::now(), window);
    }

    /// What is known, if it is young enough.
    pub fn get(&self) -> Option<Window> {
        self.get_at(Instant::now())
    }

    fn note_at(&self, at: Instant, window: Window) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((at, window));
    }

    fn get_at(&self, now: Instant) -> Option<Window> {
        let known = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, window) =
            known.filter(|(at, _)| now.saturating_duration_since(*at) <= KNOWN_FOR)?;
        Some(window)
    }
}

#[cfg(test)]
mod tests {
    use anteroom_core::breaker::State;

    use super::*;

    #[test]
    fn what_was_known_is_told_for_five_seconds() {
        let (known, start) = (LastKnown::default(), Instant::now());
        assert_eq!(known.get_at(start), None);
        let window = Window { successes: 1, failures: 2, state: State::Open };
        known.note_at(start, window);
        assert_eq!(known.get_at(start + KNOWN_FOR), Some(window));
        assert_eq!(known.get_at(start + KNOWN_FOR + Duration::from_nanos(1)), None);
    }
}
