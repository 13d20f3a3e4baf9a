//! What a step of the search asks of a driver, and what it gets.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use hdrhistogram::Histogram;

/// How visitors follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// At equal distances, as the waiting room lets them in at an even pace.
    Even,
    /// All of an interval at once at its start.
    Batches(Duration),
}

/// Offers a load and tells what came of it: visitors arrive whatever the service does (an open
/// model), so waiting is not hidden.
pub trait Measure {
    /// Visitors arrive at this rate for so long. Whoever is under way at the end is given some time
    /// to finish, and counts as failed after it.
    ///
    /// # Errors
    ///
    /// When it could not be done at all, such as when nobody answers at the target.
    fn at(
        &self,
        visitors_per_second: f64,
        arrivals: Arrivals,
        length: Duration,
    ) -> impl Future<Output = anyhow::Result<Measured>>;
}

/// What came of a load.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Of each request in µs, a first one from its intended start.
    pub latency: Histogram<u64>,
    /// Visitors who came.
    pub arrived: u64,
    /// Requests that were made.
    pub requests: u64,
    /// Those among them that their visit had made before.
    pub again: u64,
    /// Those that brought nothing: no answer, not in time, not as expected.
    pub failed: u64,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Visits that came to their end.
    pub visits: u64,
    /// The mean length of these.
    pub stay: Duration,
    /// By how much the latency of visitors grows from one second to the next, in seconds. A service
    /// that cannot keep up has a line that grows by its overload: at 1.1 times what it can do,
    /// whoever comes a second later waits about a tenth of a second longer.
    pub growth: f64,
    /// How late the driver itself began, at its 95th percentile.
    pub driver_late: Duration,
}

impl Default for Measured {
    fn default() -> Self {
        Self {
            latency: Histogram::new(3).expect("three digits are allowed"),
            arrived: 0,
            requests: 0,
            again: 0,
            failed: 0,
            statuses: BTreeMap::new(),
            visits: 0,
            stay: Duration::ZERO,
            growth: 0.0,
            driver_late: Duration::ZERO,
        }
    }
}

impl Measured {
    /// Requests made ÷ those that the same visits need when nothing is tried again; 1 of none.
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
    pub fn retry_factor(&self) -> f64 {
        let first = self.requests.saturating_sub(self.again);
        if first == 0 { 1.0 } else { self.requests as f64 / first as f64 }
    }
}

/// [`Measured::growth`] of latencies in the order of their arrivals, in seconds: between the median
/// of the first third and that of the last, so that single slow answers say nothing.
pub fn growth(mut arrivals: Vec<(f64, f64)>) -> f64 {
    arrivals.sort_by(|one, other| one.0.total_cmp(&other.0));
    let third = arrivals.len() / 3;
    if third == 0 {
        return 0.0;
    }
    let median = |part: &[(f64, f64)]| {
        let mut values: Vec<_> = part.iter().map(|it| it.1).collect();
        values.sort_by(f64::total_cmp);
        (part[part.len() / 2].0, values[values.len() / 2])
    };
    let (first, last) = (median(&arrivals[..third]), median(&arrivals[arrivals.len() - third..]));
    let apart = last.0 - first.0;
    if apart > 0.0 { (last.1 - first.1) / apart } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::growth;

    #[test]
    fn a_line_that_grows_shows_and_a_hiccup_does_not() {
        let arrivals = |latency: &dyn Fn(f64) -> f64| {
            (0..300).map(|n| f64::from(n) / 100.0).map(|at| (at, latency(at))).collect()
        };
        assert!((growth(arrivals(&|at| 0.02 + 0.1 * at)) - 0.1).abs() < 0.01);
        let hiccup = |at: f64| if (2.5..2.7).contains(&at) { 0.5 } else { 0.02 };
        assert!(growth(arrivals(&hiccup)).abs() < 1e-9);
        assert!(growth(vec![(0.0, 1.0); 2]).abs() < 1e-9);
    }
}
