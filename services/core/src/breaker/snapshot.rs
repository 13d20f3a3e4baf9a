//! What is known of a target.

use std::time::Duration;

use super::{Breaker, LATENCY_BOUNDS_MS, Rules, State, Totals, Window, latency, scripts};
use crate::store::{Args, Error, Numbers, Repeat, Reply};

/// A target as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Whether calls go on.
    pub state: State,
    /// The version of the last change of state, which only grows; 0 while the store knows nothing
    /// of the target.
    pub version: u64,
    /// Outcomes in the window that were successes.
    pub successes: u64,
    /// Outcomes in the window that were failures.
    pub failures: u64,
    /// Outcomes in the window with a latency, by [`LATENCY_BOUNDS_MS`].
    pub latencies: [u64; LATENCY_BOUNDS_MS.len() + 1],
    /// How many reporters were heard within the window, of at most 64 that are known.
    pub reporters: u64,
    /// How many permits are in use while it is half open; 0 in the other states.
    pub permits: u64,
    /// How long ago the last outcome was; `None` while the store knows of none.
    pub last_outcome_ago: Option<Duration>,
    /// Everything that was ever reported.
    pub totals: Totals,
}

impl Snapshot {
    /// The window.
    pub fn window(&self) -> Window {
        Window { successes: self.successes, failures: self.failures, state: self.state }
    }

    /// The latency in milliseconds that this percentile of the window does not exceed, as the upper
    /// bound of a bucket; `None` without latencies.
    pub fn latency_percentile_ms(&self, percent: u64) -> Option<u64> {
        latency::percentile(&self.latencies, percent)
    }
}

impl Breaker {
    /// Looks at the target. Counts nothing, but a change of state that time has brought is found.
    pub async fn snapshot(&self, rules: &Rules) -> Result<Snapshot, Error> {
        let mut args = Args::new();
        self.0.clock.push_to(&mut args);
        rules.push_to(&mut args);
        let script = &scripts::SNAPSHOT;
        let keys = script.keys_of(&self.0.name);
        let reply = self.0.store.call(script, &keys, &args, Repeat::IfUnknown).await?;
        let mut numbers = Reply::of(script.name, reply)?.numbers()?;
        let (state, version) = (State::read(&mut numbers)?, numbers.count()?);
        let snapshot = Snapshot {
            state,
            version,
            successes: numbers.count()?,
            failures: numbers.count()?,
            reporters: numbers.count()?,
            permits: numbers.count()?,
            last_outcome_ago: u64::try_from(numbers.integer()?).ok().map(Duration::from_micros),
            latencies: latencies(&mut numbers)?,
            totals: Totals {
                successes: numbers.count()?,
                failures: numbers.count()?,
                latencies: latencies(&mut numbers)?,
            },
        };
        numbers.end()?;
        Ok(snapshot)
    }
}

fn latencies(numbers: &mut Numbers) -> Result<latency::Latencies, Error> {
    let mut latencies = latency::Latencies::default();
    for count in &mut latencies {
        *count = numbers.count()?;
    }
    Ok(latencies)
}
