//! What a search tells: the plan, tables and plots.

use serde::Serialize;

use super::objective::Objective;
use super::paces::Paces;
use super::search::Found;
use super::step::Step;
use crate::plan::{Basis, Options, Plan};
use crate::report::{Curve, Plot, Report};

/// Of `size.json`.
const SCHEMA_VERSION: u32 = 1;

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
    /// None when no load held.
    pub plan: Option<Plan>,
    /// The highest load that held, in visitors a second.
    held: Option<f64>,
    /// What each run found, in visitors a second.
    pub runs: Vec<f64>,
    /// Whether three runs agree within 10 %.
    pub agree: bool,
    /// Requests made ÷ those needed, at the load that was found.
    pub retry_factor: Option<f64>,
    /// The lowest load above it that was missed.
    next_higher: Option<Step>,
    steps: Vec<Step>,
    paces: Option<Paces>,
    remarks: Vec<String>,
    #[serde(skip)]
    basis: Option<Basis>,
}

impl Sized {
    /// What was found, and the plan that follows.
    pub fn new(subject: Subject, found: Found, paces: Option<Paces>, basis: Option<Basis>) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            subject,
            next_higher: found.next_higher().cloned(),
            plan: basis.as_ref().filter(|_| found.agree).map(Basis::plan),
            held: found.held,
            retry_factor: basis.as_ref().map(|basis| basis.retry_factor),
            runs: found.runs,
            agree: found.agree,
            steps: found.steps,
            paces,
            remarks: found.remarks,
            basis,
        }
    }

    /// For people.
    ///
    /// # Errors
    ///
    /// When the plan cannot be written as JSON.
    pub fn report(&self, objectives: &[Objective], options: &Options) -> anyhow::Result<Report> {
        let mut report = Report::new("How many may come in");
        let Subject { target, scenario, timeout_seconds } = &self.subject;
        report.text(format!(
            "{scenario} at {target}. Open model: visitors came at the stated rate whatever the \
             service did, and latency counts from the instant at which they should have come. A \
             request without an answer was given up after {timeout_seconds} s."
        ));
        match self.held {
            Some(held) => {
                let runs: Vec<_> = self.runs.iter().map(|run| format!("{run:.1}")).collect();
                let next = self.next_higher.as_ref().map_or(
                    "No higher load was missed".to_owned(),
                    |step| {
                        let (rate, why) = (step.rate, step.why_missed());
                        format!("The next higher load, {rate:.1} visitors/s, {why}")
                    },
                );
                let runs = match &runs[..] {
                    [] => String::new(),
                    runs => format!(" (by run: {})", runs.join(", ")),
                };
                report
                    .text(format!("The objectives held up to {held:.1} visitors/s{runs}. {next}."));
                if self.plan.is_none() {
                    report.text("There is no plan: no three runs agree on a load that lasts.");
                }
            }
            None => report.text("No load was found that holds the objectives."),
        }
        for remark in &self.remarks {
            report.text(format!("Note: {remark}."));
        }
        if let Some((plan, basis)) = self.plan.as_ref().zip(self.basis.as_ref()) {
            options.tell(plan, basis, &mut report)?;
        }
        let mut head = vec!["visitors/s", "held"];
        let names: Vec<_> = objectives.iter().map(Objective::to_string).collect();
        head.extend(names.iter().map(String::as_str));
        head.extend(["retry factor", "latency grows"]);
        let row = |step: &Step| {
            let mut cells = vec![format!("{:.1}", step.rate), step.verdict().to_owned()];
            cells.extend(step.figures());
            cells.push(format!("{:.2}", step.retry_factor));
            cells.push(format!("{:.0} ms/s", 1e3 * step.growth));
            cells
        };
        report.heading("Loads, in the order in which they were offered");
        report.rows(head.clone(), self.steps.iter().map(row).collect());
        report.plot("size-latency", self.latencies());
        if let Some(paces) = &self.paces {
            self.tell_paces(paces, objectives, &mut report);
            report.rows(head, paces.batches.iter().map(row).collect());
        }
        Ok(report)
    }

    fn latencies(&self) -> Plot {
        let mut steps: Vec<_> = self.steps.iter().collect();
        steps.sort_by(|one, other| one.rate.total_cmp(&other.rate));
        let curve = |name: &str, of: &dyn Fn(&Step) -> f64| {
            Curve::new(name, steps.iter().map(|step| (step.rate, of(step))).collect())
        };
        Plot::new(
            "Latency over load",
            "visitors/s",
            "latency (ms)",
            vec![
                curve("p50", &|step| step.p50_ms),
                curve("p95", &|step| step.p95_ms),
                curve("p99", &|step| step.p99_ms),
            ],
        )
    }

    fn tell_paces(&self, paces: &Paces, objectives: &[Objective], report: &mut Report) {
        report.heading("The same average, all at once");
        let held = paces.held().map_or("none of these averages".to_owned(), |held| {
            format!("{held:.1} visitors/s on average")
        });
        let even = self.held.unwrap_or_default();
        report.text(format!(
            "At an even pace the objectives hold up to {even:.1} visitors/s; let in all at once \
             every {} s, they hold at {held}.",
            paces.interval_seconds
        ));
        let points = |steps: &[Step]| {
            let mut points: Vec<_> = steps.iter().map(|step| (step.rate, step.p95_ms)).collect();
            points.sort_by(|one, other| one.0.total_cmp(&other.0));
            points
        };
        let evenly: Vec<_> =
            self.steps.iter().filter(|it| it.rate <= even * 1.1).cloned().collect();
        let mut curves = vec![
            Curve::new("pace = \"even\"", points(&evenly)),
            Curve::new("pace = \"batch\"", points(&paces.batches)),
        ];
        let of_p95 = objectives.iter().find(|objective| objective.quantile() == Some(0.95));
        if let Some((objective, limit)) = of_p95.and_then(|it| Some((it, it.latency()?))) {
            let limit = limit.as_secs_f64() * 1e3;
            curves.push(Curve::new(objective.to_string(), vec![(0.0, limit), (even, limit)]));
        }
        let title = "What each pace costs at the same average";
        report.plot("size-paces", Plot::new(title, "visitors/s on average", "p95 (ms)", curves));
    }
}
