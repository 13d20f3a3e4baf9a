//! The newest window of a target that this process has seen, for answers while Redis is down.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anteroom_core::breaker::Window;

/// An older window is no answer.
const KNOWN_FOR: Duration = Duration::from_secs(5);

/// The window that Redis returned last, and when.
#[derive(Debug, Default)]
pub struct LastKnown(Mutex<Option<(Instant, Window)>>);

impl LastKnown {
    /// Notes the window that Redis has just returned.
    pub fn note(&self, window: Window) {
        self.note_at(Instant::now(), window);
    }

    /// The window, if it is recent enough.
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
    fn the_last_known_window_is_an_answer_for_five_seconds() {
        let (known, start) = (LastKnown::default(), Instant::now());
        assert_eq!(known.get_at(start), None);
        let window = Window { successes: 1, failures: 2, state: State::Open };
        known.note_at(start, window);
        assert_eq!(known.get_at(start + KNOWN_FOR), Some(window));
        assert_eq!(known.get_at(start + KNOWN_FOR + Duration::from_nanos(1)), None);
    }
}
