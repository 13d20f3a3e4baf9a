//! What a ramp tells: figures, the plan and where it comes from, and the run over time.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Args, Run};
use crate::load::{Figures, Second, Tally};
use crate::plan::Plan;
use crate::progress::say;
use crate::report::{Curve, Plot, Report};
use crate::scenario::Scenario;

/// Of `ramp.json`.
const SCHEMA_VERSION: u32 = 1;

/// A run that did not reach the limit of the service.
const LOAD_NOT_CAPACITY: &str = "load, not capacity: use size";

impl Args {
    /// Writes the reports and tells the figures on standard error.
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
        report.table(
            ["step", "requests", "average", "p50", "p95", "p99", "max", "errors", "answers"],
            self.rows(run, figures),
        );
        if let Some((basis, plan)) = &run.planned {
            self.options.tell(plan, basis, &mut report)?;
        }
        report.heading("Over time");
        for (name, plot) in plots(&run.measured.seconds) {
            report.plot(name, plot);
        }
        report.heading("Harness");
        report.text(format!(
            "The harness took {:.2} processor cores of {}. Where that is near all of them, the \
             harness is the limit that was found, not the service.",
            run.harness_cores,
            std::thread::available_parallelism().map_or(1, usize::from)
        ));
        report.write(&self.output, "ramp", &self.json(run, figures))?;
        // What was ended early has shown no capacity.
        if let Some((_, plan)) = run.planned.as_ref().filter(|_| !run.measured.interrupted) {
            self.options.write(plan, &self.output)?;
        }
        say(&format!("reports: {}", self.output.join("ramp.html").display()));
        Ok(())
    }

    fn model(&self, run: &Run) -> String {
        match self.rate {
            Some(rate) => format!(
                "Open model: {rate} visitors a second arrive for {}{} ({:?}), whatever the service \
                 does; latency counts from the moment at which a request was due.",
                humantime::format_duration(self.hold),
                warm_up(&run.scenario),
                self.arrivals
            ),
            None => format!(
                "Closed model (Goose): 1 to {} users in {}, {} at {}, {} down; each has a \
                 connection of its own and comes again when it is done. A slow service slows such \
                 a load down, so latency says less than with --rate.",
                self.users,
                humantime::format_duration(self.ramp),
                humantime::format_duration(self.hold),
                self.users,
                humantime::format_duration(self.down)
            ),
        }
    }

    fn summary(&self, run: &Run, figures: &Figures) -> Vec<String> {
        let total = &figures.total;
        let whole = std::ptr::eq(figures, &run.measured.whole);
        let stretch = if whole { "over the whole run" } else { "over the hold" };
        let mut lines = vec![
            format!(
                "{stretch} ({:.1} s): {:.1} TPS, average {}, p50 {}, p95 {}, p99 {}, max {}",
                figures.length.as_secs_f64(),
                figures.tps(),
                millis(total.latency.mean()),
                millis(total.latency.quantile(0.5)),
                millis(total.latency.quantile(0.95)),
                millis(total.latency.quantile(0.99)),
                millis(total.latency.max())
            ),
            format!(
                "{} requests, {} errors ({:.2} %): {}",
                total.requests,
                total.errors(),
                total.error_share() * 100.0,
                total.outcomes()
            ),
            format!(
                "{} visits completed ({:.1}/s, average {}), {} failed; retry factor {:.3}",
                figures.visits.count(),
                figures.visits_per_second(),
                millis(figures.visits.mean()),
                figures.visits_failed,
                total.retry_factor()
            ),
        ];
        let whole = &run.measured.whole;
        let ended = whole.visits.count() + whole.visits_failed;
        let cut = run.measured.visits_begun.saturating_sub(ended);
        if cut > 0 {
            lines.push(format!("{cut} visits were under way at the end of the run and were cut"));
        }
        let waiting = run.measured.second_half.waiting[1];
        // Some always are; many are what the figures of the hold do not show.
        if waiting > total.requests / 20 && !run.measured.interrupted {
            lines.push(format!("{waiting} requests had no answer yet at the end of the hold"));
        }
        if run.measured.unanswered > 0 {
            lines.push(format!(
                "{} requests had no answer when the run ended",
                run.measured.unanswered
            ));
        }
        if !run.scenario.think_per_visitor().is_zero() && self.stay(&run.measured).is_none() {
            lines.push(
                "too few visits were followed to their end to say how long people stay, so there \
                 is no capacity: --hold longer"
                    .to_owned(),
            );
        }
        if let Some(Plan { visitors_per_minute, batch, interval_ms, .. }) = run.plan() {
            lines.push(format!(
                "plan: {visitors_per_minute:.0} visitors a minute, {batch} every {} s",
                *interval_ms as f64 / 1e3
            ));
        }
        let reason = &run.saturation.reason;
        lines.push(match run.saturation.reached {
            true => format!("the service was saturated: {reason}"),
            false => format!("{LOAD_NOT_CAPACITY}: {reason}"),
        });
        lines
    }

    fn rows(&self, run: &Run, figures: &Figures) -> Vec<[String; 9]> {
        let steps = run.scenario.steps.iter().zip(&figures.steps);
        let asked = steps.filter(|(step, _)| step.ask.is_some());
        let rows = asked.map(|(step, tally)| row(&step.name, tally));
        rows.chain([row("all", &figures.total)]).collect()
    }

    fn json(&self, run: &Run, figures: &Figures) -> Value {
        let steps = run.scenario.steps.iter().zip(&figures.steps);
        let steps = steps.map(|(step, tally)| {
            let mut value = tally_json(tally);
            value["name"] = step.name.clone().into();
            value
        });
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
            "saturated": run.saturation.reached,
            "saturation": run.saturation.reason,
            "harness_cores": run.harness_cores,
            "total": tally_json(&figures.total),
            "steps": steps.collect::<Vec<_>>(),
            "plan": run.plan(),
            "over_time": run.measured.seconds,
        })
    }
}

fn warm_up(scenario: &Scenario) -> String {
    match scenario.longest_think() {
        Duration::ZERO => String::new(),
        time => format!(
            ", after {} in which they are not looked at, as a visit may think so long",
            humantime::format_duration(time)
        ),
    }
}

fn tally_json(tally: &Tally) -> Value {
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let latency = &tally.latency;
    json!({
        "requests": tally.requests,
        "completed": tally.completed,
        "again": tally.again,
        "errors": tally.errors(),
        "statuses": tally.statuses,
        "faults": tally.faults,
        "average_ms": millis(latency.mean()),
        "p50_ms": millis(latency.quantile(0.5)),
        "p95_ms": millis(latency.quantile(0.95)),
        "p99_ms": millis(latency.quantile(0.99)),
        "max_ms": millis(latency.max()),
    })
}

fn row(name: &str, tally: &Tally) -> [String; 9] {
    let latency = &tally.latency;
    [
        name.to_owned(),
        tally.requests.to_string(),
        millis(latency.mean()),
        millis(latency.quantile(0.5)),
        millis(latency.quantile(0.95)),
        millis(latency.quantile(0.99)),
        millis(latency.max()),
        tally.errors().to_string(),
        tally.outcomes(),
    ]
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

fn plots(seconds: &[Second]) -> [(&'static str, Plot); 3] {
    let curve = |name: &str, of: fn(&Second) -> f64| {
        Curve::new(name, seconds.iter().map(|second| (second.at as f64, of(second))).collect())
    };
    let load = vec![
        curve("users", |second| second.users as f64),
        curve("requests/s", |second| second.requests as f64),
    ];
    let latency = vec![
        curve("p50", |second| second.p50_ms),
        curve("p95", |second| second.p95_ms),
        curve("p99", |second| second.p99_ms),
    ];
    let errors = vec![curve("errors/s", |second| second.errors as f64)];
    [
        ("ramp-load", Plot::new("Users and requests", "time (s)", "users, requests/s", load)),
        ("ramp-latency", Plot::new("Latency", "time (s)", "latency (ms)", latency)),
        ("ramp-errors", Plot::new("Errors", "time (s)", "errors/s", errors)),
    ]
}
