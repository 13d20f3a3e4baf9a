//! One load, and what it shows.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::ceiling::Evidence;
use super::measure::Measured;
use super::objective::{Judged, Objective};
use crate::client::Fault;
use crate::load::{Percentiles, Tally, share};
use crate::own_limit::OwnLimit;
use crate::report::number;

/// A step in which latency grows by so many seconds, or by a quarter of its limit if that is more,
/// shows a queue of requests that grows: the load is above what the service completes, though its
/// answers may still be in time.
const GROWN: f64 = 0.2;
/// Errors that follow each other within so many seconds are taken as one observation: they mostly
/// have the same cause.
const CLUSTER: f64 = 0.02;
/// Observations that count at most, so that no step decides alone.
const MOST: f64 = 500.0;
/// Of an objective without a share: the share that counts as its limit.
const SHARE: f64 = 0.05;
/// Requests of a step at least that say whether it is refused.
const FEW: u64 = 3;
/// The least limit of a share that is reckoned with.
const LEAST: f64 = 0.001;

/// A load that was offered.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// Visitors a second.
    pub rate: f64,
    /// How long it was measured.
    pub seconds: f64,
    /// What each objective shows, in their order.
    pub verdicts: Vec<Judged>,
    /// By how much the latency grew, in seconds a second.
    pub growth: f64,
    /// The queue of requests kept growing.
    pub overloaded: bool,
    /// Latencies, in milliseconds.
    pub latency_ms: Percentiles,
    /// Of all requests.
    pub error_share: f64,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Statuses and faults with their counts.
    pub answers: String,
    /// Requests made ÷ those needed.
    pub retry_factor: f64,
    /// Requests a second that were answered as expected.
    pub tps: f64,
    /// Requests of a visit, without those tried again.
    pub calls_per_visitor: f64,
    /// The mean length of a visit, in seconds.
    pub stay_seconds: f64,
    /// The warm-up after which it is steady.
    #[serde(skip)]
    pub steady_after: Duration,
    /// The limit of the harness, if it was at one: the step says nothing of the service then.
    #[serde(skip)]
    pub own_limit: Option<OwnLimit>,
    /// What the service does to each visitor, if it serves none: it does not answer, or answers
    /// each request of a step, and none as the scenario expects.
    #[serde(skip)]
    pub refuses: Option<&'static str>,
    /// What it says of the ceiling; nothing without an answer.
    #[serde(skip)]
    pub evidence: Option<Evidence>,
    /// Requests were refused, and the others were in time.
    #[serde(skip)]
    pub only_refused: bool,
}

/// Compares what was measured with the objectives.
pub fn judge(rate: f64, seconds: f64, measured: &Measured, objectives: &[Objective]) -> Step {
    let total = &measured.total;
    let verdicts: Vec<_> = objectives.iter().map(|it| it.judge(total)).collect();
    let limit = objectives.iter().filter_map(Objective::latency).max().unwrap_or_default();
    let overloaded = measured.growth * seconds >= GROWN.max(limit.as_secs_f64() / 4.0);
    let held = !overloaded && verdicts.iter().all(|it| it.held);
    let is_share = |it: &Judged| it.objective.share().is_some();
    let in_time = !overloaded && verdicts.iter().all(|it| it.held || is_share(it));
    let refused = part(total, Fault::Status);
    let only_refused = in_time && refused > 0.0;
    let estimate = if in_time {
        let allowed = objectives.iter().filter_map(Objective::share).reduce(f64::min);
        let chance = (refused / (1.0 - refused).max(0.01) / total.requests as f64).sqrt();
        let estimate = (rate * (1.0 - refused).max(1e-3), 0.01 + chance);
        allowed.filter(|share| refused > *share).map(|_| estimate)
    } else {
        of_queue(rate, seconds, measured, overloaded)
    };
    let observed = verdicts.iter().map(|judged| {
        let requests = total.requests as f64;
        // Answers one after the other wait for the same: those within the limit of a latency of
        // each other are taken as one observation, too.
        let apart = judged.objective.latency().map_or(CLUSTER, |limit| limit.as_secs_f64());
        let all = (seconds / apart).min(requests).clamp(1.0, MOST).round();
        let (beyond, limit) = match judged.beyond {
            _ if overloaded => (1.0, SHARE),
            Some((beyond, limit)) => (beyond, limit.clamp(LEAST, 0.9)),
            None => (if judged.held { 0.0 } else { 1.0 }, SHARE),
        };
        let beyond = beyond * all;
        let chance = (all * limit * (1.0 - limit)).sqrt();
        let (all, over) = (all as u64, (beyond - all * limit) / chance);
        (over, Evidence { rate, all, beyond, limit, estimate })
    });
    let worst = observed.max_by(|one, other| one.0.total_cmp(&other.0));
    let evidence = worst.map(|(_, evidence)| evidence).filter(|_| total.requests > 0);
    // More visitors would only have been more load, so a miss by those who were played is a miss.
    let (played, unplayed) = (total.requests, measured.unplayed);
    let unplayed = OwnLimit::of_unplayed(unplayed, played + unplayed);
    let unplayed = unplayed.filter(|_| held || played == 0);
    let refused = |it: &Tally| {
        let answered = it.statuses.values().sum::<u64>();
        it.requests >= FEW && it.errors() == it.requests && answered == it.requests
    };
    let refuses = if part(total, Fault::Timeout) >= 1.0 {
        Some("does not answer")
    } else {
        let each = std::iter::once(total).chain(&measured.steps).any(refused);
        each.then_some("refuses every visitor")
    };
    let per_visitor = |count: u64| count as f64 / measured.arrived.max(1.0);
    Step {
        rate,
        seconds,
        verdicts,
        growth: measured.growth,
        overloaded,
        latency_ms: (&total.latency).into(),
        error_share: total.error_share(),
        statuses: total.statuses.clone(),
        answers: total.outcomes(),
        retry_factor: total.retry_factor(),
        tps: rate * per_visitor(total.requests - total.errors()),
        calls_per_visitor: per_visitor(total.requests - total.again),
        stay_seconds: measured.stay.as_secs_f64(),
        steady_after: measured.steady_after,
        own_limit: measured.own_limit.clone().or(unplayed),
        refuses: refuses.filter(|_| total.requests > 0),
        evidence,
        only_refused,
    }
}

fn part(total: &Tally, fault: Fault) -> f64 {
    share(total.faults.get(&fault).copied().unwrap_or_default(), total.requests)
}

/// What the service completes, from a load above it that queues: latency grows by as many seconds
/// a second as the load is above it, or reaches its end (the timeout) so much earlier.
fn of_queue(rate: f64, seconds: f64, measured: &Measured, overloaded: bool) -> Option<(f64, f64)> {
    let (timeouts, growth) = (part(&measured.total, Fault::Timeout), measured.growth);
    if timeouts > 0.05 {
        let longest = measured.total.latency.max().as_secs_f64();
        let growth = longest / (1.0 - timeouts).max(0.05) / seconds;
        return Some((rate / (1.0 + growth), 0.25));
    }
    overloaded.then(|| (rate / (1.0 + growth), 0.02 + 0.1 * growth + 0.03 / seconds))
}

impl Step {
    /// Whether every objective was met, and the service kept up.
    pub fn held(&self) -> bool {
        !self.overloaded && self.verdicts.iter().all(|verdict| verdict.held)
    }

    /// Whether it is beyond the limit by more than chance.
    pub fn is_clear_miss(&self) -> bool {
        self.evidence.as_ref().is_none_or(Evidence::is_clear_miss)
    }

    /// The first objective that was missed. If only the queue grew yet, the first of a latency:
    /// it is missed as soon as the load lasts.
    pub fn missed(&self) -> Option<String> {
        let missed = self.verdicts.iter().find(|verdict| !verdict.held);
        let grows = || self.verdicts.iter().find(|verdict| verdict.objective.latency().is_some());
        let of = missed.or_else(|| grows().filter(|_| self.overloaded));
        let named = of.map(|verdict| verdict.objective.to_string());
        named.or_else(|| self.overloaded.then(|| "keeps up".to_owned()))
    }

    /// For the progress.
    pub fn line(&self) -> String {
        let figures: Vec<_> = self
            .verdicts
            .iter()
            .map(|it| {
                let met = if it.held { "met" } else { "missed" };
                format!("{} {met} ({})", it.objective, it.value)
            })
            .collect();
        let grows = if self.overloaded { ", the queue grows" } else { "" };
        let ours =
            if self.own_limit.is_some() { "not counted, harness at its limit: " } else { "" };
        let (rate, seconds) = (number(self.rate), number(self.seconds));
        format!("{rate} visitors/s for {seconds} s: {ours}{}{grows}", figures.join(", "))
    }

    /// Whether it met its objectives, for a table.
    pub fn verdict(&self) -> &'static str {
        let objectives = self.verdicts.iter().all(|verdict| verdict.held);
        match (objectives, self.overloaded) {
            (true, false) => "yes",
            (true, true) => "no: the queue grows",
            _ if self.is_clear_miss() => "no",
            _ => "no, maybe by chance",
        }
    }

    /// What was missed, in a sentence after "the next higher load ".
    pub fn why_missed(&self) -> String {
        let missed = self.missed().unwrap_or_default();
        if self.verdicts.iter().any(|verdict| !verdict.held) {
            return format!("missed {missed}");
        }
        format!(
            "made latency grow by {:.0} ms a second, so it would have missed {missed} later",
            1e3 * self.growth
        )
    }
}
