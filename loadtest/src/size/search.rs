//! The search for the highest load that meets its objectives: loads double until one misses, then
//! the next load is the median of what the ceiling can be, and what is found is offered longer.
//!
//! Time is bounded by a deadline: what is not settled by then is provisional.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::Found;
use super::ceiling::Ceiling;
use super::measure::Measure;
use super::objective::Objective;
use super::offer::{AFTER, End};
use super::steady::millis;
use super::step::Step;
use crate::own_limit::OwnLimit;
use crate::progress::Progress;

/// The load that is found is at most so many times the ceiling …
const ABOVE: f64 = 1.05;
/// … with all but this probability,
const RISK: f64 = 0.02;
/// and at least this part of it …
const BELOW: f64 = 0.9;
/// … with all but this probability.
const LOST: f64 = 0.08;
/// What is offered for long is so far below what is likely the ceiling.
const MARGIN: f64 = 0.98;
/// Both, after the load that is found was offered for long.
const SETTLED: (f64, f64) = (0.03, 0.1);
/// Services differ from the curves that their ceilings are reckoned with: without this factor only
/// 6 of 10 ceilings were in the interval of 90 %.
const WIDER: f64 = 1.05;
/// So many times as long is the load offered that is found.
pub const LONGER: u32 = 4;
/// Part of a step that is enough while loads double.
const LOOK: u32 = 4;
/// A load is offered for twice as long once the ceiling is known to this factor.
const NEAR: f64 = 1.5;
/// Loads so near each other are the same to what this program can offer.
const SLACK: f64 = 1.2;
/// Visitors of a load at least, and of the first.
const FEW: f64 = 10.0;
const FEWEST: f64 = 3.0;
/// The least load, in visitors a second.
const LEAST: f64 = 0.5;
/// Loads that follow those that double, most often.
const LOADS: f64 = 8.0;

/// What to search, and how.
pub struct Search<'a, M> {
    /// Offers the load.
    pub measure: &'a M,
    /// What must be met.
    pub objectives: &'a [Objective],
    /// The first load, in visitors a second.
    pub from: f64,
    /// The highest load that is offered, in visitors a second.
    pub most: f64,
    /// How long a load is measured.
    pub step: Duration,
    /// How long a service may take to recover after a load that it missed.
    pub recovery: Duration,
    /// A load that is under way then is given up.
    pub deadline: Instant,
    /// What time it is.
    pub clock: &'a (dyn Fn() -> Instant + Sync),
    /// Ends it early.
    pub cancelled: &'a CancellationToken,
}

impl<M: Measure> Search<'_, M> {
    /// Searches.
    pub async fn run(&self) -> anyhow::Result<Found> {
        let begun = self.now();
        let left = self.deadline.saturating_duration_since(begun);
        let mut state = State {
            begun,
            progress: Progress::new("size", millis(left)),
            found: Found { warm_up: self.measure.warm_up(), ..Found::default() },
            ceiling: Ceiling::between(LEAST, self.most / BELOW),
            highest: self.from / 2.0,
            most: self.most,
            own_limit: None,
            missed: f64::INFINITY,
        };
        let searched = self.loads(&mut state).await;
        let State { mut found, ceiling, missed, .. } = state;
        match searched {
            Ok(()) => {}
            Err(End::Early(why)) => found.remarks.push(why),
            Err(End::Own(limit)) => {
                found.remarks.push(limit.to_string());
                // No plan follows from the loads below it.
                (found.held, found.own_limit) = (None, Some(limit));
            }
            Err(End::Failed(error)) => return Err(error),
        }
        if !found.settled && !found.refused && found.own_limit.is_none() {
            let likely = ceiling.quantile(0.5);
            let held = found.steps.iter().filter(|step| step.held() && step.rate < missed);
            let held = held.map(|step| step.rate).filter(|rate| *rate <= likely);
            found.held = held.reduce(f64::max);
            found.within = found.held.map(|_| self.would_settle(&found, &ceiling, begun));
        }
        let held = found.held.unwrap_or_default();
        let most = if held >= self.most { f64::INFINITY } else { held / BELOW };
        found.confidence =
            (100.0 * ceiling.within(held / ABOVE, most)).round().clamp(0.0, 99.0) / 100.0;
        let [low, high] = [0.05, 0.95].map(|share| ceiling.quantile(share));
        found.interval = [low / WIDER, high * WIDER];
        found.stopped_by = found.next_higher().and_then(Step::missed);
        Ok(found)
    }

    pub(super) fn now(&self) -> Instant {
        (self.clock)()
    }

    /// How long a search takes at most, as a rule: shown before it begins.
    pub fn takes(&self, warm_up: Duration) -> Duration {
        let doubled = (self.most / self.from).log2().ceil();
        let each = |length| warm_up + length + AFTER;
        let takes = each(self.look(warm_up)).mul_f64(doubled) + each(self.step).mul_f64(LOADS);
        takes + 2 * each(LONGER * self.step)
    }

    /// The `--within` that would settle what is not.
    fn would_settle(&self, found: &Found, ceiling: &Ceiling, begun: Instant) -> String {
        let missed = found.steps.iter().any(Step::is_clear_miss);
        let wide = (ceiling.quantile(1.0 - LOST) / ceiling.quantile(RISK)).ln();
        // What is not steep is settled by the number of observations.
        let times =
            if missed { (wide / (ABOVE / BELOW).ln()).powi(2).clamp(1.0, 4.0) } else { 1.0 };
        minutes((self.now() - begun).mul_f64(times) + self.takes(found.warm_up))
    }

    /// How long a load is looked at while loads double. What takes long to be steady is looked at
    /// for a whole step.
    fn look(&self, warm_up: Duration) -> Duration {
        if warm_up.is_zero() { self.step / LOOK } else { self.step }
    }

    async fn loads(&self, state: &mut State) -> Result<(), End> {
        let length = (self.step / LOOK).max(Duration::from_secs_f64(FEWEST / self.from));
        let step = self.offer(self.from, Duration::ZERO, length, state).await?;
        if let Some(what) = step.refuses.filter(|_| step.own_limit.is_none()) {
            let why = format!(
                "the service {what}, already at {} visitors/s; its answers: {}. Check --target and \
                 --scenario: a sign-in, or the waiting room in front of it",
                self.from, step.answers
            );
            state.found.steps.push(step);
            state.found.refused = true;
            return Err(End::Early(why));
        }
        // What is not steady yet says nothing more.
        let says_more = state.found.warm_up.is_zero() && step.own_limit.is_none();
        let mut first = says_more.then_some(step);
        while !state.found.settled {
            let next = self.next(state);
            let most = next.verifies && next.rate >= state.most;
            if let Some(limit) = state.own_limit.take_if(|_| most) {
                return Err(End::Own(limit));
            }
            if next.rate <= LEAST {
                let why = "all loads together show that the objectives are missed at every load";
                return Err(End::Early(why.to_owned()));
            }
            let counted = match first.take() {
                Some(step) => Ok(step),
                None => self.counted(&next, state).await,
            };
            let step = match counted {
                Ok(step) => step,
                // Where the service misses may be below what this program can offer.
                Err(End::Own(limit)) if next.rate > SLACK * state.highest => {
                    state.most = (next.rate * state.highest).sqrt();
                    state.own_limit = Some(limit);
                    continue;
                }
                Err(end) => return Err(end),
            };
            let (rate, recovers) = (step.rate, !step.is_clear_miss() || step.only_refused);
            state.take(next.verifies, step);
            if most && state.found.held == Some(rate) {
                state.found.settled = true;
                let most = self.most;
                return Err(End::Early(format!("the objectives were met at --most, {most}")));
            }
            if !recovers {
                self.recovers(rate, state).await?;
            }
        }
        Ok(())
    }

    /// The load that comes next.
    fn next(&self, state: &State) -> Next {
        let twice = (2.0 * state.highest).min(state.most);
        let [low, middle, high] = [RISK, 0.5, 1.0 - LOST].map(|it| state.ceiling.quantile(it));
        let steps = &state.found.steps;
        if middle <= LEAST {
            // Whether each load is missed, or some were by chance, longer looks show.
            let held = steps.iter().filter(|step| step.held()).map(|step| step.rate);
            let held = held.filter(|rate| *rate < state.missed).reduce(f64::max);
            let higher = state.found.held.map(|held| (2.0 * held).min(state.most));
            let rate = higher.filter(|rate| *rate < state.missed).or(held).unwrap_or(LEAST);
            return self.at(rate, LONGER * self.step, true);
        }
        let looked = state.found.held.is_some() || state.missed.is_finite();
        let missed = looked || steps.iter().any(Step::is_clear_miss);
        if !missed && state.highest < state.most {
            return self.at(twice, self.look(state.found.warm_up), false);
        }
        if state.highest >= state.most && (!missed || middle >= state.most) {
            return self.at(state.most, LONGER * self.step, true);
        }
        // Just below what the ceiling can be, and what was missed when it lasted.
        let candidate = (ABOVE * low).min(MARGIN * middle.min(state.missed)).min(state.most);
        let higher = state.found.held.is_none_or(|held| candidate > 1.01 * held);
        if high / low <= ABOVE / BELOW && higher {
            self.at(candidate, LONGER * self.step, true)
        } else {
            let times = if high / low <= NEAR { 2 } else { 1 };
            self.at(middle.min(twice), times * self.step, false)
        }
    }

    fn at(&self, rate: f64, length: Duration, verifies: bool) -> Next {
        Next { rate, length: length.max(Duration::from_secs_f64(FEW / rate)), verifies }
    }
}

/// A load that comes next.
pub(super) struct Next {
    pub rate: f64,
    pub length: Duration,
    /// It may be what is found.
    pub verifies: bool,
}

/// How far a search has come: what the loads so far have shown.
pub(super) struct State {
    pub begun: Instant,
    pub progress: Progress,
    pub found: Found,
    ceiling: Ceiling,
    /// The highest load that was no clear miss.
    pub highest: f64,
    /// The highest load that is offered, and the limit of this program above it.
    most: f64,
    own_limit: Option<OwnLimit>,
    /// The lowest load that was offered for long and missed them.
    missed: f64,
}

impl State {
    fn take(&mut self, verifies: bool, step: Step) {
        if !step.is_clear_miss() {
            self.highest = self.highest.max(step.rate);
        }
        if let Some(evidence) = &step.evidence {
            self.ceiling.learn(evidence);
        }
        if verifies && step.held() {
            self.found.held = Some(step.rate);
        } else if verifies {
            self.missed = self.missed.min(step.rate);
        }
        self.found.steps.push(step);
        self.found.settled = self.found.held.is_some_and(|held| {
            self.ceiling.within(0.0, held / ABOVE) <= SETTLED.0
                && self.ceiling.within(held / BELOW, f64::INFINITY) <= SETTLED.1
        });
    }
}

/// Up to a whole half minute, such as `2m30s`.
pub fn minutes(time: Duration) -> String {
    let whole = Duration::from_secs(time.as_secs().div_ceil(30) * 30);
    crate::durations::format_duration(whole).replace(' ', "")
}
