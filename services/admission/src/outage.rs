//! `on_store_error = "open"`: how many pass while the store is away, and for how long.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anteroom_runtime::config::Rate;

use crate::defences::Gcra;

/// The opening of one queue. It begins with the first failure after a success.
#[derive(Debug)]
pub struct Opening {
    since: Mutex<Option<Instant>>,
    passed: Gcra<()>,
}

impl Default for Opening {
    fn default() -> Self {
        Self { since: Mutex::default(), passed: Gcra::new(1) }
    }
}

impl Opening {
    /// The store answered: the next failure begins a new opening.
    pub fn over(&self) {
        let mut since = self.lock();
        if since.is_some() {
            *since = None;
        }
    }

    /// Whether one more may pass at `now`.
    pub fn admit(&self, rate: Rate, lasts: Duration, now: Instant) -> bool {
        let since = *self.lock().get_or_insert(now);
        now.saturating_duration_since(since) < lasts && self.passed.check((), rate, now).is_ok()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate { count: 10, window: Duration::from_secs(1) };
    const LASTS: Duration = Duration::from_secs(60);

    #[test]
    fn the_rate_is_kept_with_a_burst_of_one_window() {
        let opening = Opening::default();
        let start = Instant::now();
        let passed = (0..100).filter(|_| opening.admit(RATE, LASTS, start)).count();
        assert_eq!(passed, 10);
        let later = start + Duration::from_millis(500);
        let passed = (0..100).filter(|_| opening.admit(RATE, LASTS, later)).count();
        assert_eq!(passed, 5);
    }

    #[test]
    fn it_ends_and_begins_anew_only_after_the_store_answered() {
        let opening = Opening::default();
        let start = Instant::now();
        assert!(opening.admit(RATE, LASTS, start));
        assert!(!opening.admit(RATE, LASTS, start + LASTS));
        assert!(!opening.admit(RATE, LASTS, start + 10 * LASTS));
        opening.over();
        assert!(opening.admit(RATE, LASTS, start + 10 * LASTS));
    }
}
