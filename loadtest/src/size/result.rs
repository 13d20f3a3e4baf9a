//! What a search tells: the plan, tables and plots.

use std::time::Duration;

use serde::Serialize;

use super::objective::Objective;
use super::paces::Paces;
use super::search::Found;
use super::step::Step;
use crate::report::{Curve, Plot, Report};

/// `size.json`.
#[derive(Clone, Debug, Serialize)]
pub struct Sized {
    schema_version: u32,
    /// None when no load held.
    pub plan: Option<Plan>,
    /// What each run found, in visitors a second.
    pub runs: Vec<f64>,
    /// Whether three runs agree within 10 %.
    pub agree: bool,
    /// Requests made ÷ those needed, at the load that was found.
    pub retry_factor: Option<f64>,
    steps: Vec<Step>,
    paces: Option<Paces>,
    remarks: Vec<String>,
}

/// `plan.json`.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    schema_version: u32,
    /// Requests a second, as measured, before headroom.
    pub tps: f64,
    /// After headroom.
    pub visitors_per_minute: f64,
    /// Places promoted in an interval.
    pub batch: u64,
    /// In milliseconds.
    pub interval_ms: u64,
    /// Always even: it holds far more than batches do.
    pub pace: &'static str,
    /// Places ready and active.
    pub capacity: u64,
    /// The share that is kept back.
    pub headroom: f64,
    /// The objective that the next higher load missed.
    pub stopped_by: Option<String>,
}

impl Sized {
    /// Works the plan out. Batch = visitors a second × interval, capacity = visitors a second ×
    /// stay (Little's law, J. D. C. Little 1961), both after headroom.
    pub fn new(
        found: Found,
        paces: Option<Paces>,
        interval: Duration,
        headroom: f64,
        stay: Option<Duration>,
    ) -> Self {
        let at = found.held.and_then(|held| {
            let near = found.steps.iter().filter(|step| step.held() && step.rate <= held);
            near.max_by(|one, other| one.rate.total_cmp(&other.rate))
        });
        let plan = found.held.zip(at).map(|(held, step)| {
            let visitors = held * (1.0 - headroom);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "at most 10^6 visitors a second over hours"
            )]
            let places = |seconds: f64| ((visitors * seconds).floor() as u64).max(1);
            let stay = stay.map_or(step.stay_seconds, |stay| stay.as_secs_f64());
            Plan {
                schema_version: 1,
                tps: held * step.tps / step.rate,
                visitors_per_minute: 60.0 * visitors,
                batch: places(interval.as_secs_f64()),
                interval_ms: u64::try_from(interval.as_millis()).unwrap_or(u64::MAX),
                pace: "even",
                capacity: places(stay),
                headroom,
                stopped_by: found.stopped_by.clone(),
            }
        });
        Self {
            schema_version: 1,
            plan,
            retry_factor: at.map(|step| step.retry_factor),
            runs: found.runs,
            agree: found.agree,
            steps: found.steps,
            paces,
            remarks: found.remarks,
        }
    }

    /// Whether a load was found that holds, by three runs that agree.
    pub fn is_sound(&self) -> bool {
        self.plan.is_some() && self.agree
    }

    /// For people.
    pub fn report(&self, objectives: &[Objective]) -> Report {
        let mut report = Report::new("How many may come in");
        match &self.plan {
            Some(plan) => self.tell_plan(plan, &mut report),
            None => report.text("No load was found that holds the objectives."),
        }
        for remark in &self.remarks {
            report.text(format!("Note: {remark}."));
        }
        let mut head = vec!["visitors/s", "held"];
        let names: Vec<_> = objectives.iter().map(Objective::to_string).collect();
        head.extend(names.iter().map(String::as_str));
        head.extend(["retry factor", "latency grows"]);
        let row = |step: &Step| {
            let mut cells = vec![
                format!("{:.1}", step.rate),
                if step.held() { "yes" } else { "no" }.to_owned(),
            ];
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
        report
    }

    fn tell_plan(&self, plan: &Plan, report: &mut Report) {
        let runs: Vec<_> = self.runs.iter().map(|run| format!("{run:.1}")).collect();
        report.table(
            ["", "value"],
            vec![
                ["requests/s, measured".to_owned(), format!("{:.1}", plan.tps)],
                ["visitors/s, by run".to_owned(), runs.join(", ")],
                ["headroom".to_owned(), format!("{:.0} %", 100.0 * plan.headroom)],
                ["visitors/min".to_owned(), format!("{:.0}", plan.visitors_per_minute)],
                ["batch".to_owned(), plan.batch.to_string()],
                ["interval".to_owned(), format!("{} ms", plan.interval_ms)],
                ["pace".to_owned(), plan.pace.to_owned()],
                ["capacity".to_owned(), plan.capacity.to_string()],
                [
                    "stopped by".to_owned(),
                    plan.stopped_by.clone().unwrap_or_else(|| "nothing".into()),
                ],
            ],
        );
        report.text(
            "Measured with an open model: visitors came at the stated rate whatever the service \
             did, and latency counts from the instant at which they should have come.",
        );
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
        let even = self
            .plan
            .as_ref()
            .map_or(0.0, |plan| plan.visitors_per_minute / 60.0 / (1.0 - plan.headroom));
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
