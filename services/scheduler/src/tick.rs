//! The kinds of ticks, and how often each comes.

use std::time::Duration;

use anteroom_runtime::config::SchedulerConfig;

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
}

impl Tick {
    /// Every kind, in the order of the variants.
    pub const ALL: [Self; 5] =
        [Self::Promote, Self::Sweep, Self::Snapshot, Self::PoolSweep, Self::PoolSnapshot];

    /// The label.
    pub fn name(self) -> &'static str {
        match self {
            Self::Promote => "promote",
            Self::Sweep => "sweep",
            Self::Snapshot => "snapshot",
            Self::PoolSweep => "pool_sweep",
            Self::PoolSnapshot => "pool_snapshot",
        }
    }

    /// Between two starts, as shares of the interval: spread, so that many schedulers do not beat
    /// together.
    pub fn spread(self) -> (f64, f64) {
        match self {
            // Never early: a slice that is not due yet would wait for the next tick.
            Self::Promote => (1.0, 1.2),
            // Never late: gauges are at most 5 s old, which is also the longest interval.
            Self::Sweep | Self::Snapshot | Self::PoolSweep | Self::PoolSnapshot => (0.75, 0.95),
        }
    }

    /// Between two starts, in the configuration.
    pub fn interval(self, config: &SchedulerConfig) -> Duration {
        match self {
            Self::Promote => config.tick,
            Self::Sweep => config.sweep_tick,
            // A hold goes back within a second of its end.
            Self::PoolSweep => config.sweep_tick.min(Duration::from_secs(1)),
            Self::Snapshot | Self::PoolSnapshot => config.snapshot_tick,
        }
    }
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
