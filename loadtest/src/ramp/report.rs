//! What a ramp reports: figures, the plan and where it comes from, and the run over time.

use serde_json::{Value, json};

use super::{Args, Run};
use crate::load::{Durations, Figures, Measurement, Millis, Percentiles, Second, Tally};
use crate::plan::Plan;
use crate::progress::say;
use crate::report::{Curve, Plot, Report};
use crate::scenario::Scenario;

/// Of `ramp.json`.
const SCHEMA_VERSION: u32 = 1;

/// A run that did not reach the limit of the service.
const LOAD_NOT_CAPACITY: &str = "load, not capacity: use size";

impl Args {
    /// Writes the reports and the figures on standard error.
    pub(super) fn report(&self, run: &Run) -> anyhow::Result<()> {
        let mut report = Report::new(format!("Ramp: {} at {}", run.scenario.name, self.target.url));
        let figures = self.figures(&run.measured);
        report.text(self.model(run));
        if run.measured.interrupted {
            report.text("The run was ended early.");
        }
        for line in self.summary(run, figures) {
            say(&line);
            report.text(line);
        }
        report.heading("Figures");
        let head = ["step", "requests"].into_iter().chain(Percentiles::head());
        report.rows(head.chain(["errors", "answers"]).collect(), table(&run.scenario, figures));
        if let Some((plan, basis)) = &run.planned {
            self.options.show(plan, basis, &mut report)?;
        }
        report.heading("Over time");
        for (name, plot) in plots(run.measured.seconds.over()) {
            report.plot(name, plot);
        }
        report.heading("Harness");
        report.text(run.cost.line());
        report.write(&self.output, "ramp", &self.json(run, figures))?;
        // What was ended early has shown no capacity.
        if let Some((plan, _)) = run.planned.as_ref().filter(|_| !run.measured.interrupted) {
            self.options.write(plan, &self.output)?;
        }
        Ok(())
    }

    fn model(&self, run: &Run) -> String {
        let think = run.scenario.longest_think();
        let Self { users, arrivals, .. } = self;
        let [ramp, hold, down, warm_up] =
            [self.ramp, self.hold, self.down, think].map(crate::durations::format_duration);
        let Some(rate) = self.rate else {
            return format!(
                "Closed model (Goose): 1 to {users} users in {ramp}, {hold} at {users}, {down} \
                 down; each has a connection of its own and restarts when it is done. A slow \
                 service slows such a load down, so latency shows less than with --rate."
            );
        };
        let after =
            format!(", after {warm_up} that are not measured: the longest think time of a visit");
        let after = if think.is_zero() { "" } else { &after };
        format!(
            "Open model: {rate} visitors a second arrive for {hold}{after} ({arrivals:?}), \
             whatever the service does; latency counts from the moment at which a request was due."
        )
    }

    fn summary(&self, run: &Run, figures: &Figures) -> Vec<String> {
        let total = &figures.total;
        let whole = std::ptr::eq(figures, &run.measured.whole);
        let stretch = if whole { "over the whole run" } else { "over the hold" };
        let mut lines = vec![
            format!(
                "{stretch} ({:.1} s): {:.1} TPS, {}",
                figures.length.as_secs_f64(),
                figures.tps(),
                Percentiles::from(&total.latency).line()
            ),
            format!(
                "{} requests, {} errors ({:.2} %): {}",
                total.requests,
                total.errors(),
                total.error_share() * 100.0,
                total.outcomes()
            ),
            format!(
                "{} visits completed ({:.1}/s, average {:.1} ms), {} failed; retry factor {:.3}",
                figures.visits.count(),
                figures.visits_per_second(),
                figures.visits.mean().as_secs_f64() * 1e3,
                figures.visits_failed,
                total.retry_factor()
            ),
        ];
        let Measurement { whole, visits_begun, visits_not_begun, unanswered, interrupted, .. } =
            &run.measured;
        let cut = visits_begun.saturating_sub(whole.visits.count() + whole.visits_failed);
        let waiting = run.measured.second_half.waiting[1];
        let stay = run.scenario.think_per_visitor().is_zero() || self.stay(&run.measured).is_some();
        for (is_so, remark) in [
            (cut > 0, format!("{cut} visits had not ended when the run ended")),
            // Some always are; many are what the figures of the hold do not show.
            (
                waiting > total.requests / 20 && !interrupted,
                format!("{waiting} requests had no answer yet at the end of the hold"),
            ),
            (
                *visits_not_begun > 0,
                format!("{visits_not_begun} visitors were not played: too many visits at once"),
            ),
            (*unanswered > 0, format!("{unanswered} requests had no answer when the run ended")),
            (
                !stay,
                "too few visits were measured to their end to know how long visitors stay, so \
                 there is no capacity: use a longer --hold"
                    .to_owned(),
            ),
        ] {
            lines.extend(is_so.then_some(remark));
        }
        if let Some((Plan { visitors_per_minute, batch, interval_ms, .. }, _)) = &run.planned {
            lines.push(format!(
                "plan: {visitors_per_minute:.0} visitors a minute, {batch} every {} s",
                *interval_ms as f64 / 1e3
            ));
        }
        let reason = &run.saturation.reason;
        lines.push(match (&run.limit, run.saturation.reached) {
            (None, _) if self.share.is_shared() => {
                "this is one share of a load; `anteroom-loadtest merge` makes the plan".to_owned()
            }
            (Some(limit), _) => limit.to_string(),
            (None, true) => format!("the service was saturated: {reason}"),
            (None, false) => format!("{LOAD_NOT_CAPACITY}: {reason}"),
        });
        lines
    }

    fn json(&self, run: &Run, figures: &Figures) -> Value {
        let steps = run.scenario.steps.iter().zip(&figures.steps);
        let steps = steps.map(|(step, tally)| {
            let mut value = tally_json(tally);
            value["name"] = step.name.clone().into();
            value
        });
        let over_time = run.measured.seconds.over().iter().enumerate().map(second_json);
        json!({
            "schema_version": SCHEMA_VERSION,
            "model": if self.rate.is_some() { "open" } else { "closed" },
            "target": self.target.url.as_str(),
            "scenario": run.scenario.name,
            "interrupted": run.measured.interrupted,
            "seconds": figures.length.as_secs_f64(),
            "tps": figures.tps(),
            "calls_per_visitor": run.scenario.calls_per_visitor(),
            "retry_factor": figures.total.retry_factor(),
            "visits_begun": run.measured.visits_begun,
            "visits_not_begun": run.measured.visits_not_begun,
            "visits_completed": figures.visits.count(),
            "visits_failed": figures.visits_failed,
            "stay_ms": self.stay(&run.measured).map(|stay| stay.as_secs_f64() * 1e3),
            "waiting_at_end_of_hold": run.measured.second_half.waiting[1],
            "unanswered": run.measured.unanswered,
            "saturated": run.saturation.reached && run.limit.is_none(),
            "saturation": run.saturation.reason,
            "own_limit": run.limit.as_ref().map(ToString::to_string),
            "harness": run.cost,
            "total": tally_json(&figures.total),
            "steps": steps.collect::<Vec<_>>(),
            "plan": run.planned.as_ref().map(|(plan, _)| plan),
            "over_time": over_time.collect::<Vec<_>>(),
        })
    }
}

fn tally_json(tally: &Tally) -> Value {
    let mut json = with_latency(json!(tally), &tally.latency);
    json["errors"] = tally.errors().into();
    json
}

fn second_json((at, second): (usize, &Second)) -> Value {
    let mut json = with_latency(json!(second), &second.latency());
    json["at"] = at.into();
    json
}

/// Figures with the percentiles of their latency in place of its histogram.
fn with_latency(mut figures: Value, latency: &Durations) -> Value {
    let latency = latency.into();
    figures.as_object_mut().and_then(|figures| figures.remove("latency"));
    for (name, of) in Percentiles::SHOWN {
        figures[name.replace('.', "_") + "_ms"] = of(&latency).into();
    }
    figures
}

fn table(scenario: &Scenario, figures: &Figures) -> Vec<Vec<String>> {
    let row = |name: &str, tally: &Tally| {
        let mut cells = vec![name.to_owned(), tally.requests.to_string()];
        cells.extend(Percentiles::from(&tally.latency).cells());
        cells.extend([tally.errors().to_string(), tally.outcomes()]);
        cells
    };
    let steps = scenario.steps.iter().zip(&figures.steps);
    let requests = steps.filter(|(step, _)| step.ask.is_some());
    requests
        .map(|(step, tally)| row(&step.name, tally))
        .chain([row("all", &figures.total)])
        .collect()
}

fn plots(seconds: &[Second]) -> [(&'static str, Plot); 3] {
    let latency = |second: &Second| {
        let latency = Percentiles::from(&second.latency());
        // A second without answers leaves a gap.
        (latency.count > 0).then_some(latency)
    };
    let latencies: Vec<_> = seconds.iter().map(latency).collect();
    let curve = |name: &str, of: fn(&Second) -> u64| {
        let points = seconds.iter().zip(0_u32..).map(|(it, at)| (at.into(), of(it) as f64));
        Curve::new(name, points.collect())
    };
    let quantile = |name: &str, of: Millis| {
        let points = latencies.iter().zip(0_u32..);
        let points = points.map(|(it, at)| (at.into(), it.as_ref().map_or(f64::NAN, of)));
        Curve::new(name, points.collect())
    };
    let plot = |title, y, curves| Plot::new(title, "time (s)", y, curves);
    let load = vec![curve("users", |it| it.users), curve("requests/s", |it| it.requests)];
    let latency = Percentiles::SHOWN[1..5].iter().map(|(name, of)| quantile(name, *of)).collect();
    let errors = vec![curve("errors/s", |it| it.errors)];
    [
        ("ramp-load", plot("Users and requests", "users, requests/s", load)),
        ("ramp-latency", plot("Latency", "latency (ms)", latency)),
        ("ramp-errors", plot("Errors", "errors/s", errors)),
    ]
}
