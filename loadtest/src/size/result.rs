//! What a search reports: the plan, tables and plots.

use serde::Serialize;

use super::objective::Objective;
use super::paces::Paces;
use super::search::Found;
use super::step::Step;
use crate::plan::{Basis, Options, Plan, Provisional};
use crate::report::{Curve, Plot, Report, number};

/// Of `size.json`.
const SCHEMA_VERSION: u32 = 2;

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Subject {
    /// The service.
    pub target: String,
    /// What visitors did.
    pub scenario: String,
    /// After so many seconds without an answer a request was given up.
    pub timeout_seconds: f64,
}

/// `size.json`.
#[derive(Clone, Debug, Serialize)]
pub struct Sized {
    schema_version: u32,
    #[serde(flatten)]
    subject: Subject,
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
    /// What was found, and the plan that follows.
    pub fn new(subject: Subject, found: Found, paces: Option<Paces>, basis: Option<Basis>) -> Self {
        let confidence = found.confidence;
        let provisional = found.within.clone().map(|within| Provisional { confidence, within });
        let plan = basis.as_ref().map(|basis| Plan { provisional, ..basis.plan() });
        Self {
            schema_version: SCHEMA_VERSION,
            subject,
            plan,
            retry_factor: basis.as_ref().map(|basis| basis.retry_factor),
            next_higher: found.next_higher().cloned(),
            found,
            paces,
            basis,
        }
    }

    /// For people.
    ///
    /// # Errors
    ///
    /// When the plan cannot be written as JSON.
    pub fn report(&self, objectives: &[Objective], options: &Options) -> anyhow::Result<Report> {
        let mut report = Report::new("How many visitors the service can take");
        let Subject { target, scenario, timeout_seconds } = &self.subject;
        report.text(format!(
            "{scenario} at {target}. Open model: visitors came at the stated rate whatever the \
             service did, and latency counts from the instant at which they should have come. A \
             request without an answer was given up after {timeout_seconds} s."
        ));
        let Found { held, within, confidence, interval, .. } = &self.found;
        let [low, high] = interval.map(number);
        match held {
            Some(held) => {
                let held = number(*held);
                let next = self.next_higher.as_ref().map(|step| {
                    let (rate, why) = (number(step.rate), step.why_missed());
                    format!("The next higher load, {rate} visitors/s, {why}")
                });
                let next = next.unwrap_or("No higher load was missed".to_owned());
                report.text(format!(
                    "The objectives were met up to {held} visitors/s. {next}. With a confidence of \
                     {:.0} % that load is from 10 % below the ceiling to 5 % above. With one of \
                     90 % the ceiling is from {low} to {high} visitors/s.",
                    100.0 * confidence
                ));
            }
            None => report.text("No load met the objectives."),
        }
        if let Some(within) = within {
            report.text(format!(
                "PROVISIONAL: the search was not settled, and `--apply` refuses the plan. \
                 `--within {within}` would settle it."
            ));
        }
        for remark in &self.found.remarks {
            report.text(format!("Note: {remark}."));
        }
        if let Some((plan, basis)) = self.plan.as_ref().zip(self.basis.as_ref()) {
            options.tell(plan, basis, &mut report)?;
        }
        let mut head = vec!["visitors/s", "seconds", "met"];
        let names: Vec<_> = objectives.iter().map(Objective::to_string).collect();
        head.extend(names.iter().map(String::as_str));
        head.extend(["p99.9", "answers", "retry factor", "latency grows"]);
        let row = |step: &Step| {
            let mut cells =
                vec![number(step.rate), number(step.seconds), step.verdict().to_owned()];
            cells.extend(step.figures());
            cells.extend([format!("{:.1} ms", step.latency_ms.p99_9), step.answers.clone()]);
            cells.push(format!("{:.2}", step.retry_factor));
            cells.push(format!("{:.0} ms/s", 1e3 * step.growth));
            cells
        };
        report.heading("Loads, in the order in which they were offered");
        report.rows(head.clone(), self.found.steps.iter().map(row).collect());
        report.plot("size-latency", self.latencies(objectives));
        if let Some(paces) = &self.paces {
            self.tell_paces(paces, objectives, &mut report);
            report.rows(head, paces.batches.iter().map(row).collect());
        }
        Ok(report)
    }

    fn latencies(&self, objectives: &[Objective]) -> Plot {
        let mut steps: Vec<_> = self.found.steps.iter().collect();
        steps.sort_by(|one, other| one.rate.total_cmp(&other.rate));
        let curve = |name: &str, of: &dyn Fn(&Step) -> f64| {
            Curve::new(name, steps.iter().map(|step| (step.rate, of(step))).collect())
        };
        let curves = vec![
            curve("p50", &|step| step.latency_ms.p50),
            curve("p95", &|step| step.latency_ms.p95),
            curve("p99", &|step| step.latency_ms.p99),
            curve("p99.9", &|step| step.latency_ms.p99_9),
        ];
        limited(Plot::new("Latency over load", "visitors/s", "latency (ms)", curves), objectives)
    }

    fn tell_paces(&self, paces: &Paces, objectives: &[Objective], report: &mut Report) {
        report.heading("The same average, all at once");
        let held = paces.held().map_or("none of these averages".to_owned(), |held| {
            format!("up to {} visitors/s on average", number(held))
        });
        let even = self.found.held.unwrap_or_default();
        report.text(format!(
            "At an even pace the objectives were met up to {} visitors/s; with all visitors of {} s \
             admitted at once, {held}.",
            number(even),
            paces.interval_seconds
        ));
        let points = |steps: &[Step]| {
            let mut points: Vec<_> =
                steps.iter().map(|step| (step.rate, step.latency_ms.p95)).collect();
            points.sort_by(|one, other| one.0.total_cmp(&other.0));
            points
        };
        let evenly: Vec<_> =
            self.found.steps.iter().filter(|it| it.rate <= even * 1.1).cloned().collect();
        let curves = vec![
            Curve::new("pace = \"even\"", points(&evenly)),
            Curve::new("pace = \"batch\"", points(&paces.batches)),
        ];
        let title = "What each pace costs at the same average";
        let plot = Plot::new(title, "visitors/s on average", "p95 (ms)", curves);
        let of_p95 = objectives.iter().filter(|objective| objective.quantile() == Some(0.95));
        report.plot("size-paces", limited(plot, of_p95));
    }
}

/// With the limits of latencies as lines.
fn limited<'a>(plot: Plot, objectives: impl IntoIterator<Item = &'a Objective>) -> Plot {
    objectives.into_iter().fold(plot, |plot, objective| match objective.latency() {
        Some(limit) => plot.with_limit(objective.to_string(), limit.as_secs_f64() * 1e3),
        None => plot,
    })
}
