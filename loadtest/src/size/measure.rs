//! What a step of the search asks of a driver, and what it gets.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::steady::Visits;
use crate::client::Route;
use crate::load::open::{Arrivals, Open, play};
use crate::load::{Measurement, Tally};
use crate::own_limit::{OwnLimit, Watch};
use crate::scenario::Scenario;
use crate::share::Share;

/// Offers a load and returns what came of it: visitors arrive whatever the service does (an open
/// model), so waiting is not hidden.
pub trait Measure {
    /// Offers it.
    fn at(&self, load: &Load) -> impl Future<Output = anyhow::Result<Measured>>;

    /// The least warm-up.
    fn warm_up(&self) -> Duration {
        Duration::ZERO
    }
}

/// What is offered.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Visitors a second.
    pub rate: f64,
    /// How they follow each other.
    pub arrivals: Arrivals,
    /// So long they come before they are looked at, until the load is steady.
    pub warm_up: Duration,
    /// And so long they are looked at.
    pub length: Duration,
}

/// What came of a load.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Its requests, but for those that had no connection here.
    pub total: Tally,
    /// The requests of each step.
    pub steps: Vec<Tally>,
    /// Visitors who came.
    pub arrived: f64,
    /// The mean length of a visit.
    pub stay: Duration,
    /// The warm-up after which this load is steady: its own, if that was long enough.
    pub steady_after: Duration,
    /// By how much what a visitor waits for in a visit grows from one second to the next, in
    /// seconds. A service that cannot keep up has a line that grows by its overload: at 1.1 times
    /// what it can do, a visitor who comes a second later waits about a tenth of a second longer.
    pub growth: f64,
    /// The limit of this program, if it was at one.
    pub own_limit: Option<OwnLimit>,
    /// Visitors who arrived while as many as allowed were under way.
    pub unplayed: u64,
}

/// Visitors who walk a scenario, each with a connection of their own.
pub struct Visitors {
    /// What they do.
    pub scenario: Arc<Scenario>,
    /// The way to the service.
    pub route: Arc<Route>,
    /// Of each request.
    pub timeout: Duration,
    /// Visits under way at most.
    pub max_in_flight: usize,
}

impl Measure for Visitors {
    async fn at(&self, load: &Load) -> anyhow::Result<Measured> {
        let Load { rate, arrivals, warm_up, length } = *load;
        let open = Open {
            rate,
            arrivals,
            length: warm_up + length,
            warm_up,
            max_in_flight: self.max_in_flight,
            share: Share::WHOLE,
            timeout: self.timeout,
        };
        // It ends when it is dropped.
        let never = CancellationToken::new();
        let watch = Watch::start();
        let measured = play(&self.scenario, &self.route, &open, &never, |_| {}).await?;
        // Visits that think nowhere are looked at from the first to the last, with what they try
        // again at the end; of those that think, all requests in a stretch of time.
        let thinks = !warm_up.is_zero();
        let (figures, arrived) = if thinks {
            (&measured.window, rate * measured.window.length.as_secs_f64())
        } else {
            (&measured.whole, measured.visits_begun as f64)
        };
        let visits = Visits::of(&self.scenario, &figures.steps);
        let steady_after =
            if thinks { visits.steady_after(warm_up, length) } else { Duration::ZERO };
        // What had no connection here did not reach the service.
        let mut total = figures.total.clone();
        let own_limit = OwnLimit::of_faults(&total.faults, total.requests);
        total.forget_own();
        Ok(Measured {
            total,
            steps: figures.steps.clone(),
            arrived,
            stay: visits.stay,
            steady_after,
            growth: growth(&measured, rate),
            own_limit: own_limit.or_else(|| watch.cost_so_far().limit()),
            unplayed: measured.visits_not_begun,
        })
    }

    /// Where visitors think, until those who try nothing again end their visits.
    fn warm_up(&self) -> Duration {
        self.scenario.longest_think()
    }
}

/// [`Measured::growth`]: between the median latency of each step in the first third of the window
/// and that in the last, so that single slow answers say nothing; steps count by the requests of a
/// visitor.
fn growth(measured: &Measurement, rate: f64) -> f64 {
    let window = &measured.window;
    let visitors = rate * window.length.as_secs_f64();
    let apart = window.length.as_secs_f64() * 2.0 / 3.0;
    let steps = window.steps.iter().zip(&measured.thirds);
    let grown = steps.filter(|(_, thirds)| thirds.iter().all(|third| third.count() > 0));
    let grown = grown.map(|(tally, thirds)| {
        let [first, last] = thirds.each_ref().map(|third| third.quantile(0.5).as_secs_f64());
        (last - first) * tally.requests as f64
    });
    let grown: f64 = grown.sum();
    if visitors * apart > 0.0 { grown / visitors / apart } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Durations, Figures};

    fn measured(latency: impl Fn(f64) -> f64) -> Measurement {
        let mut thirds = <[Durations; 2]>::default();
        for (third, from) in thirds.iter_mut().zip([0.0, 2.0]) {
            for n in 0..100 {
                third.note(Duration::from_secs_f64(latency(from + f64::from(n) / 100.0)));
            }
        }
        let total = Tally { requests: 300, ..Tally::default() };
        let length = Duration::from_secs(3);
        let window = Figures { length, steps: vec![total.clone()], total, ..Figures::default() };
        Measurement { window, thirds: vec![thirds], ..Measurement::default() }
    }

    #[test]
    fn a_line_that_grows_shows_and_a_hiccup_does_not() {
        assert!((growth(&measured(|at| 0.02 + 0.1 * at), 100.0) - 0.1).abs() < 0.01);
        let hiccup = |at: f64| if (2.5..2.7).contains(&at) { 0.5 } else { 0.02 };
        assert!(growth(&measured(hiccup), 100.0).abs() < 1e-9);
        assert!(growth(&Measurement::default(), 100.0).abs() < 1e-9);
    }
}
