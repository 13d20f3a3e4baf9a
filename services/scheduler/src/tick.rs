//! A kind of tick, and when it comes.
//!
//! A tick is timed from the start of the one before and begins after its end, so ticks of one kind
//! never overlap and missed ones are not made up.

use std::time::Duration;

use anteroom_config::Config;
use anteroom_core::store::Error;
use rand::Rng as _;
use tokio::time::{Instant, sleep_until};

use crate::entity::{Entity, Served};

/// A kind of tick. Those of a kind of entity are listed as
/// [`Scheduled::TICKS`](crate::entity::Scheduled::TICKS).
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    /// The label.
    pub name: &'static str,
    /// Between two starts, as shares of the interval: spread, so that many schedulers do not beat
    /// together.
    pub spread: (f64, f64),
    /// Between two starts for the entity of this name.
    pub interval: fn(&Config, &str) -> Duration,
}

/// The [`spread`](Tick::spread) of a tick that is never late: gauges are at most 5 s old, which is
/// also the longest interval, and an issuer that missed a message is woken within its time.
pub const NEVER_LATE: (f64, f64) = (0.75, 0.95);

impl Tick {
    /// The tick of this name that reads the gauges.
    pub const fn snapshot(name: &'static str) -> Self {
        Self { name, spread: NEVER_LATE, interval: |config, _| config.scheduler.snapshot_tick }
    }
}

/// Ticks until the entity is no longer served. A tick in hand is finished.
pub async fn keep<E: Entity>(tick: &Tick, entity: &E, run: impl AsyncFn(&E) -> Result<(), Error>) {
    let served = entity.served();
    let metrics = served.shared.metrics.of_tick(tick);
    let mut next = Instant::now() + pause(tick, served, (0.0, 1.0));
    loop {
        tokio::select! {
            () = served.stop.cancelled() => return,
            () = sleep_until(next) => {}
        }
        let begun = Instant::now();
        let result = run(entity).await;
        served.note(tick.name, &result);
        metrics.count(begun.elapsed(), result.is_ok());
        next = begun + pause(tick, served, tick.spread);
    }
}

/// A random time between these shares of the interval in force.
fn pause(tick: &Tick, served: &Served, (least, most): (f64, f64)) -> Duration {
    let interval = (tick.interval)(&served.config(), &served.name);
    interval.mul_f64(rand::rng().random_range(least..=most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_gauge_gets_older_than_five_seconds() {
        let longest = Duration::from_secs(5).mul_f64(NEVER_LATE.1);
        assert!(longest <= Duration::from_millis(4_750), "a quarter of a second for the call");
    }
}
