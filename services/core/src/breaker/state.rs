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

impl State {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Closed, Self::Open, Self::HalfOpen];

    /// Its name in answers: `closed`, `open`, `half_open`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_those_of_the_scripts() {
        let lua = include_str!("../../../../lua/breaker/lib/rules.lua");
        let names = State::ALL.map(|state| state.name().to_uppercase()).join(", ");
        let numbers = State::ALL.map(|state| (state as u8).to_string()).join(", ");
        assert!(lua.contains(&format!("local {names} = {numbers}\n")));
    }

    #[test]
    fn without_outcomes_there_is_no_rate() {
        let window = |successes, failures| Window { successes, failures, state: State::Closed };
        assert_eq!(window(0, 0).success_rate(), None);
        assert_eq!(window(0, 2).success_rate(), Some(0.0));
        assert_eq!(window(3, 1).success_rate(), Some(0.75));
    }
}
