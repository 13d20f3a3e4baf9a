//! The rule of a limit.

use std::time::Duration;

/// The most units that the checks of a call may ask of `log` limits, all together: each is a member
/// of a set.
pub const MAX_LOG_COST: u64 = 100;

/// How units are counted: in the scripts, by the function of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Every unit by itself: exact.
    Log = 1,
    /// By two counters, of the present window and of the one before.
    Counter = 2,
    /// By the generic cell rate algorithm: a burst, then evenly.
    Gcra = 3,
}

impl Algorithm {
    /// All of them, with their names.
    pub const ALL: [(Self, &str); 3] =
        [(Self::Log, "log"), (Self::Counter, "counter"), (Self::Gcra, "gcra")];

    /// The highest `limit` that there may be.
    pub const fn max_limit(self) -> u32 {
        match self {
            Self::Log => 10_000,
            // Times the longest window in milliseconds, it is still a whole number to Lua.
            Self::Counter | Self::Gcra => 100_000_000,
        }
    }

    /// What its keys begin with, behind their hash tag. Each algorithm has keys of its own: a rule
    /// whose algorithm changes starts from zero.
    pub(super) const fn letter(self) -> u8 {
        match self {
            Self::Log => b'l',
            Self::Counter => b'c',
            Self::Gcra => b'g',
        }
    }
}

/// At most so many units in any window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// How they are counted.
    pub algorithm: Algorithm,
    /// How many units, 1 to [`Algorithm::max_limit`].
    pub limit: u32,
    /// In which time: whole seconds, 1 s to 24 h.
    pub window: Duration,
    /// Whether it refuses no call, and only reports that it would.
    pub shadow: bool,
}

impl Rule {
    /// The most units that one check may ask for; more can never be allowed.
    pub fn max_cost(&self) -> u64 {
        match self.algorithm {
            Algorithm::Log => MAX_LOG_COST.min(self.limit.into()),
            Algorithm::Counter | Algorithm::Gcra => self.limit.into(),
        }
    }

    /// As the scripts count it.
    pub(super) fn window_ms(&self) -> u32 {
        u32::try_from(self.window.as_millis()).unwrap_or(u32::MAX)
    }
}
