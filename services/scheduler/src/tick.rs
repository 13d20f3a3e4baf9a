//! The kinds of ticks, and how they are spread.

/// A kind of tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tick {
    /// The head of the line moves on.
    Promote,
    /// What has ended is cleared away.
    Sweep,
    /// The gauges of a queue are read.
    Snapshot,
    /// Claims of applications whose lease has ended go back.
    Reclaim,
    /// Issuers are woken.
    Kick,
    /// The gauges of an event are read.
    EventSnapshot,
}

impl Tick {
    /// Every kind, in the order of the variants.
    pub const ALL: [Self; 6] = [
        Self::Promote,
        Self::Sweep,
        Self::Snapshot,
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
            Self::Reclaim => "event.reclaim",
            Self::Kick => "event.kick",
            Self::EventSnapshot => "event.snapshot",
        }
    }

    /// Between two starts, as shares of the interval: spread, so that many schedulers do not beat
    /// together.
    pub fn spread(self) -> (f64, f64) {
        match self {
            // Never early: a slice that is not due yet would wait for the next tick.
            Self::Promote | Self::Reclaim => (1.0, 1.2),
            // Never late: gauges are at most 5 s old, which is also the longest interval, and who
            // missed a message is woken within its time.
            Self::Sweep | Self::Snapshot | Self::Kick | Self::EventSnapshot => (0.75, 0.95),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn no_gauge_gets_older_than_five_seconds() {
        let longest = Duration::from_secs(5).mul_f64(Tick::Snapshot.spread().1);
        assert!(longest <= Duration::from_millis(4_750), "a quarter of a second for the call");
    }
}
