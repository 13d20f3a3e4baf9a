//! The kinds of ticks, and when each comes.
//!
//! A tick is timed from the start of the one before and begins after its end, so ticks of one kind
//! never overlap and missed ones are not made up.

use std::time::Duration;

use anteroom_config::Config;
use anteroom_core::store::Error;
use rand::Rng as _;
use tokio::time::{Instant, sleep_until};

use crate::entity::{Entity, Served};

/// A kind of tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tick {
    /// The head of the line moves on.
    Promote,
    /// What has ended is cleared away.
    Sweep,
    /// The gauges are read.
    Snapshot,
    /// Of a pool: what ended holds had reserved is taken back.
    PoolSweep,
    /// Of a pool: the gauges are read.
    PoolSnapshot,
    /// Of an event: claims whose lease has ended go back.
    Reclaim,
    /// Of an event: issuers are woken.
    Kick,
    /// Of an event: the gauges are read.
    EventSnapshot,
}

impl Tick {
    /// Every kind, in the order of the variants.
    pub const ALL: [Self; 8] = [
        Self::Promote,
        Self::Sweep,
        Self::Snapshot,
        Self::PoolSweep,
        Self::PoolSnapshot,
        Self::Reclaim,
        Self::Kick,
        Self::EventSnapshot,
    ];

    /// The label.
    pub fn name(self) -> &'static str {
        match self {
            Self::Promote => "promote",
            Self::Sweep => "sweep",
            Self::Snapshot => "snapshot",
            Self::PoolSweep => "pool_sweep",
            Self::PoolSnapshot => "pool_snapshot",
            Self::Reclaim => "event_reclaim",
            Self::Kick => "event_kick",
            Self::EventSnapshot => "event_snapshot",
        }
    }

    /// Between two starts, as shares of the interval: spread, so that many schedulers do not beat
    /// together.
    pub fn spread(self) -> (f64, f64) {
        match self {
            // Never early: a slice that is not due yet would wait for the next tick.
            Self::Promote => (1.0, 1.2),
            // Never late: gauges are at most 5 s old, which is also the longest interval, and who
            // missed a message is woken within its time.
            Self::Sweep
            | Self::Snapshot
            | Self::PoolSweep
            | Self::PoolSnapshot
            | Self::Reclaim
            | Self::Kick
            | Self::EventSnapshot => (0.75, 0.95),
        }
    }

    /// Between two starts for the entity of this name, in the configuration.
    pub fn interval(self, config: &Config, name: &str) -> Duration {
        let scheduler = &config.scheduler;
        match self {
            Self::Promote => scheduler.tick,
            Self::Sweep => scheduler.sweep_tick,
            // A hold goes back within a second of its end.
            Self::PoolSweep => scheduler.sweep_tick.min(Duration::from_secs(1)),
            // Leases that end are found soon, and well within the second (`lua/event/lib/held.lua`)
            // after which a tick counts as missed.
            Self::Reclaim => scheduler.sweep_tick.min(Duration::from_millis(400)),
            Self::Snapshot | Self::PoolSnapshot | Self::EventSnapshot => scheduler.snapshot_tick,
            // Without any, the event has left the configuration and is about to be stopped.
            Self::Kick => config
                .events
                .get(name)
                .map_or(scheduler.snapshot_tick, |event| event.rules.kick_interval),
        }
    }
}

/// Ticks until the entity is no longer served. A tick in hand is finished.
pub async fn keep<E: Entity>(tick: Tick, entity: &E, run: impl AsyncFn(&E) -> Result<(), Error>) {
    let served = entity.served();
    let mut next = Instant::now() + pause(tick, served, (0.0, 1.0));
    loop {
        tokio::select! {
            () = served.stop.cancelled() => return,
            () = sleep_until(next) => {}
        }
        let begun = Instant::now();
        let result = run(entity).await;
        served.note(tick.name(), &result);
        served.shared.metrics.ticked(tick, begun.elapsed(), result.is_ok());
        next = begun + pause(tick, served, tick.spread());
    }
}

/// A random time between these shares of the interval in force.
fn pause(tick: Tick, served: &Served, (least, most): (f64, f64)) -> Duration {
    let interval = tick.interval(&served.config(), &served.name);
    interval.mul_f64(rand::rng().random_range(least..=most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_gauge_gets_older_than_five_seconds() {
        let longest = Duration::from_secs(5).mul_f64(Tick::Snapshot.spread().1);
        assert!(longest <= Duration::from_millis(4_750), "a quarter of a second for the call");
    }
}
