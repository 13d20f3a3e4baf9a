//! A target in plain Rust: every outcome is remembered one by one, and what the window holds is
//! counted anew each time.

mod reporters;

use std::collections::HashMap;

use self::reporters::Reporters;

/// A name, as a number: of a reporter, of a permit, of a call.
pub type Name = u64;

/// The latency histogram has so many buckets.
pub const LATENCIES: usize = 14;
/// A window has so many sub-windows besides the running one.
const BUCKETS: u64 = 20;
/// The most outcomes that a log takes in one report.
const MOST_LOGGED: u64 = 100;
/// So many of each kind that have left the window leave the log with a call.
const MOST_EVICTED: usize = 128;

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
    /// Everything else that tells a repeat from another call.
    pub latency_ms: Option<u64>,
    /// Who reports; nobody by name is one, too.
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
    pub last_outcome_ago: Option<u64>,
    pub totals: (u64, u64, [u64; LATENCIES]),
}

/// One outcome.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    at: u64,
    is_success: bool,
    latency: Option<usize>,
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
    /// Window and log of the last report.
    window: u64,
    log: bool,
    /// What counts for the success rate, …
    outcomes: Vec<Outcome>,
    /// … and what counts for the latencies.
    timed: Vec<Outcome>,
    reporters: Reporters,
    permits: HashMap<Name, u64>,
    totals: (u64, u64, [u64; LATENCIES]),
}

/// One target.
#[derive(Clone, Debug, Default)]
pub struct Target {
    kept: Option<Kept>,
    /// The calls that were named: when they were made, and what they said.
    calls: HashMap<Name, (u64, Report)>,
}

impl Target {
    /// A report, with a name or not; `shares_call`: with the one before it.
    pub fn record(
        &mut self,
        wall: u64,
        rules: &Rules,
        report: Report,
        id: Option<Name>,
        shares_call: bool,
    ) -> Recorded {
        let kept = self.kept.get_or_insert_with(|| Kept::new(wall, rules));
        let now = kept.now(wall);
        kept.adopt(rules);
        if !shares_call {
            kept.move_on(wall, now, rules);
        }
        kept.written = now;
        if let Some(id) = id
            && let Some((made, said)) = self.calls.get(&id)
            && *made + rules.window > now
        {
            let window = kept.window_at(now);
            return if *said == report { Recorded::Repeated(window) } else { Recorded::Mismatch };
        }
        if rules.log && report.successes + report.failures > MOST_LOGGED {
            return Recorded::TooMany;
        }
        if let Some(id) = id {
            self.calls.insert(id, (now, report));
        }
        kept.record(wall, now, rules, report);
        Recorded::Counted(kept.window_at(now))
    }

    /// Asks for a call.
    pub fn permit(&mut self, wall: u64, rules: &Rules, permit: Name) -> Permission {
        let asked = self.look_at(wall, rules, |kept, now| kept.permit(now, rules, permit));
        asked.unwrap_or(Permission::Free)
    }

    /// Looks at it.
    pub fn look(&mut self, wall: u64, rules: &Rules) -> Look {
        let seen = self.look_at(wall, rules, |kept, now| (kept.look(now), false));
        seen.unwrap_or(Look {
            window: (0, 0, State::Closed),
            version: 0,
            latencies: [0; LATENCIES],
            reporters: 0,
            last_outcome_ago: None,
            totals: (0, 0, [0; LATENCIES]),
        })
    }

    /// A call that brings no outcome: what `call` says, and whether it must write.
    fn look_at<T>(
        &mut self,
        wall: u64,
        rules: &Rules,
        call: impl FnOnce(&mut Kept, u64) -> (T, bool),
    ) -> Option<T> {
        let kept = self.kept.as_mut()?;
        let before = kept.clone();
        let now = kept.now(wall);
        kept.move_on(wall, now, rules);
        let has_evicted = kept.outcomes.len() < before.outcomes.len();
        let has_changed = (kept.version, kept.offset) != (before.version, before.offset);
        let (told, must_write) = call(kept, now);
        if must_write || has_evicted || has_changed {
            kept.written = now;
        } else {
            // Nothing is written: under a longer window silent reporters count again, and under
            // other rules the same probes are judged anew.
            kept.reporters = before.reporters;
            kept.probed = before.probed;
        }
        Some(told)
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
            window: rules.window,
            log: rules.log,
            outcomes: Vec::new(),
            timed: Vec::new(),
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

    /// Buckets of another length cannot be counted together, nor what is kept in another way.
    fn adopt(&mut self, rules: &Rules) {
        if self.log != rules.log || (self.window != rules.window && !rules.log) {
            self.outcomes.clear();
        }
        if self.log != rules.log || self.window != rules.window {
            self.timed.clear();
        }
        (self.window, self.log) = (rules.window, rules.log);
    }

    fn is_in_buckets(&self, outcome: &Outcome, now: u64) -> bool {
        let bucket = |at: u64| at * BUCKETS / self.window;
        bucket(outcome.at) + BUCKETS >= bucket(now)
    }

    fn is_in_window(&self, outcome: &Outcome, now: u64) -> bool {
        if self.log { outcome.at + self.window > now } else { self.is_in_buckets(outcome, now) }
    }

    fn window_at(&self, now: u64) -> Window {
        let live = |is_success| {
            let outcomes = self.outcomes.iter().filter(|it| it.is_success == is_success);
            outcomes.filter(|outcome| self.is_in_window(outcome, now)).count() as u64
        };
        (live(true), live(false), self.state)
    }

    /// Asks for a call; whether a permit is given now.
    fn permit(&mut self, now: u64, rules: &Rules, permit: Name) -> (Permission, bool) {
        let closes = self.reported + self.window;
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
        let lasts = rules.open_for.min(self.window);
        if self.permits.len() as u64 >= rules.probes {
            let first = self.permits.values().copied().min().unwrap_or(now + lasts);
            return (Permission::Refused(State::HalfOpen, first.min(closes) - now), false);
        }
        self.permits.insert(permit, now + lasts);
        (Permission::Permit, true)
    }

    fn look(&self, now: u64) -> Look {
        let mut latencies = [0; LATENCIES];
        let timed = self.timed.iter().filter(|outcome| self.is_in_buckets(outcome, now));
        for latency in timed.filter_map(|outcome| outcome.latency) {
            latencies[latency] += 1;
        }
        Look {
            window: self.window_at(now),
            version: self.version,
            latencies,
            reporters: self.reporters.known(now, self.window),
            last_outcome_ago: Some(now - self.reported),
            totals: self.totals,
        }
    }

    /// What time has changed.
    fn move_on(&mut self, wall: u64, now: u64, rules: &Rules) {
        self.reporters.forget_silent(now, self.window);
        if self.log {
            self.evict(now);
        }
        if self.state != State::Closed && self.reported + self.window <= now {
            self.become_(State::Closed, wall, now);
            self.begin_anew();
        } else if self.state == State::Open && self.changed + rules.open_for <= now {
            self.become_(State::HalfOpen, wall, now);
            self.begin_anew();
        }
        self.judge(wall, now, rules);
    }

    /// A longer window may find again what has not left the log yet.
    fn evict(&mut self, now: u64) {
        for is_success in [true, false] {
            let window = self.window;
            let mut left = MOST_EVICTED;
            self.outcomes.retain(|outcome| {
                let goes =
                    left > 0 && outcome.is_success == is_success && outcome.at + window <= now;
                left -= usize::from(goes);
                !goes
            });
        }
    }

    fn become_(&mut self, state: State, wall: u64, now: u64) {
        (self.state, self.changed, self.probed) = (state, now, (0, 0));
        self.version = wall.max(self.version + 1);
    }

    fn begin_anew(&mut self) {
        self.outcomes.clear();
        self.timed.clear();
        self.permits.clear();
        self.reporters.forgive();
    }

    fn judge(&mut self, wall: u64, now: u64, rules: &Rules) {
        let is_reached = |good: u64, bad: u64| good * 1_000_000 >= rules.threshold * (good + bad);
        match self.state {
            State::Closed => {
                let (good, bad, _) = self.window_at(now);
                let unhealthy = good + bad >= rules.min_samples && !is_reached(good, bad);
                if unhealthy && self.reporters.reach(rules.quorum, now, self.window) {
                    self.become_(State::Open, wall, now);
                }
            }
            State::HalfOpen if self.probed.0 + self.probed.1 >= rules.probes => {
                if is_reached(self.probed.0, self.probed.1) {
                    self.become_(State::Closed, wall, now);
                    self.reporters.forgive();
                } else if self.reporters.reach(rules.quorum, now, self.window) {
                    self.become_(State::Open, wall, now);
                } else {
                    self.probed = (0, 0);
                }
            }
            State::Open | State::HalfOpen => {}
        }
    }

    fn record(&mut self, wall: u64, now: u64, rules: &Rules, report: Report) {
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
        for number in 0..all {
            let is_success = number < report.successes;
            let outcome = Outcome { at: now, is_success, latency: report.latency };
            self.outcomes.push(outcome);
            self.timed.push(outcome);
        }
        if self.state == State::HalfOpen && is_probe {
            self.probed.0 += report.successes;
            self.probed.1 += report.failures;
        }
        self.judge(wall, now, rules);
    }
}
