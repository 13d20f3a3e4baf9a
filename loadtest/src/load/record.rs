//! The record that both models write.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::figures::Durations;
use super::{Fault, Figures, Tally};

/// One request that ended.
pub struct Sample {
    /// Index of its step.
    pub step: usize,
    /// When it was to be sent.
    pub started: Instant,
    /// Its status, if there was an answer.
    pub status: Option<u16>,
    /// Whether its visit had made it before.
    pub again: bool,
    /// Why it brought nothing.
    pub fault: Option<Fault>,
}

/// One second of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Second {
    /// Seconds since the start.
    pub at: u64,
    /// Users, or visitors under way, at its end.
    pub users: u64,
    /// Requests that ended in it.
    pub requests: u64,
    /// Those that were completed.
    pub completed: u64,
    /// Those with a fault.
    pub errors: u64,
    /// Latencies in milliseconds.
    pub p50_ms: f64,
    /// As `p50_ms`.
    pub p95_ms: f64,
    /// As `p50_ms`.
    pub p99_ms: f64,
}

/// Takes down what happens, from any task.
pub struct Recorder {
    started: OnceLock<Instant>,
    /// The stretch that is looked at apart, since the start.
    window: Range<Duration>,
    users: AtomicU64,
    begun: AtomicU64,
    not_begun: AtomicU64,
    state: Mutex<State>,
}

struct State {
    whole: Figures,
    window: Figures,
    seconds: Vec<Second>,
    now: Second,
    latency: Durations,
    late: Durations,
    /// Of each step, in the first and in the last third of the window.
    thirds: Vec<[Durations; 2]>,
}

/// What a run has shown.
#[derive(Clone, Debug, Default)]
pub struct Measurement {
    /// From the start to the last answer.
    pub whole: Figures,
    /// Of the hold (closed), or of the arrivals (open).
    pub window: Figures,
    /// Second by second.
    pub seconds: Vec<Second>,
    /// Visits that were begun.
    pub visits_begun: u64,
    /// Visitors who arrived and could not be played, because too many were under way.
    pub visits_not_begun: u64,
    /// Whether it was ended early.
    pub interrupted: bool,
    /// How late this program itself let visitors set out (open).
    pub late: Durations,
    /// The latencies of each step, of requests that began in the first and in the last third of
    /// the window.
    pub thirds: Vec<[Durations; 2]>,
}

impl Recorder {
    /// For a scenario with so many steps; it begins when the first user enters, or is asked for
    /// its start.
    pub fn new(steps: usize, window: Range<Duration>) -> Self {
        let state = State {
            whole: Figures::of(steps),
            window: Figures::of(steps),
            seconds: Vec::new(),
            now: Second::default(),
            latency: Durations::default(),
            late: Durations::default(),
            thirds: vec![<[Durations; 2]>::default(); steps],
        };
        Self {
            started: OnceLock::new(),
            window,
            users: AtomicU64::new(0),
            begun: AtomicU64::new(0),
            not_begun: AtomicU64::new(0),
            state: Mutex::new(state),
        }
    }

    /// When it began.
    pub fn started(&self) -> Instant {
        *self.started.get_or_init(Instant::now)
    }

    /// How long it has been going on, if it has begun.
    pub fn elapsed(&self) -> Duration {
        self.started.get().map_or(Duration::ZERO, Instant::elapsed)
    }

    /// Users, or visitors under way.
    pub fn users(&self) -> u64 {
        self.users.load(Relaxed)
    }

    /// One more of them, until the guard is dropped.
    pub fn enter(self: &Arc<Self>) -> Present {
        self.started();
        self.users.fetch_add(1, Relaxed);
        Present(Arc::clone(self))
    }

    pub(super) fn visit_begins(&self) {
        self.begun.fetch_add(1, Relaxed);
    }

    pub(super) fn visit_cannot_begin(&self) {
        self.not_begun.fetch_add(1, Relaxed);
    }

    pub(super) fn visitor_sets_out(&self, due: Instant) {
        let late = due.elapsed();
        self.state().late.note(late);
    }

    pub(super) fn request(&self, sample: &Sample) {
        let now = Instant::now();
        let latency = now - sample.started;
        let start = self.started();
        let begun_inside = self.window.contains(&(sample.started - start));
        let ended_inside = self.window.contains(&(now - start));
        let mut state = self.state();
        let state = &mut *state;
        state.turn(now - start, self.users());
        state.now.requests += 1;
        state.now.completed += u64::from(sample.fault.is_none());
        state.now.errors += u64::from(sample.fault.is_some());
        if sample.waited() {
            state.latency.note(latency);
        }
        sample.add(&mut state.whole, latency, true, true);
        sample.add(&mut state.window, latency, begun_inside, ended_inside);
        let third = (self.window.end - self.window.start) / 3;
        let at = (sample.started - start).saturating_sub(self.window.start);
        let [first, last] = &mut state.thirds[sample.step];
        if begun_inside && sample.waited() {
            if at < third {
                first.note(latency);
            } else if at >= 2 * third {
                last.note(latency);
            }
        }
    }

    pub(super) fn visit_ends(&self, begun: Instant, completed: bool) {
        let now = Instant::now();
        let start = self.started();
        let arrived_inside = self.window.contains(&(begun - start));
        let ended_inside = self.window.contains(&(now - start));
        let mut state = self.state();
        let State { whole, window, .. } = &mut *state;
        for (figures, arrived, ended) in
            [(whole, true, true), (window, arrived_inside, ended_inside)]
        {
            if completed && ended {
                figures.visits.note(now - begun);
            }
            figures.visits_failed += u64::from(arrived && !completed);
        }
    }

    /// What is there by now, in one line.
    pub fn line(&self) -> String {
        let state = self.state();
        let last = state.seconds.last().cloned().unwrap_or_default();
        format!(
            "{} users, {} requests/s, p95 {:.1} ms, {} errors",
            self.users(),
            last.requests,
            last.p95_ms,
            state.whole.total.errors()
        )
    }

    /// Ends the record.
    pub fn finish(&self, interrupted: bool) -> Measurement {
        let length = self.elapsed();
        let mut state = self.state();
        state.turn(length + Duration::from_secs(1), self.users());
        let mut whole = state.whole.clone();
        whole.length = length;
        let mut window = state.window.clone();
        window.length = self.window.end.min(length).saturating_sub(self.window.start);
        Measurement {
            whole,
            window,
            seconds: state.seconds.clone(),
            visits_begun: self.begun.load(Relaxed),
            visits_not_begun: self.not_begun.load(Relaxed),
            interrupted,
            late: state.late.clone(),
            thirds: state.thirds.clone(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody who is there.
pub struct Present(Arc<Recorder>);

impl Drop for Present {
    fn drop(&mut self) {
        self.0.users.fetch_sub(1, Relaxed);
    }
}

impl State {
    /// Closes the seconds before this moment.
    fn turn(&mut self, elapsed: Duration, users: u64) {
        while self.now.at < elapsed.as_secs() {
            let millis = |share| self.latency.quantile(share).as_secs_f64() * 1e3;
            let at = self.now.at;
            let (p50_ms, p95_ms, p99_ms) = (millis(0.5), millis(0.95), millis(0.99));
            let next = Second { at: at + 1, ..Second::default() };
            let second = std::mem::replace(&mut self.now, next);
            self.seconds.push(Second { users, p50_ms, p95_ms, p99_ms, ..second });
            self.latency.clear();
        }
    }
}

impl Sample {
    /// Whether the time that it took says something of the service.
    fn waited(&self) -> bool {
        self.status.is_some() || self.fault == Some(Fault::Timeout)
    }

    /// A request counts where it began, as a completion where it ended: so no slow request and no
    /// timeout is left out, and nothing is throughput that came later.
    fn add(&self, figures: &mut Figures, latency: Duration, begun: bool, ended: bool) {
        for tally in [&mut figures.total, &mut figures.steps[self.step]] {
            tally.completed += u64::from(ended && self.fault.is_none());
            if !begun {
                continue;
            }
            if self.waited() {
                tally.latency.note(latency);
            }
            tally.requests += 1;
            tally.again += u64::from(self.again);
            count(&mut tally.statuses, self.status);
            count(&mut tally.faults, self.fault);
        }
    }
}

fn count<K: Ord>(counts: &mut BTreeMap<K, u64>, key: Option<K>) {
    if let Some(key) = key {
        *counts.entry(key).or_default() += 1;
    }
}

impl Tally {
    /// Statuses and kinds of errors with their counts, for people.
    pub fn outcomes(&self) -> String {
        let statuses = self.statuses.iter().map(|(status, count)| format!("{status}: {count}"));
        let unanswered = |(fault, _): &(&Fault, &u64)| !matches!(fault, Fault::Status);
        let faults = self.faults.iter().filter(unanswered);
        let faults = faults.map(|(fault, count)| format!("{}: {count}", fault.name()));
        statuses.chain(faults).collect::<Vec<_>>().join(", ")
    }
}
