//! The situations.

use std::time::Duration;

use anteroom_core::queue::{Pace, Rules};
use rand::Rng as _;
use rand::rngs::StdRng;

use crate::line::{capacity, rate};

/// How long visitors stay, in seconds.
pub enum Stay {
    /// Anything between the two.
    Between(f64, f64),
    /// Each end is as likely at any moment.
    Random(f64),
    /// Half of them one, half of them the other.
    Either(f64, f64),
}

/// How a session ends.
pub enum Leaves {
    /// The visitor says that it has finished.
    Itself,
    /// At its stored end.
    Ends,
    /// At its stored end, after renewals while the visitor stayed.
    Renews,
}

/// What happens in the middle.
pub enum Change {
    /// An operator sets the batch.
    Batch(u64),
    /// Redis goes down, or is back.
    Paused(bool),
}

/// Who comes to which queue.
pub struct Situation {
    pub name: &'static str,
    pub rules: fn() -> Rules,
    /// So many come at the beginning, within a minute; then so many a second …
    pub comes: (u64, f64),
    /// … until this second.
    pub comes_until: f64,
    pub stay: Stay,
    pub leaves: Leaves,
    /// How long visitors wait before they give up, at the mean; 0: for as long as it takes.
    pub patience: f64,
    /// The share of turns that are missed.
    pub no_shows: f64,
    /// Compared are looks after so many sessions have ended …
    pub after_ends: u64,
    /// … and from this second on.
    pub compare_from: f64,
    pub changes: &'static [(f64, Change)],
    /// Whether the median must be right, too.
    pub is_steady: bool,
    /// Seconds from tick to tick.
    pub step: f64,
    pub runs: u64,
}

impl Situation {
    /// When visitors come.
    pub fn arrivals(&self, random: &mut StdRng) -> Vec<f64> {
        let (crowd, rate) = self.comes;
        let mut all: Vec<_> = (0..crowd).map(|_| 60.0 * random.random::<f64>()).collect();
        let mut at = 0.0;
        loop {
            at -= (1.0 - random.random::<f64>()).ln() / rate;
            if at > self.comes_until {
                break;
            }
            all.push(at);
        }
        all.sort_by(f64::total_cmp);
        all
    }
}

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn both(capacity: u64, batch: u64, interval: u64, pace: Pace) -> Rules {
    Rules { capacity: Some(capacity), ..rate(batch, seconds(interval), pace) }
}

fn session(rules: Rules, session: u64) -> Rules {
    Rules { session_ttl: seconds(session), session_max: seconds(1_800), ..rules }
}

const PLAIN: Situation = Situation {
    name: "",
    rules: || capacity(1),
    comes: (0, 1.0),
    comes_until: 3_000.0,
    stay: Stay::Random(90.0),
    leaves: Leaves::Itself,
    patience: 0.0,
    no_shows: 0.0,
    after_ends: 0,
    compare_from: 0.0,
    changes: &[],
    is_steady: true,
    step: 0.5,
    runs: 1,
};

pub const SITUATIONS: &[Situation] = &[
    Situation {
        name: "100 each 10 s, `even`",
        rules: || rate(100, seconds(10), Pace::Even),
        comes: (0, 18.0),
        comes_until: 900.0,
        patience: 250.0,
        step: 0.2,
        ..PLAIN
    },
    Situation {
        name: "100 each 600 s, `batch`",
        rules: || rate(100, seconds(600), Pace::Batch),
        comes: (0, 0.23),
        comes_until: 12_000.0,
        patience: 4_000.0,
        step: 1.0,
        runs: 3,
        ..PLAIN
    },
    Situation {
        name: "100 each 60 s, `batch`",
        rules: || rate(100, seconds(60), Pace::Batch),
        comes: (0, 2.4),
        comes_until: 2_400.0,
        patience: 1_500.0,
        runs: 4,
        ..PLAIN
    },
    Situation {
        name: "capacity 50, sessions of 30 s to 3.5 min",
        rules: || capacity(50),
        comes: (0, 0.46),
        comes_until: 4_000.0,
        stay: Stay::Between(30.0, 210.0),
        runs: 2,
        ..PLAIN
    },
    Situation {
        name: "capacity 100 and 60 each 60 s, both bind",
        rules: || both(100, 60, 60, Pace::Even),
        comes: (0, 1.05),
        stay: Stay::Random(95.0),
        ..PLAIN
    },
    Situation {
        name: "a rush; capacity 300 and 100 each 10 s",
        rules: || both(300, 100, 10, Pace::Even),
        comes: (100, 8.0),
        comes_until: 600.0,
        step: 0.2,
        runs: 6,
        ..PLAIN
    },
    Situation {
        name: "capacity 2 and 2 each 60 s",
        rules: || both(2, 2, 60, Pace::Even),
        comes: (0, 0.028),
        comes_until: 20_000.0,
        stay: Stay::Random(45.0),
        step: 1.0,
        ..PLAIN
    },
    Situation {
        name: "capacity 2 and 2 each 60 s, `batch`",
        rules: || both(2, 2, 60, Pace::Batch),
        comes: (0, 0.026),
        comes_until: 30_000.0,
        stay: Stay::Random(45.0),
        step: 1.0,
        ..PLAIN
    },
    Situation {
        name: "capacity 50, sessions of either 2 s or 120 s",
        rules: || capacity(50),
        comes: (0, 0.9),
        stay: Stay::Either(2.0, 120.0),
        after_ends: 50,
        is_steady: false,
        ..PLAIN
    },
    Situation {
        name: "30 % give up, 120 each 60 s",
        rules: || rate(120, seconds(60), Pace::Even),
        comes: (0, 3.0),
        patience: 1_000.0,
        runs: 2,
        ..PLAIN
    },
    Situation {
        name: "50 % give up, capacity 50",
        rules: || capacity(50),
        comes: (0, 0.9),
        comes_until: 6_000.0,
        stay: Stay::Random(120.0),
        patience: 900.0,
        ..PLAIN
    },
    Situation {
        name: "20 % miss their turn, capacity 50",
        rules: || capacity(50),
        comes: (0, 0.52),
        comes_until: 5_000.0,
        stay: Stay::Random(120.0),
        no_shows: 0.2,
        ..PLAIN
    },
    Situation {
        name: "300 slots, all taken for 5 min",
        rules: || session(capacity(300), 300),
        comes: (0, 1.1),
        stay: Stay::Between(100_000.0, 100_000.0),
        leaves: Leaves::Ends,
        is_steady: false,
        ..PLAIN
    },
    Situation {
        name: "an operator lowers 100 each 10 s to 40",
        rules: || rate(100, seconds(10), Pace::Even),
        comes: (0, 13.0),
        comes_until: 900.0,
        patience: 350.0,
        step: 0.2,
        changes: &[(500.0, Change::Batch(40))],
        compare_from: 501.0,
        ..PLAIN
    },
    Situation {
        name: "Redis is down for 5 min, capacity 50",
        rules: || capacity(50),
        comes: (0, 0.55),
        comes_until: 4_000.0,
        stay: Stay::Random(100.0),
        changes: &[(2_000.0, Change::Paused(true)), (2_300.0, Change::Paused(false))],
        compare_from: 2_300.0,
        runs: 3,
        ..PLAIN
    },
    Situation {
        name: "capacity 20, sessions of any length",
        rules: || capacity(20),
        comes: (0, 0.18),
        comes_until: 8_000.0,
        stay: Stay::Random(120.0),
        runs: 2,
        ..PLAIN
    },
    Situation {
        name: "capacity 30, sessions of 1 min that are renewed",
        rules: || session(capacity(30), 60),
        comes: (0, 0.22),
        comes_until: 6_000.0,
        leaves: Leaves::Renews,
        runs: 2,
        ..PLAIN
    },
    Situation {
        name: "slow arrivals: the line is short and often empty",
        rules: || capacity(10),
        comes: (0, 0.085),
        comes_until: 20_000.0,
        stay: Stay::Random(110.0),
        ..PLAIN
    },
];
