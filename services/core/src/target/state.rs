//! What a target is found to be.

/// Whether calls to a target go on. The scripts name the same numbers, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It is healthy.
    Closed = 1,
    /// Its window was unhealthy: callers take their fallback.
    Open = 2,
    /// A few calls at a time find out whether it has recovered; all others take their fallback.
    HalfOpen = 3,
}

/// Upper bounds of the latency histogram in milliseconds; one more bucket holds what is slower.
pub const LATENCY_BOUNDS_MS: [u64; 13] =
    [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000];

/// Everything that was ever reported to a target: numbers that only grow, until the store forgets
/// the target and they begin anew at 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Outcomes that were successes.
    pub successes: u64,
    /// Outcomes that were failures.
    pub failures: u64,
    /// Outcomes with a latency, by [`LATENCY_BOUNDS_MS`].
    pub latencies: [u64; LATENCY_BOUNDS_MS.len() + 1],
}
