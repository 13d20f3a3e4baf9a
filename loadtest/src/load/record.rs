//! The record that both models write.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::figures::Durations;
use super::follow::{Cohorts, SecondHalf};
use super::sample::{Sample, Seconds};
use super::{Figures, merges};

/// Takes down what happens, from any task.
pub struct Recorder {
    started: OnceLock<Instant>,
    /// The stretch that is looked at apart, since the start.
    window: Range<Duration>,
    users: AtomicU64,
    requests: AtomicU64,
    state: Mutex<Measurement>,
}

/// What a run has shown.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Measurement {
    /// From the start to the last answer, or to the end of the window if that is later.
    pub whole: Figures,
    /// Of the hold (closed), or of the arrivals (open).
    pub window: Figures,
    /// Second by second.
    pub seconds: Seconds,
    /// Visits that were begun.
    pub visits_begun: u64,
    /// Visitors who arrived and could not be played, because too many were under way.
    pub visits_not_begun: u64,
    /// Whether it was ended early.
    pub interrupted: bool,
    /// The latencies of each step, of requests that began in the first and in the last third of
    /// the window.
    pub thirds: Vec<[Durations; 2]>,
    /// Of the window.
    pub second_half: SecondHalf,
    /// All visits by when they began.
    pub cohorts: Cohorts,
    /// Requests that were under way at the end and were cut.
    pub unanswered: u64,
}

impl Recorder {
    /// For a scenario with so many steps; it begins when the first user enters, or its start
    /// is wanted.
    pub fn new(steps: usize, window: Range<Duration>) -> Self {
        let state = Measurement {
            whole: Figures::of(steps),
            window: Figures::of(steps),
            thirds: vec![<[Durations; 2]>::default(); steps],
            ..Measurement::default()
        };
        Self {
            started: OnceLock::new(),
            window,
            users: AtomicU64::new(0),
            requests: AtomicU64::new(0),
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

    pub(super) fn visit_begins(&self, at: Instant) {
        let at = at - self.started();
        let mut state = self.state.lock();
        state.visits_begun += 1;
        state.cohorts.begins(at);
        state.second_half.arrived += u64::from(self.second_half().contains(&at));
    }

    fn second_half(&self) -> Range<Duration> {
        let Range { start, end } = self.window;
        start + (end - start) / 2..end
    }

    pub(super) fn visit_cannot_begin(&self) {
        self.state.lock().visits_not_begun += 1;
    }

    /// A request is due, and is sent as soon as this program can.
    pub(super) fn request_begins(&self, due: Instant) {
        self.requests.fetch_add(1, Relaxed);
        let due = due - self.started();
        let Range { start, end } = self.second_half();
        let [at_start, at_end] = &mut self.state.lock().second_half.waiting;
        *at_start += u64::from(due <= start);
        *at_end += u64::from(due <= end);
    }

    pub(super) fn request(&self, sample: &Sample) {
        let now = Instant::now();
        let latency = now - sample.started;
        let start = self.started();
        let begun_inside = self.window.contains(&(sample.started - start));
        let ended_inside = self.window.contains(&(now - start));
        let mut state = self.state.lock();
        let state = &mut *state;
        state.seconds.add(now - start, sample, latency, self.users());
        state.whole.add(sample, latency, true, true);
        state.window.add(sample, latency, begun_inside, ended_inside);
        let Range { start: middle, end } = self.second_half();
        let [at_middle, at_end] = &mut state.second_half.waiting;
        *at_middle -= u64::from(now - start <= middle);
        *at_end -= u64::from(now - start <= end);
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
        let mut state = self.state.lock();
        let Measurement { whole, window, second_half, cohorts, .. } = &mut *state;
        cohorts.ends(begun - start, now - begun, completed);
        let failed_inside = !completed && self.second_half().contains(&(now - start));
        second_half.failed += u64::from(failed_inside);
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
        let state = self.state.lock();
        let last = state.seconds.over().last().cloned().unwrap_or_default();
        format!(
            "{} users, {} requests/s, p95 {:.1} ms, {} errors",
            self.users(),
            last.requests,
            last.latency().quantile(0.95).as_secs_f64() * 1e3,
            state.whole.total.errors()
        )
    }

    /// Ends the record.
    pub fn finish(&self, interrupted: bool) -> Measurement {
        let elapsed = self.elapsed();
        // The last answer may come before the last distance between arrivals is over.
        let length = if interrupted { elapsed } else { elapsed.max(self.window.end) };
        let mut state = self.state.lock();
        state.seconds.turn(elapsed + Duration::from_secs(1), self.users());
        state.whole.length = length;
        state.window.length = self.window.end.min(length).saturating_sub(self.window.start);
        state.interrupted = interrupted;
        state.unanswered = self.requests.load(Relaxed).saturating_sub(state.whole.total.requests);
        state.clone()
    }
}

/// A user, or a visitor under way.
pub struct Present(Arc<Recorder>);

impl Drop for Present {
    fn drop(&mut self) {
        self.0.users.fetch_sub(1, Relaxed);
    }
}

merges!(Measurement {
    whole,
    window,
    seconds,
    visits_begun,
    visits_not_begun,
    interrupted,
    thirds,
    second_half,
    cohorts,
    unanswered
});

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: usize = 0;

    fn answered(recorder: &Recorder, due: Instant) {
        recorder.request_begins(due);
        let (status, fault) = (Some(200), None);
        recorder.request(&Sample { step: STEP, started: due, status, again: false, fault });
    }

    /// One visitor, whose answer is there long before the second is over.
    #[test]
    fn only_an_interrupt_makes_a_window_shorter() {
        let recorder = Recorder::new(1, Duration::ZERO..Duration::from_secs(600));
        answered(&recorder, recorder.started());
        let whole = recorder.finish(false);
        assert_eq!(whole.window.length, Duration::from_secs(600));
        assert_eq!(whole.whole.length, Duration::from_secs(600));
        assert!((whole.window.tps() - 1.0 / 600.0).abs() < 1e-9);
        assert!(recorder.finish(true).window.length < Duration::from_secs(600));
    }

    #[test]
    fn who_waits_at_the_end_is_seen_and_who_thinks_is_not() {
        let recorder = Recorder::new(1, Duration::ZERO..Duration::from_secs(600));
        let start = recorder.started();
        let later = start + Duration::from_secs(400);
        recorder.visit_begins(start);
        answered(&recorder, start);
        for due in [start, start, later] {
            recorder.visit_begins(due);
            recorder.request_begins(due);
        }
        // Begins its visit with a thought, and has sent nothing yet.
        recorder.visit_begins(later);
        let measured = recorder.finish(false);
        assert_eq!(measured.second_half.waiting, [2, 3]);
        assert_eq!((measured.second_half.arrived, measured.second_half.failed), (2, 0));
        assert_eq!(measured.unanswered, 3);
    }
}
