//! What a target is found to be.

use crate::numbered::numbered;

numbered! {
    /// Whether calls to a target go on.
    pub State {
        /// It is healthy.
        Closed = "closed",
        /// Its window was unhealthy: callers take their fallback.
        Open = "open",
        /// A few calls at a time find out whether it has recovered; all others take their fallback.
        HalfOpen = "half_open",
    }
}

impl State {
    /// Whether callers take their fallback.
    pub fn is_fallback(self) -> bool {
        self != Self::Closed
    }
}

/// What was reported within the window, and what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Outcomes that were successes.
    pub successes: u64,
    /// Outcomes that were failures.
    pub failures: u64,
    /// Whether calls go on.
    pub state: State,
}

impl Window {
    /// The share of the outcomes that were successes, 0 to 1; `None` without outcomes.
    pub fn success_rate(&self) -> Option<f64> {
        let outcomes = self.successes + self.failures;
        (outcomes > 0).then(|| self.successes as f64 / outcomes as f64)
    }
}

/// Upper bounds of the latency histogram in milliseconds; one more bucket holds what is slower.
pub const LATENCY_BOUNDS_MS: [u64; 13] =
    [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000];

/// Everything that was ever reported to a target: numbers that only grow, until the store forgets
/// the target and they restart at 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Outcomes that were successes.
    pub successes: u64,
    /// Outcomes that were failures.
    pub failures: u64,
    /// Outcomes with a latency, by [`LATENCY_BOUNDS_MS`].
    pub latencies: [u64; LATENCY_BOUNDS_MS.len() + 1],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_outcomes_there_is_no_rate() {
        let window = |successes, failures| Window { successes, failures, state: State::Closed };
        assert_eq!(window(0, 0).success_rate(), None);
        assert_eq!(window(0, 2).success_rate(), Some(0.0));
        assert_eq!(window(3, 1).success_rate(), Some(0.75));
    }
}
