//! One load, and whether it held.

use std::time::Duration;

use serde::Serialize;

use super::measure::Measured;
use super::objective::Objective;
use crate::client::Fault;
use crate::own_limit::OwnLimit;

/// Latency that grows by so many seconds a second is a line that grows: the load is past what the
/// service can do, though its answers may still be in time while the step lasts.
const GROWS: f64 = 0.05;

/// A load that was offered.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// Visitors a second.
    pub rate: f64,
    /// What each objective says, in their order.
    verdicts: Vec<Verdict>,
    /// By how much the latency grew, in seconds a second.
    pub growth: f64,
    /// The line of those who wait kept growing.
    pub overloaded: bool,
    /// Latency quantiles, in milliseconds.
    pub p50_ms: f64,
    /// As `p50_ms`.
    pub p95_ms: f64,
    /// As `p50_ms`.
    pub p99_ms: f64,
    /// Of all requests.
    pub error_share: f64,
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
    #[serde(skip)]
    own_limit: Option<OwnLimit>,
    /// Visitors who arrived while as many as allowed were under way.
    #[serde(skip)]
    unplayed: u64,
    /// Of all requests, those with a status that is none of the expected.
    #[serde(skip)]
    unexpected: f64,
    /// Requests that the service could have answered.
    #[serde(skip)]
    played: u64,
}

#[derive(Clone, Debug, Serialize)]
struct Verdict {
    objective: String,
    held: bool,
    /// It did not, and of more requests it might have.
    may_be_chance: bool,
    value: String,
    #[serde(skip)]
    of_latency: bool,
}

/// Holds what was measured against the objectives.
pub fn judge(rate: f64, measured: &Measured, objectives: &[Objective]) -> Step {
    let total = &measured.total;
    let answers = total.into();
    let verdict = |objective: &Objective| {
        let judged = objective.judge(&answers);
        Verdict {
            objective: objective.to_string(),
            held: judged.held,
            may_be_chance: judged.may_be_chance,
            value: judged.value,
            of_latency: objective.latency().is_some(),
        }
    };
    let millis = |share| total.latency.quantile(share).as_secs_f64() * 1e3;
    let per_visitor = |count: u64| count as f64 / measured.arrived.max(1.0);
    Step {
        rate,
        verdicts: objectives.iter().map(verdict).collect(),
        growth: measured.growth,
        overloaded: measured.growth >= GROWS,
        p50_ms: millis(0.5),
        p95_ms: millis(0.95),
        p99_ms: millis(0.99),
        error_share: total.error_share(),
        retry_factor: total.retry_factor(),
        tps: rate * per_visitor(total.requests - total.errors()),
        calls_per_visitor: per_visitor(total.requests - total.again),
        stay_seconds: measured.stay.as_secs_f64(),
        steady_after: measured.steady_after,
        own_limit: measured.own_limit.clone(),
        unplayed: measured.unplayed,
        unexpected: total
            .faults
            .get(&Fault::Status)
            .map_or(0.0, |count| *count as f64 / total.requests.max(1) as f64),
        played: total.requests,
    }
}

impl Step {
    /// Whether it was missed, and that may be chance as requests were few.
    pub fn may_be_chance(&self) -> bool {
        let mut missed = self.verdicts.iter().filter(|verdict| !verdict.held).peekable();
        !self.overloaded && missed.peek().is_some() && missed.all(|it| it.may_be_chance)
    }

    /// Whether every objective held, and the service kept up.
    pub fn held(&self) -> bool {
        !self.overloaded && self.verdicts.iter().all(|verdict| verdict.held)
    }

    /// The first objective that was missed. Where the line only grew yet, the first of a latency
    /// will be: it breaks as soon as the load lasts.
    pub fn missed(&self) -> Option<String> {
        let missed = self.verdicts.iter().find(|verdict| !verdict.held);
        let grows = || self.verdicts.iter().find(|verdict| verdict.of_latency);
        let of = missed.or_else(|| grows().filter(|_| self.overloaded));
        let named = of.map(|verdict| verdict.objective.clone());
        named.or_else(|| self.overloaded.then(|| "keeps up".to_owned()))
    }

    /// The part of the load that the service refused while it did the rest in time. Of one that
    /// collapses, errors do not tell what it can do.
    pub fn refused(&self) -> f64 {
        let late = self.verdicts.iter().any(|verdict| verdict.of_latency && !verdict.held);
        if late || self.overloaded { 0.0 } else { self.unexpected }
    }

    /// The limit of this program, if it was at one. More visitors would only have been more load,
    /// so a load that was missed by those who were played is one.
    pub fn own_limit(&self) -> Option<OwnLimit> {
        let unplayed = || {
            let all = self.played + self.unplayed;
            let says = self.held() || self.played == 0;
            says.then(|| OwnLimit::of_unplayed(self.unplayed, all)).flatten()
        };
        self.own_limit.clone().or_else(unplayed)
    }

    /// For whoever watches.
    pub fn line(&self) -> String {
        let figures: Vec<_> = self
            .verdicts
            .iter()
            .map(|it| {
                let held = match it {
                    Verdict { may_be_chance: true, .. } => "missed, maybe by chance",
                    Verdict { held: true, .. } => "held",
                    _ => "MISSED",
                };
                format!("{} {held} ({})", it.objective, it.value)
            })
            .collect();
        let grows = if self.overloaded { ", the line grows" } else { "" };
        let ours = if self.own_limit().is_some() {
            "not counted, as this program fell short: "
        } else {
            ""
        };
        format!("{:.1} visitors/s: {ours}{}{grows}", self.rate, figures.join(", "))
    }

    /// What held or missed, for a table.
    pub fn verdict(&self) -> &'static str {
        let objectives = self.verdicts.iter().all(|verdict| verdict.held);
        match (objectives, self.overloaded) {
            (true, false) => "yes",
            (true, true) => "no: the line grows",
            _ if self.may_be_chance() => "no, maybe by chance",
            _ => "no",
        }
    }

    /// What was missed, in a sentence after "the next higher load ".
    pub fn why_missed(&self) -> String {
        let missed = self.missed().unwrap_or_default();
        if self.verdicts.iter().any(|verdict| !verdict.held) {
            return format!("missed {missed}");
        }
        format!(
            "made the line of those who wait grow by {:.0} ms a second ({:.0} or more is too \
             much), so it would have missed {missed} had it lasted",
            1e3 * self.growth,
            1e3 * GROWS
        )
    }

    /// A row of a table: what each objective says.
    pub fn figures(&self) -> Vec<String> {
        self.verdicts.iter().map(|verdict| verdict.value.clone()).collect()
    }
}
