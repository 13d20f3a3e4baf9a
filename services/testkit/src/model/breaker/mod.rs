//! A target in plain Rust: every outcome is remembered one by one, and what a window holds is
//! counted afresh each time.

mod reporters;
mod windows;

use std::collections::HashMap;

use self::{
    reporters::Reporters,
    windows::{Call, Windows},
};

/// A name, as a number: of a reporter, of a permit, of a call.
pub type Name = u64;

/// The latency histogram has so many buckets.
pub const LATENCIES: usize = 14;
/// The most outcomes that a log takes in one report.
const MOST_LOGGED: u64 = 100;

/// The rules, times in microseconds.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the names of the configuration")]
pub struct Rules {
    pub window: u64,
    /// In millionths.
    pub threshold: u64,
    pub min_samples: u64,
    /// Each outcome is kept by itself, not counted by sub-windows.
    pub log: bool,
    pub quorum: usize,
    pub open_for: u64,
    pub probes: u64,
}

/// Whether calls go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of the specification")]
pub enum State {
    Closed,
    Open,
    HalfOpen,
}

/// A report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// How many succeeded.
    pub successes: u64,
    /// How many failed.
    pub failures: u64,
    /// The number of the bucket of the latency histogram.
    pub latency: Option<usize>,
    /// Everything else that distinguishes a repeat from another call.
    pub latency_ms: Option<u64>,
    /// Who reports; a missing name counts as one, too.
    pub reporter: Option<Name>,
    /// The permit that the call had.
    pub permit: Option<Name>,
}

/// What was reported within the window, and the state: successes, failures, state.
pub type Window = (u64, u64, State);

/// The answer to a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of the specification")]
pub enum Recorded {
    Counted(Window),
    Repeated(Window),
    Mismatch,
    TooMany,
}

/// The answer to who asks for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of the specification")]
pub enum Permission {
    Free,
    Permit,
    /// With the time after which to ask again, in microseconds.
    Refused(State, u64),
}

/// Everything that a look shows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of the specification")]
pub struct Look {
    pub window: Window,
    pub version: u64,
    pub latencies: [u64; LATENCIES],
    pub reporters: usize,
    pub permits: usize,
    pub last_outcome_ago: Option<u64>,
    pub totals: (u64, u64, [u64; LATENCIES]),
}

/// A target as the store has it.
#[derive(Clone, Debug)]
struct Kept {
    /// Its clock: what it is ahead of the store's, and when it was written last.
    offset: u64,
    written: u64,
    state: State,
    version: u64,
    changed: u64,
    reported: u64,
    probed: (u64, u64),
    windows: Windows,
    reporters: Reporters,
    permits: HashMap<Name, u64>,
    totals: (u64, u64, [u64; LATENCIES]),
}

/// One target.
#[derive(Clone, Debug, Default)]
pub struct Breaker {
    kept: Option<Kept>,
    /// The calls that were named: when they were made, and their reports.
    calls: HashMap<Name, (u64, Report)>,
}

impl Breaker {
    /// Reports that share a call, with names or not.
    pub fn record(
        &mut self,
        wall: u64,
        rules: &Rules,
        reports: &[(Report, Option<Name>)],
    ) -> Vec<Recorded> {
        let kept = self.kept.get_or_insert_with(|| Kept::new(wall, rules));
        let now = kept.now(wall);
        let sizes = reports.iter().map(|(report, _)| report.successes + report.failures);
        let coming = sizes.filter(|size| !rules.log || *size <= MOST_LOGGED).sum();
        let mut call = kept.windows.join(now, rules, Some(coming));
        kept.move_on(wall, now, rules, &mut call);
        kept.written = now;
        let mut recorded = Vec::new();
        for (report, id) in reports {
            let made = id.and_then(|id| self.calls.get(&id));
            let made = made.filter(|(made, _)| *made + rules.window > now);
            recorded.push(match made {
                Some((_, first)) if first == report => {
                    Recorded::Repeated(kept.window_at(now, &call))
                }
                Some(_) => Recorded::Mismatch,
                None if rules.log && report.successes + report.failures > MOST_LOGGED => {
                    Recorded::TooMany
                }
                None => {
                    self.calls.extend(id.map(|id| (id, (now, *report))));
                    kept.record(wall, now, rules, report, &mut call);
                    Recorded::Counted(kept.window_at(now, &call))
                }
            });
        }
        recorded
    }

    /// Asks for a call.
    pub fn permit(&mut self, wall: u64, rules: &Rules, permit: Name) -> Permission {
        let permission =
            self.look_at(wall, rules, |kept, now, call| kept.permit(now, rules, permit, call));
        permission.unwrap_or(Permission::Free)
    }

    /// Looks at it.
    pub fn look(&mut self, wall: u64, rules: &Rules) -> Look {
        let seen =
            self.look_at(wall, rules, |kept, now, call| (kept.look(now, rules, call), false));
        seen.unwrap_or(Look {
            window: (0, 0, State::Closed),
            version: 0,
            latencies: [0; LATENCIES],
            reporters: 0,
            permits: 0,
            last_outcome_ago: None,
            totals: (0, 0, [0; LATENCIES]),
        })
    }

    /// A call that brings no outcome: what `call` says, and whether it must write.
    fn look_at<T>(
        &mut self,
        wall: u64,
        rules: &Rules,
        ask: impl FnOnce(&mut Kept, u64, &Call) -> (T, bool),
    ) -> Option<T> {
        let kept = self.kept.as_mut()?;
        let before = kept.clone();
        let now = kept.now(wall);
        let mut call = kept.windows.join(now, rules, None);
        let has_evicted = kept.move_on(wall, now, rules, &mut call);
        let has_changed = (kept.version, kept.offset) != (before.version, before.offset);
        let (answer, must_write) = ask(kept, now, &call);
        if must_write || has_evicted || has_changed || call.has_joined {
            kept.written = now;
        } else {
            // Nothing is written: under a longer window silent reporters count again, and under
            // other rules the same probes are judged again.
            kept.windows = before.windows;
            kept.reporters = before.reporters;
            kept.probed = before.probed;
        }
        Some(answer)
    }
}

impl Kept {
    fn new(wall: u64, rules: &Rules) -> Self {
        Self {
            offset: 0,
            written: wall,
            state: State::Closed,
            version: wall,
            changed: wall,
            reported: wall,
            probed: (0, 0),
            windows: Windows::new(rules, wall),
            reporters: Reporters::default(),
            permits: HashMap::new(),
            totals: (0, 0, [0; LATENCIES]),
        }
    }

    /// Its time, which never goes back behind what was written.
    fn now(&mut self, wall: u64) -> u64 {
        self.offset = self.offset.max((self.written).saturating_sub(wall));
        wall + self.offset
    }

    fn window_at(&self, now: u64, call: &Call) -> Window {
        let (good, bad) = self.windows.count(call, now);
        (good, bad, self.state)
    }

    /// Asks for a call; whether a permit is given now.
    fn permit(&mut self, now: u64, rules: &Rules, permit: Name, call: &Call) -> (Permission, bool) {
        let closes = self.reported + call.longest;
        match self.state {
            State::Closed => return (Permission::Free, false),
            State::Open => {
                let half_open = self.changed + rules.open_for;
                return (Permission::Refused(State::Open, half_open.min(closes) - now), false);
            }
            State::HalfOpen => {}
        }
        self.permits.retain(|_, end| *end > now);
        if self.permits.contains_key(&permit) {
            return (Permission::Permit, false);
        }
        let lasts = rules.open_for.min(rules.window);
        if self.permits.len() as u64 >= rules.probes {
            let first = self.permits.values().copied().min().unwrap_or(now + lasts);
            return (Permission::Refused(State::HalfOpen, first.min(closes) - now), false);
        }
        self.permits.insert(permit, now + lasts);
        (Permission::Permit, true)
    }

    fn look(&self, now: u64, rules: &Rules, call: &Call) -> Look {
        Look {
            window: self.window_at(now, call),
            version: self.version,
            latencies: self.windows.latencies(call, now),
            reporters: self.reporters.known(now, rules.window),
            permits: if self.state == State::HalfOpen {
                self.permits.values().filter(|end| **end > now).count()
            } else {
                0
            },
            last_outcome_ago: Some(now - self.reported),
            totals: self.totals,
        }
    }

    /// What time has changed; whether members left the log.
    fn move_on(&mut self, wall: u64, now: u64, rules: &Rules, call: &mut Call) -> bool {
        self.reporters.forget_silent(now, call.longest);
        let has_evicted = self.windows.evict(call, now);
        if self.state != State::Closed && self.reported + call.longest <= now {
            self.become_(State::Closed, wall, now);
            self.clear_window(call);
        } else if self.state == State::Open && self.changed + rules.open_for <= now {
            self.become_(State::HalfOpen, wall, now);
            self.clear_window(call);
        }
        self.judge(wall, now, rules, call);
        has_evicted
    }

    fn become_(&mut self, state: State, wall: u64, now: u64) {
        (self.state, self.changed, self.probed) = (state, now, (0, 0));
        self.version = wall.max(self.version + 1);
    }

    fn clear_window(&mut self, call: &mut Call) {
        self.windows.empty(call);
        self.permits.clear();
        self.reporters.forgive();
    }

    fn judge(&mut self, wall: u64, now: u64, rules: &Rules, call: &Call) {
        let is_reached = |good: u64, bad: u64| good * 1_000_000 >= rules.threshold * (good + bad);
        match self.state {
            State::Closed => {
                let (good, bad) = self.windows.count(call, now);
                let unhealthy = good + bad >= rules.min_samples && !is_reached(good, bad);
                if unhealthy && self.reporters.reach(rules.quorum, now, rules.window) {
                    self.become_(State::Open, wall, now);
                }
            }
            State::HalfOpen if self.probed.0 + self.probed.1 >= rules.probes => {
                if is_reached(self.probed.0, self.probed.1) {
                    self.become_(State::Closed, wall, now);
                    self.reporters.forgive();
                } else if self.reporters.reach(rules.quorum, now, rules.window) {
                    self.become_(State::Open, wall, now);
                } else {
                    self.probed = (0, 0);
                }
            }
            State::Open | State::HalfOpen => {}
        }
    }

    fn record(&mut self, wall: u64, now: u64, rules: &Rules, report: &Report, call: &mut Call) {
        let is_probe = match report.permit {
            Some(permit) => self.permits.remove(&permit).is_some_and(|end| end > now),
            None => self.permits.values().all(|end| *end <= now),
        };
        self.reported = now;
        self.reporters.hear(report.reporter, report.failures > 0, now);
        self.totals.0 += report.successes;
        self.totals.1 += report.failures;
        let all = report.successes + report.failures;
        if let Some(latency) = report.latency {
            self.totals.2[latency] += all;
        }
        self.windows.add(call, now, report);
        if self.state == State::HalfOpen && is_probe {
            self.probed.0 += report.successes;
            self.probed.1 += report.failures;
        }
        self.judge(wall, now, rules, call);
    }
}
