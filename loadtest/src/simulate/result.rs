//! What a simulation tells: numbers for programs, tables and plots for people.

use serde::Serialize;
use serde_json::Value;

use super::crowd::Crowd;
use super::model::{Sample, Simulated};
use super::rules::Rules;
use super::spread::Spread;
use crate::report::{Curve, Plot, Report, number};

/// Points that a curve has at most.
const MOST_POINTS: usize = 600;

/// What came of one seed.
pub struct Run {
    /// From 0.
    pub number: u64,
    pub seed: u64,
    pub played: Simulated,
}

/// `simulate.json`.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    schema_version: u32,
    /// Ended by Ctrl-C before all runs were over.
    interrupted: bool,
    /// Who came, as it was asked for.
    arrivals: String,
    crowd: Crowd,
    rules: Rules,
    /// Of the runs that the figures are of.
    seeds: Vec<u64>,
    visitors: Spread<u64>,
    promoted: Spread<u64>,
    refused: Spread<u64>,
    dropped_out: Spread<u64>,
    no_shows: Spread<u64>,
    left_standing: Spread<u64>,
    wait_seconds: Waits,
    greatest_depth: Spread<u64>,
    line_ended_seconds: Spread<f64>,
    /// Mean share of the capacity that was ready or active while visitors waited.
    capacity_used: Option<Spread<f64>>,
    over_time: Vec<Point>,
}

/// Of those who were promoted.
#[derive(Clone, Copy, Debug, Serialize)]
struct Waits {
    average: Spread<f64>,
    p50: Spread<f64>,
    p90: Spread<f64>,
    p99: Spread<f64>,
    p99_9: Spread<f64>,
    max: Spread<f64>,
}

/// A stretch of the runs that ends at `seconds`.
#[derive(Clone, Copy, Debug, Serialize)]
struct Point {
    seconds: u64,
    arrivals_per_second: Spread<f64>,
    promotions_per_second: Spread<f64>,
    greatest_depth: Spread<u64>,
    /// Of the runs that last so long.
    ready_and_active: Spread<u64>,
    /// Mean of those promoted in it.
    wait_seconds: Option<Spread<f64>>,
}

#[expect(clippy::cast_precision_loss, reason = "counts and times far below 2^53")]
fn real(number: u64) -> f64 {
    number as f64
}

impl Answer {
    /// The answer to what was played: of the runs that came to their end, if there are any.
    pub fn new(
        arrivals: String,
        crowd: Crowd,
        rules: Rules,
        runs: &[Run],
        interrupted: bool,
    ) -> Self {
        let whole: Vec<_> = runs.iter().filter(|run| !run.played.interrupted).collect();
        let runs = if whole.is_empty() { runs.iter().collect() } else { whole };
        let count = |of: &dyn Fn(&Simulated) -> u64| spread(runs.iter().map(|it| of(&it.played)));
        let of =
            |figure: &dyn Fn(&Simulated) -> f64| spread(runs.iter().map(|run| figure(&run.played)));
        let quantile = |share: f64| of(&|played| real(played.waits.value_at_quantile(share)) / 1e3);
        let used = |capacity: u64| {
            of(&|played| {
                let could = real(capacity) * real(played.waiting_for);
                if could > 0.0 { real(played.taken_while_waiting) / could } else { 0.0 }
            })
        };
        Self {
            schema_version: 2,
            interrupted,
            arrivals,
            seeds: runs.iter().map(|run| run.seed).collect(),
            visitors: count(&|played| played.visitors),
            promoted: count(&|played| played.waits.len()),
            refused: count(&|played| played.refused),
            dropped_out: count(&|played| played.dropped_out),
            no_shows: count(&|played| played.no_shows),
            left_standing: count(&|played| played.left_standing),
            wait_seconds: Waits {
                average: of(&|played| played.waits.mean() / 1e3),
                p50: quantile(0.5),
                p90: quantile(0.9),
                p99: quantile(0.99),
                p99_9: quantile(0.999),
                max: of(&|played| real(played.waits.max()) / 1e3),
            },
            greatest_depth: count(&|played| played.greatest_depth),
            line_ended_seconds: of(&|played| real(played.line_ended) / 1e6),
            capacity_used: rules.capacity.map(used),
            over_time: over_time(&Vec::from_iter(runs.iter().map(|run| &*run.played.samples))),
            crowd,
            rules,
        }
    }

    /// For people.
    pub fn report(&self) -> Report {
        let mut report = Report::new("What the crowd would wait");
        let seeds = self.seeds.len();
        if self.interrupted {
            let of = self.crowd.seeds;
            report.text(format!(
                "The simulation was ended early: the figures are of {seeds} of {of} seeds."
            ));
        }
        let count = |count: u64| count.to_string();
        let share = |name, part: Spread<u64>| {
            let [name, median, lowest, highest] = row(name, part, count);
            let percent = 100.0 * real(part.median) / real(self.visitors.median.max(1));
            [name, format!("{median} ({percent:.1} %)"), lowest, highest]
        };
        let waits = &self.wait_seconds;
        let mut rows = vec![
            row("visitors", self.visitors, count),
            share("let in", self.promoted),
            share("refused by a full line", self.refused),
            share("left the line", self.dropped_out),
            share("missed their turn", self.no_shows),
            row("wait, average", waits.average, time),
            row("wait, p50", waits.p50, time),
            row("wait, p90", waits.p90, time),
            row("wait, p99", waits.p99, time),
            row("wait, p99.9", waits.p99_9, time),
            row("longest wait", waits.max, time),
            row("longest line", self.greatest_depth, count),
            row("last of the line let in after", self.line_ended_seconds, time),
        ];
        if let Some(used) = self.capacity_used {
            let percent = |share| format!("{:.1} %", 100.0 * share);
            rows.push(row("capacity used while visitors waited", used, percent));
        }
        if self.left_standing.max > 0 {
            rows.push(row("still in line when the simulation ended", self.left_standing, count));
        }
        let median = format!("median of {seeds} seeds");
        report.table(["", &median, "lowest", "highest"], rows);
        report.heading("What was simulated");
        let came = vec![["arrivals".to_owned(), self.arrivals.clone()]];
        let rows = [came, fields(&self.rules), fields(&self.crowd)].concat();
        report.table(["", "times in s, shares from 0 to 1"], rows);
        let minutes = self.over_time.last().is_some_and(|last| last.seconds > 600);
        let (axis, unit) = if minutes { ("time (min)", 60.0) } else { ("time (s)", 1.0) };
        let curve = |name: &str, value: &dyn Fn(&Point) -> Spread<f64>| {
            let over_time = self.over_time.iter();
            let at = |point: &Point| (real(point.seconds) / unit, value(point));
            let points: Vec<_> = over_time.map(at).collect();
            let median = points.iter().map(|(x, of)| (*x, of.median)).collect();
            let range = points.iter().map(|(x, of)| (*x, of.min, of.max)).collect();
            Curve::new(name, median).with_range(range)
        };
        let none = Spread { median: f64::NAN, min: f64::NAN, max: f64::NAN };
        let line = vec![
            curve("waiting", &|point| point.greatest_depth.map(real)),
            curve("ready and active", &|point| point.ready_and_active.map(real)),
        ];
        let flow = vec![
            curve("arrivals", &|point| point.arrivals_per_second),
            curve("promotions", &|point| point.promotions_per_second),
        ];
        let wait = vec![curve("mean wait", &|point| point.wait_seconds.unwrap_or(none))];
        for (name, title, y, curves) in [
            ("simulate-line", "The line, and visitors inside", "places", line),
            ("simulate-flow", "Arrivals and promotions", "visitors/s", flow),
            ("simulate-wait", "How long those let in had waited", "wait (s)", wait),
        ] {
            let title = format!("{title}: median and range of {seeds} seeds");
            report.plot(name, Plot::new(&title, axis, y, curves));
        }
        report
    }
}

/// A figure of all runs; there is at least one.
fn spread<T: Copy + PartialOrd + Default>(values: impl Iterator<Item = T>) -> Spread<T> {
    let none = Spread { median: T::default(), min: T::default(), max: T::default() };
    Spread::of(values).unwrap_or(none)
}

fn row<T: Copy>(name: &str, of: Spread<T>, shown: impl Fn(T) -> String) -> [String; 4] {
    [name.to_owned(), shown(of.median), shown(of.min), shown(of.max)]
}

/// The runs side by side, in stretches as long as the longest run needs. After its end a run has no
/// line and no flow.
fn over_time(runs: &[&[Sample]]) -> Vec<Point> {
    let seconds = runs.iter().map(|run| run.len()).max().unwrap_or(0);
    let stretch = seconds.div_ceil(MOST_POINTS).max(1);
    let point = |from: usize| {
        let to = (from + stretch).min(seconds);
        let length = real((to - from) as u64);
        let parts: Vec<_> =
            runs.iter().map(|run| &run[from.min(run.len())..to.min(run.len())]).collect();
        let of = |figure: fn(&[Sample]) -> u64| parts.iter().map(move |part| figure(part));
        let rate = |figure| spread(of(figure).map(|count| real(count) / length));
        let depth = |part: &[Sample]| part.iter().map(|sample| sample.depth).max().unwrap_or(0);
        let waits = parts.iter().filter_map(|part| {
            let promoted = promoted(part);
            let waited: u64 = part.iter().map(|sample| sample.waited).sum();
            (promoted > 0).then(|| real(waited) / 1e6 / real(promoted))
        });
        Point {
            seconds: to as u64,
            arrivals_per_second: rate(|part| part.iter().map(|sample| sample.joined).sum()),
            promotions_per_second: rate(promoted),
            greatest_depth: spread(of(depth)),
            ready_and_active: spread(parts.iter().filter_map(|part| Some(part.last()?.taken))),
            wait_seconds: Spread::of(waits),
        }
    };
    (0..seconds).step_by(stretch).map(point).collect()
}

fn promoted(part: &[Sample]) -> u64 {
    part.iter().map(|sample| sample.promoted).sum()
}

/// What is said of each field that says something.
fn fields(of: &impl Serialize) -> Vec<[String; 2]> {
    let fields = serde_json::to_value(of).unwrap_or_default();
    let told = fields.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Number(decimal) if decimal.is_f64() => number(decimal.as_f64().unwrap_or_default()),
        value => value.to_string(),
    };
    told.map(|(name, value)| [name.clone(), text(value)]).collect()
}

/// Seconds as people say them.
fn time(seconds: f64) -> String {
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    let whole = std::time::Duration::from_secs_f64(seconds.round());
    humantime::format_duration(whole).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<T>(median: T, min: T, max: T) -> Spread<T> {
        Spread { median, min, max }
    }

    #[test]
    fn a_run_that_is_over_has_no_line_and_others_go_on() {
        let second = |depth| Sample { joined: 2, promoted: 1, waited: 500_000, depth, taken: 3 };
        let (short, long) = ([second(4)], [second(6), second(8), second(5)]);
        let points = over_time(&[&short, &short, &long]);
        let line: Vec<_> = points.iter().map(|point| point.greatest_depth).collect();
        assert_eq!(line, [of(4, 4, 6), of(0, 0, 8), of(0, 0, 5)]);
        assert_eq!(points[2].promotions_per_second, of(0.0, 0.0, 1.0));
        assert_eq!(points[2].ready_and_active, of(3, 3, 3), "of the run that goes on");
        assert_eq!(points[2].wait_seconds, Some(of(0.5, 0.5, 0.5)));
    }
}
