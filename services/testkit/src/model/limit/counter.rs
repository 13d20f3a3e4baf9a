//! One counter: what it has taken, and whether more fits.

/// How units are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the words of the configuration")]
pub enum Algorithm {
    #[default]
    Log,
    Counter,
    Gcra,
}

/// At most so many units in any window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of the configuration")]
pub struct Rule {
    pub algorithm: Algorithm,
    pub limit: u64,
    pub window_ms: u64,
    pub shadow: bool,
}

/// At most so many units of a log that are over are taken away with one check.
const EVICTED: usize = 64;

/// What a key has taken of a limit. Times are limit time in microseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Counter {
    rule: Rule,
    /// The latest time at which something was taken, and how far limit time is ahead.
    latest: Option<u64>,
    offset: u64,
    /// Of a log when each unit was taken.
    log: Vec<u64>,
    /// Of two counters the present one, at `latest`, and the one before.
    current: u64,
    previous: u64,
    /// Of the bucket how full it is at `latest`: a unit is a window, and `limit` leak each ms.
    debt: u128,
}

impl Counter {
    /// The same under this rule.
    pub(super) fn under(&mut self, rule: Rule) -> &mut Self {
        self.rule = rule;
        self
    }

    /// Whether anything was ever taken.
    pub(super) fn is_written(&self) -> bool {
        self.latest.is_some()
    }

    /// Limit time; it never goes back behind the latest unit.
    pub(super) fn now(&mut self, wall: u64) -> u64 {
        let latest = self.latest.unwrap_or_default();
        self.offset += latest.saturating_sub(wall + self.offset);
        wall + self.offset
    }

    /// Whether so many units fit at this time.
    pub(super) fn fits(&self, units: u64, at: u64) -> bool {
        let Rule { limit, window_ms, .. } = self.rule;
        match self.rule.algorithm {
            Algorithm::Log => {
                let live = self.log.iter().filter(|taken| *taken + 1000 * window_ms > at);
                live.count() as u64 + units <= limit
            }
            Algorithm::Counter => {
                let (current, previous) = self.windows(at);
                let left = window_ms - at / 1000 % window_ms;
                // In numbers that cannot run over.
                let [current, previous, left] = [current, previous, left].map(u128::from);
                let window = u128::from(window_ms);
                previous * left + (current + u128::from(units)) * window
                    <= u128::from(limit) * window
            }
            Algorithm::Gcra => {
                let room = u128::from(limit) * u128::from(window_ms);
                self.debt(at) + u128::from(units) * u128::from(window_ms) <= room
            }
        }
    }

    /// Takes units, if there are any to take.
    pub(super) fn take(&mut self, wall: u64, units: u64) {
        if units == 0 {
            return;
        }
        let now = self.now(wall);
        // What is over is taken away with what comes, and so is not there for a longer window.
        let over = self.log.partition_point(|taken| taken + 1000 * self.rule.window_ms <= now);
        self.log.drain(..over.min(EVICTED.max(units as usize)));
        self.log.extend((0..units).map(|_| now));
        (self.current, self.previous) = self.windows(now);
        self.current += units;
        self.debt = self.debt(now) + u128::from(units * self.rule.window_ms);
        self.latest = Some(now);
    }

    /// The units of the window at this time, and of the one before.
    fn windows(&self, at: u64) -> (u64, u64) {
        let window = |time: u64| time / 1000 / self.rule.window_ms;
        match window(at) - window(self.latest.unwrap_or_default()) {
            0 => (self.current, self.previous),
            1 => (0, self.current),
            _ => (0, 0),
        }
    }

    /// How full the bucket is; never more than full.
    fn debt(&self, at: u64) -> u128 {
        let passed = at / 1000 - self.latest.unwrap_or_default() / 1000;
        let full = u128::from(self.rule.limit) * u128::from(self.rule.window_ms);
        self.debt.min(full).saturating_sub(u128::from(passed) * u128::from(self.rule.limit))
    }
}
