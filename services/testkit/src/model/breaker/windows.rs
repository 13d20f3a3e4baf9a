//! What the windows of a target hold: one of buckets, a log, and the windows of calls with other
//! rules. Each keeps its outcomes one by one.

use super::{LATENCIES, Report, Rules};

/// A window has so many sub-windows besides the running one.
const BUCKETS: u64 = 20;
/// So many of each kind that have left every window leave the log with a call.
const MOST_EVICTED: usize = 128;
/// So many windows besides that of the buckets.
const MOST_OTHERS: usize = 2;
/// So many outcomes of a call enter a log that is kept beside buckets.
const MOST_BESIDE: u64 = 100;

/// Whether it succeeded, and when it was reported; after a conversion the end of its sub-window.
type Outcome = (u64, bool);

/// The outcomes of one length of window.
#[derive(Clone, Debug)]
struct Ring {
    window: u64,
    used: u64,
    outcomes: Vec<Outcome>,
}

impl Ring {
    fn new(window: u64, used: u64) -> Self {
        Self { window, used, outcomes: Vec::new() }
    }

    fn bucket(&self, at: u64) -> u64 {
        at / (self.window / BUCKETS)
    }

    fn holds(&self, at: u64, now: u64) -> bool {
        self.bucket(at) + BUCKETS >= self.bucket(now)
    }

    /// The last moment of the sub-window.
    fn end_of(&self, at: u64, now: u64) -> u64 {
        now.min((self.bucket(at) + 1) * (self.window / BUCKETS) - 1)
    }

    fn live(&self, now: u64) -> impl Iterator<Item = Outcome> {
        self.outcomes.iter().copied().filter(move |(at, _)| self.holds(*at, now))
    }
}

/// What there is while callers have different rules.
#[derive(Clone, Debug)]
struct Others {
    ring_used: u64,
    buckets_used: u64,
    log_used: u64,
    /// The log beside the buckets holds everything since.
    log_from: Option<u64>,
    rings: Vec<Ring>,
}

/// How one call sees it.
#[derive(Clone, Debug)]
pub struct Call {
    /// The longest window in use.
    pub longest: u64,
    /// Something that a look must write has changed.
    pub has_joined: bool,
    window: u64,
    by_log: bool,
    logs: bool,
    begins_log: bool,
    /// The window of a call for which there is no room.
    derived: Option<Ring>,
}

/// All windows of a target.
#[derive(Clone, Debug)]
pub struct Windows {
    ring: Ring,
    /// Outcomes are in the log alone.
    is_log: bool,
    logged: Vec<Outcome>,
    timed: Vec<(u64, usize)>,
    others: Option<Others>,
}

impl Windows {
    pub fn new(rules: &Rules, now: u64) -> Self {
        Self {
            ring: Ring::new(rules.window, now),
            is_log: rules.log,
            logged: Vec::new(),
            timed: Vec::new(),
            others: None,
        }
    }

    /// Takes the rules of a call into account that brings so many outcomes, or none.
    pub fn join(&mut self, now: u64, rules: &Rules, coming: Option<u64>) -> Call {
        let mut call = Call {
            longest: rules.window,
            has_joined: false,
            window: rules.window,
            by_log: false,
            logs: false,
            begins_log: false,
            derived: None,
        };
        let agrees = rules.window == self.ring.window && rules.log == self.is_log;
        if self.others.is_some() || !agrees {
            self.join_others(now, rules, coming.is_some(), &mut call);
            if let (Some(coming), Some(others)) = (coming, &mut self.others)
                && (!self.is_log && others.log_from.is_some() && coming > MOST_BESIDE)
            {
                (others.log_from, call.begins_log) = (Some(now), true);
            }
        }
        if call.begins_log {
            self.logged.clear();
        }
        let log_from = self.others.as_ref().and_then(|others| others.log_from);
        let skips = coming.is_some_and(|coming| !self.is_log && coming > MOST_BESIDE);
        call.logs = self.is_log || (log_from.is_some() && !skips);
        let is_whole = log_from.is_some_and(|from| from + rules.window <= now);
        call.by_log = self.is_log || (rules.log && is_whole);
        call.longest = self.longest(rules.window);
        call
    }

    fn longest(&self, own: u64) -> u64 {
        let others = self.others.iter().flat_map(|others| &others.rings);
        others.map(|ring| ring.window).chain([own, self.ring.window]).max().unwrap_or(own)
    }

    fn join_others(&mut self, now: u64, rules: &Rules, brings: bool, call: &mut Call) {
        let own = rules.window;
        let mut others = self.others.take().unwrap_or_else(|| {
            call.has_joined = true;
            let log_from = self.is_log.then_some(0);
            let rings = Vec::new();
            Others { ring_used: now, buckets_used: now, log_used: now, log_from, rings }
        });
        others.rings.retain(|ring| ring.window == own || ring.used + ring.window > now);
        if own != self.ring.window && !others.rings.iter().any(|ring| ring.window == own) {
            let derived = self.derived(&others, own, now);
            if others.rings.len() < MOST_OTHERS {
                call.has_joined = true;
                others.rings.push(derived);
            } else {
                call.derived = Some(derived);
            }
        }
        let mut mark = |used: &mut u64| {
            if now - *used >= own / BUCKETS {
                (*used, call.has_joined) = (now, true);
            }
        };
        if own == self.ring.window {
            mark(&mut others.ring_used);
        }
        for ring in others.rings.iter_mut().filter(|ring| ring.window == own) {
            mark(&mut ring.used);
        }
        if rules.log {
            mark(&mut others.log_used);
        } else if brings {
            mark(&mut others.buckets_used);
        }
        if rules.log && others.log_from.is_none() {
            others.log_from = Some(now);
            (call.begins_log, call.has_joined) = (true, true);
        }
        self.others = Some(others);
        if brings && !rules.log && self.is_log {
            self.keep_buckets(call);
        }
        if brings {
            self.settle(now, rules);
        }
    }

    /// A window that no call had, as the shortest knows it that covers it, else the longest.
    fn derived(&self, others: &Others, own: u64, now: u64) -> Ring {
        let mut derived = Ring::new(own, now);
        if !self.is_log {
            let known = || others.rings.iter().chain([&self.ring]);
            let covers = known().filter(|ring| ring.window >= own);
            let from = covers.min_by_key(|ring| ring.window);
            let from = from.or_else(|| known().max_by_key(|ring| ring.window));
            let from = from.unwrap_or(&self.ring);
            derived.outcomes = from.live(now).map(|(at, it)| (from.end_of(at, now), it)).collect();
        }
        derived
    }

    /// The log fills all windows: from now on buckets are kept, too.
    fn keep_buckets(&mut self, call: &mut Call) {
        let Some(others) = &mut self.others else { return };
        let rings = others.rings.iter_mut().chain(&mut call.derived).chain([&mut self.ring]);
        for ring in rings {
            ring.outcomes.clone_from(&self.logged);
        }
        (self.is_log, others.log_from) = (false, Some(0));
    }

    /// Ends what is not in use any more.
    fn settle(&mut self, now: u64, rules: &Rules) {
        let longest = self.longest(rules.window);
        let Some(others) = &mut self.others else { return };
        if let Some(from) = others.log_from
            && !self.is_log
        {
            if others.log_used + longest <= now {
                self.logged.clear();
                others.log_from = None;
            } else if others.buckets_used.max(from) + longest <= now {
                (self.is_log, others.log_from) = (true, Some(0));
            }
        }
        let own = others.rings.iter().position(|ring| ring.window == rules.window);
        if let Some(own) = own
            && others.ring_used + self.ring.window <= now
        {
            let before = std::mem::replace(&mut self.ring, others.rings.remove(own));
            others.ring_used = self.ring.used;
            self.timed.retain(|(at, _)| before.holds(*at, now));
            for (at, _) in &mut self.timed {
                *at = before.end_of(*at, now);
            }
        }
        if others.rings.is_empty() && (self.is_log || others.log_from.is_none()) {
            self.others = None;
        }
    }

    /// Members that have left every window leave the log; whether some did.
    pub fn evict(&mut self, call: &Call, now: u64) -> bool {
        let before = self.logged.len();
        if call.logs && !call.begins_log {
            for kind in [true, false] {
                let mut left = MOST_EVICTED;
                self.logged.retain(|(at, is_success)| {
                    let goes = left > 0 && *is_success == kind && at + call.longest <= now;
                    left -= usize::from(goes);
                    !goes
                });
            }
        }
        self.logged.len() < before
    }

    /// Successes and failures in the window of the call.
    pub fn count(&self, call: &Call, now: u64) -> (u64, u64) {
        let split = |outcomes: &mut dyn Iterator<Item = Outcome>| {
            let (good, bad): (Vec<_>, Vec<_>) = outcomes.partition(|(_, it)| *it);
            (good.len() as u64, bad.len() as u64)
        };
        if call.by_log {
            let logged = self.logged.iter().copied();
            return split(&mut logged.filter(|(at, _)| at + call.window > now));
        }
        let others = self.others.iter().flat_map(|others| &others.rings);
        let mut rings = others.chain(&call.derived).chain([&self.ring]);
        let ring = rings.find(|ring| ring.window == call.window).unwrap_or(&self.ring);
        split(&mut ring.live(now))
    }

    /// The latencies in the window of the call, by the buckets.
    pub fn latencies(&self, call: &Call, now: u64) -> [u64; LATENCIES] {
        let oldest = self.ring.bucket(now - call.window);
        let mut latencies = [0; LATENCIES];
        for (at, latency) in &self.timed {
            if self.ring.holds(*at, now) && self.ring.bucket(*at) >= oldest {
                latencies[*latency] += 1;
            }
        }
        latencies
    }

    pub fn add(&mut self, call: &mut Call, now: u64, report: &Report) {
        let all = (0..report.successes).map(|_| true);
        let all: Vec<Outcome> =
            all.chain((0..report.failures).map(|_| false)).map(|it| (now, it)).collect();
        if let Some(latency) = report.latency {
            self.timed.extend(all.iter().map(|_| (now, latency)));
        }
        if call.logs {
            self.logged.extend(&all);
        }
        if !self.is_log {
            let others = self.others.iter_mut().flat_map(|others| &mut others.rings);
            for ring in others.chain(&mut call.derived).chain([&mut self.ring]) {
                ring.outcomes.extend(&all);
            }
        }
    }

    /// The windows are reset.
    pub fn empty(&mut self, call: &mut Call) {
        (self.logged, self.timed, self.ring.outcomes) = Default::default();
        if let Some(others) = &mut self.others {
            for ring in others.rings.iter_mut().chain(&mut call.derived) {
                ring.outcomes.clear();
            }
            if call.logs && others.log_from.is_some() {
                others.log_from = Some(0);
            }
        }
    }
}
