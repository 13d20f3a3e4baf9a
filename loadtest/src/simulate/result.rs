//! What a simulation tells: numbers for programs, tables and plots for people.

use serde::Serialize;
use serde_json::Value;

use super::crowd::Crowd;
use super::model::{Sample, Simulated};
use super::rules::Rules;
use crate::report::{Curve, Plot, Report};

/// Points that a curve has at most.
const MOST_POINTS: usize = 600;

/// `simulate.json`.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    schema_version: u32,
    /// Ended by Ctrl-C before it was over.
    interrupted: bool,
    /// Who came, as it was asked for.
    arrivals: String,
    crowd: Crowd,
    rules: Rules,
    visitors: u64,
    promoted: u64,
    refused: u64,
    dropped_out: u64,
    no_shows: u64,
    left_standing: u64,
    wait_seconds: Waits,
    greatest_depth: u64,
    line_ended_seconds: f64,
    /// Mean share of the capacity that was ready or active while somebody waited.
    capacity_used: Option<f64>,
    over_time: Vec<Point>,
}

/// Of those who were promoted.
#[derive(Clone, Copy, Debug, Serialize)]
struct Waits {
    average: f64,
    p50: f64,
    p90: f64,
    p99: f64,
    max: f64,
}

/// A stretch of the run that ends at `seconds`.
#[derive(Clone, Copy, Debug, Serialize)]
struct Point {
    seconds: f64,
    arrivals_per_second: f64,
    promotions_per_second: f64,
    greatest_depth: u64,
    ready_and_active: u64,
    /// Mean of those promoted in it.
    wait_seconds: Option<f64>,
}

#[expect(clippy::cast_precision_loss, reason = "counts and times far below 2^53")]
fn real(number: u64) -> f64 {
    number as f64
}

impl Answer {
    /// The answer to what was played.
    pub fn new(
        arrivals: String,
        crowd: Crowd,
        rules: Rules,
        played: &Simulated,
        interrupted: bool,
    ) -> Self {
        let waits = &played.waits;
        let quantile = |share| real(waits.value_at_quantile(share)) / 1e3;
        let used = |capacity: u64| {
            let could = real(capacity) * real(played.waiting_for);
            if could > 0.0 { real(played.taken_while_waiting) / could } else { 0.0 }
        };
        let stretch = played.samples.len().div_ceil(MOST_POINTS).max(1);
        let points = played.samples.chunks(stretch).enumerate();
        Self {
            schema_version: 1,
            interrupted,
            arrivals,
            visitors: played.visitors,
            promoted: waits.len(),
            refused: played.refused,
            dropped_out: played.dropped_out,
            no_shows: played.no_shows,
            left_standing: played.left_standing,
            wait_seconds: Waits {
                average: waits.mean() / 1e3,
                p50: quantile(0.5),
                p90: quantile(0.9),
                p99: quantile(0.99),
                max: real(waits.max()) / 1e3,
            },
            greatest_depth: played.greatest_depth,
            line_ended_seconds: real(played.line_ended) / 1e6,
            capacity_used: rules.capacity.map(used),
            over_time: points.map(|(n, seconds)| point(n * stretch, seconds)).collect(),
            crowd,
            rules,
        }
    }

    /// For people.
    pub fn report(&self) -> Report {
        let mut report = Report::new("What the crowd would wait");
        if self.interrupted {
            report.text("The simulation was ended early: not everybody has come, or was let in.");
        }
        let share = |part: u64| format!("{part} ({:.1} %)", percent(part, self.visitors));
        let waits = self.wait_seconds;
        let mut rows = vec![
            ["visitors".to_owned(), self.visitors.to_string()],
            ["let in".to_owned(), share(self.promoted)],
            ["refused by a full line".to_owned(), share(self.refused)],
            ["left the line".to_owned(), share(self.dropped_out)],
            ["did not come when it was their turn".to_owned(), share(self.no_shows)],
            ["wait, average".to_owned(), time(waits.average)],
            ["wait, p50".to_owned(), time(waits.p50)],
            ["wait, p90".to_owned(), time(waits.p90)],
            ["wait, p99".to_owned(), time(waits.p99)],
            ["longest wait".to_owned(), time(waits.max)],
            ["longest line".to_owned(), self.greatest_depth.to_string()],
            ["last of the line let in after".to_owned(), time(self.line_ended_seconds)],
        ];
        if let Some(used) = self.capacity_used {
            let used = format!("{:.1} %", 100.0 * used);
            rows.push(["capacity used while somebody waited".to_owned(), used]);
        }
        report.table(["", "value"], rows);
        report.heading("What was simulated");
        let came = vec![["arrivals".to_owned(), self.arrivals.clone()]];
        let rows = [came, fields(&self.rules), fields(&self.crowd)].concat();
        report.table(["", "times in s, shares from 0 to 1"], rows);
        if self.left_standing > 0 {
            report.text(format!(
                "{} still stood in line when the simulation ended.",
                self.left_standing
            ));
        }
        let minutes = self.over_time.last().is_some_and(|last| last.seconds > 600.0);
        let (axis, unit) = if minutes { ("time (min)", 60.0) } else { ("time (s)", 1.0) };
        let curve = |name: &str, value: &dyn Fn(&Point) -> f64| {
            let points = self.over_time.iter().map(|point| (point.seconds / unit, value(point)));
            Curve::new(name, points.collect())
        };
        report.plot(
            "simulate-line",
            Plot::new(
                "The line and who is inside",
                axis,
                "places",
                vec![
                    curve("waiting", &|point| real(point.greatest_depth)),
                    curve("ready and active", &|point| real(point.ready_and_active)),
                ],
            ),
        );
        report.plot(
            "simulate-flow",
            Plot::new(
                "Who comes and who is let in",
                axis,
                "visitors/s",
                vec![
                    curve("arrivals", &|point| point.arrivals_per_second),
                    curve("promotions", &|point| point.promotions_per_second),
                ],
            ),
        );
        report.plot(
            "simulate-wait",
            Plot::new(
                "How long those let in had waited",
                axis,
                "wait (s)",
                vec![curve("mean wait", &|point| point.wait_seconds.unwrap_or(f64::NAN))],
            ),
        );
        report
    }
}

fn point(from: usize, seconds: &[Sample]) -> Point {
    let length = real(seconds.len() as u64);
    let sum = |of: &dyn Fn(&Sample) -> u64| seconds.iter().map(of).sum::<u64>();
    let promoted = sum(&|sample| sample.promoted);
    let waited = real(sum(&|sample| sample.waited)) / 1e6;
    Point {
        seconds: real((from + seconds.len()) as u64),
        arrivals_per_second: real(sum(&|sample| sample.joined)) / length,
        promotions_per_second: real(promoted) / length,
        greatest_depth: seconds.iter().map(|sample| sample.depth).max().unwrap_or(0),
        ready_and_active: seconds.last().map_or(0, |sample| sample.taken),
        wait_seconds: (promoted > 0).then(|| waited / real(promoted)),
    }
}

/// What is said of each field that says something.
fn fields(of: &impl Serialize) -> Vec<[String; 2]> {
    let fields = serde_json::to_value(of).unwrap_or_default();
    let told = fields.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    told.map(|(name, value)| [name.clone(), text(value)]).collect()
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * real(part) / real(whole.max(1))
}

/// Seconds as people say them.
fn time(seconds: f64) -> String {
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    let whole = std::time::Duration::from_secs_f64(seconds.round());
    humantime::format_duration(whole).to_string()
}
