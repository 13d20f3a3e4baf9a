//! What a search reports: the plan, tables and plots.

use std::time::Duration;

use serde::Serialize;

use super::Size;
use super::objective::Objective;
use super::paces::Paces;
use super::step::Step;
use crate::own_limit::OwnLimit;
use crate::plan::{Basis, Pace, Plan, Provisional};
use crate::report::{Curve, Plot, Report, number};
use crate::scenario::Scenario;

/// Of `size.json`.
const SCHEMA_VERSION: u32 = 2;

/// What was found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Found {
    /// The highest load that met its objectives, in visitors a second.
    pub held: Option<f64>,
    /// Whether that load was offered for long, and all loads together agree with it.
    pub settled: bool,
    /// The probability that it is at most 5 % above the ceiling and at most 10 % below.
    pub confidence: f64,
    /// The ceiling is between these with a probability of 90 %, in visitors a second.
    pub interval: [f64; 2],
    /// If it is not settled: the `--within` that would settle it, such as `5m`.
    pub within: Option<String>,
    /// The objective that the next higher load missed, or will miss if only its queue grew yet.
    pub stopped_by: Option<String>,
    /// Whether the service answered each request of the first load, and none as expected.
    #[serde(skip)]
    pub refused: bool,
    /// How long loads are offered until they are steady, as far as that is known.
    #[serde(skip)]
    pub warm_up: Duration,
    /// The limit of this program that ended the search.
    #[serde(skip)]
    pub own_limit: Option<OwnLimit>,
    /// Every load that was measured, in order, but for those that only wait for a recovery.
    pub steps: Vec<Step>,
    /// What else there is to report.
    pub remarks: Vec<String>,
}

impl Found {
    /// The lowest load above the one that was found that was missed, by more than chance if there
    /// is one.
    pub fn next_higher(&self) -> Option<&Step> {
        let above = self.steps.iter().filter(|step| self.held.is_none_or(|it| step.rate > it));
        let missed = above.filter(|step| !step.held());
        missed.min_by(|one, other| {
            let clear = other.is_clear_miss().cmp(&one.is_clear_miss());
            clear.then(one.rate.total_cmp(&other.rate))
        })
    }

    /// The highest load that met its objectives, and the nearest that was measured to.
    pub fn highest(&self) -> Option<(f64, &Step)> {
        let held = self.held?;
        let near = self.steps.iter().filter(|step| step.held() && step.rate <= held * 1.001);
        Some((held, near.max_by(|one, other| one.rate.total_cmp(&other.rate))?))
    }
}

/// `size.json`.
#[derive(Serialize)]
pub struct Sized {
    schema_version: u32,
    /// The service.
    target: String,
    /// What visitors did.
    scenario: String,
    /// After so many seconds without an answer a request was given up.
    timeout_seconds: f64,
    /// None when no load met its objectives.
    pub plan: Option<Plan>,
    /// What was found.
    #[serde(flatten)]
    pub found: Found,
    /// Requests made ÷ those needed, at the load that was found.
    retry_factor: Option<f64>,
    /// The lowest load above it that was missed.
    next_higher: Option<Step>,
    paces: Option<Paces>,
    #[serde(skip)]
    basis: Option<Basis>,
}

impl Sized {
    /// What was found, and the plan that follows: from what the nearest load showed, at the load
    /// that was found.
    pub fn new(size: &Size, scenario: &Scenario, found: Found, paces: Option<Paces>) -> Self {
        let thinks = !scenario.longest_think().is_zero();
        let basis = found.highest().map(|(held, step)| Basis {
            tps: held * step.tps / step.rate,
            calls_per_visitor: step.calls_per_visitor,
            retry_factor: step.retry_factor,
            interval: size.options.interval,
            show_up: size.options.show_up,
            claim_ttl: size.options.claim_ttl,
            headroom: size.headroom,
            stay: size.stay.or(thinks.then(|| Duration::from_secs_f64(step.stay_seconds))),
            // The service takes far more visitors than with batches.
            pace: Pace::Even,
            stopped_by: found.stopped_by.clone(),
        });
        let confidence = found.confidence;
        let provisional = found.within.clone().map(|within| Provisional { confidence, within });
        Self {
            schema_version: SCHEMA_VERSION,
            target: size.target.url.to_string(),
            scenario: scenario.name.clone(),
            timeout_seconds: size.timeout().as_secs_f64(),
            plan: basis.as_ref().map(|basis| Plan { provisional, ..basis.plan() }),
            retry_factor: basis.as_ref().map(|basis| basis.retry_factor),
            next_higher: found.next_higher().cloned(),
            found,
            paces,
            basis,
        }
    }

    /// For people.
    pub fn report(&self, size: &Size) -> anyhow::Result<Report> {
        let mut report = Report::new("How many visitors the service can handle");
        let Self { target, scenario, timeout_seconds, .. } = self;
        report.text(format!(
            "{scenario} at {target}. Open model: visitors arrived at the stated rate, whatever the \
             service did, and latency counts from when each was due. A request without an answer \
             timed out after {timeout_seconds} s."
        ));
        let Found { held, within, confidence, interval, .. } = &self.found;
        let [low, high] = interval.map(number);
        if let Some(within) = within {
            report.text(format!(
                "Provisional: the search was not settled, and `--apply` refuses the plan. \
                 `--within {within}` would settle it."
            ));
        }
        match held {
            Some(held) => {
                let held = number(*held);
                let next = self.next_higher.as_ref().map(|step| {
                    let (rate, why) = (number(step.rate), step.why_missed());
                    format!("The next higher load, {rate} visitors/s, {why}")
                });
                let next = next.unwrap_or("No higher load missed them".to_owned());
                report.text(format!(
                    "The objectives were met up to {held} visitors/s. {next}. With a confidence of \
                     {:.0} % that load is from 10 % below the ceiling to 5 % above. With one of \
                     90 % the ceiling is from {low} to {high} visitors/s.",
                    100.0 * confidence
                ));
            }
            None if self.found.own_limit.is_some() || self.found.refused => {
                report.text("There is no plan: the run could not be done.");
            }
            None => report.text("No load met the objectives."),
        }
        for remark in &self.found.remarks {
            report.text(format!("Note: {}.", remark.trim_end_matches('.')));
        }
        if let Some((plan, basis)) = self.plan.as_ref().zip(self.basis.as_ref()) {
            size.options.show(plan, basis, &mut report)?;
        }
        let mut head = vec!["visitors/s", "seconds", "met"];
        let names: Vec<_> = size.slo.iter().map(Objective::to_string).collect();
        head.extend(names.iter().map(String::as_str));
        head.extend(["p99.9", "answers", "retry factor", "latency grows"]);
        let row = |step: &Step| {
            let mut cells =
                vec![number(step.rate), number(step.seconds), step.verdict().to_owned()];
            cells.extend(step.verdicts.iter().map(|it| it.value.clone()));
            cells.extend([format!("{:.1} ms", step.latency_ms.p99_9), step.answers.clone()]);
            cells.push(format!("{:.2}", step.retry_factor));
            cells.push(format!("{} ms/s", number((1e3 * step.growth).round())));
            cells
        };
        let steps = &self.found.steps;
        report.heading("Loads, in the order in which they were offered");
        report.rows(head.clone(), steps.iter().map(row).collect());
        let curves = vec![
            curve("p50", steps, |it| it.latency_ms.p50),
            curve("p95", steps, |it| it.latency_ms.p95),
            curve("p99", steps, |it| it.latency_ms.p99),
            curve("p99.9", steps, |it| it.latency_ms.p99_9),
        ];
        let plot = Plot::new("Latency over load", "visitors/s", "latency (ms)", curves);
        report.plot("size-latency", limited(plot, &size.slo));
        let shares = size.slo.iter().enumerate().filter_map(|(at, it)| Some((at, it, it.share()?)));
        for (at, objective, limit) in shares {
            let of = |step: &Step| step.verdicts[at].beyond.map_or(f64::NAN, |it| 100.0 * it.0);
            let curves = vec![curve("share", steps, of)];
            let plot = Plot::new(&names[at], "visitors/s", "share of requests (%)", curves);
            let plot = plot.with_limit(objective.to_string(), 100.0 * limit);
            report.plot(format!("size-share-{at}"), plot);
        }
        if let Some(paces) = &self.paces {
            self.show_paces(paces, &size.slo, &mut report);
            report.rows(head, paces.batches.iter().map(row).collect());
        }
        Ok(report)
    }

    fn show_paces(&self, paces: &Paces, objectives: &[Objective], report: &mut Report) {
        report.heading("The same average, all at once");
        let held = paces.held().map_or("none of these averages".to_owned(), |held| {
            format!("up to {} visitors/s on average", number(held))
        });
        let even = self.found.held.unwrap_or_default();
        report.text(format!(
            "At an even pace the objectives were met up to {} visitors/s; with all visitors of {} \
             s admitted at once, {held}.",
            number(even),
            paces.interval_seconds
        ));
        let evenly = self.found.steps.iter().filter(|it| it.rate <= even * 1.1);
        let curves = vec![
            curve("pace = \"even\"", evenly, |it| it.latency_ms.p95),
            curve("pace = \"batch\"", &paces.batches, |it| it.latency_ms.p95),
        ];
        let title = "What each pace costs at the same average";
        let plot = Plot::new(title, "visitors/s on average", "p95 (ms)", curves);
        let of_p95 = objectives.iter().filter(|objective| objective.quantile() == Some(0.95));
        report.plot("size-paces", limited(plot, of_p95));
    }
}

/// A figure over the load.
fn curve<'a>(
    name: &str,
    steps: impl IntoIterator<Item = &'a Step>,
    of: impl Fn(&Step) -> f64,
) -> Curve {
    let points = steps.into_iter().map(|step| (step.rate, of(step)));
    let mut points: Vec<_> = points.collect();
    points.sort_by(|one, other| one.0.total_cmp(&other.0));
    Curve::new(name, points)
}

/// With the limits of latencies as lines.
fn limited<'a>(plot: Plot, objectives: impl IntoIterator<Item = &'a Objective>) -> Plot {
    objectives.into_iter().fold(plot, |plot, objective| match objective.latency() {
        Some(limit) => plot.with_limit(objective.to_string(), limit.as_secs_f64() * 1e3),
        None => plot,
    })
}
