//! What a simulation tells: numbers for programs, tables and plots for people.

use serde::Serialize;
use serde_json::{Value, json};

use super::crowd::Crowd;
use super::model::{Sample, Simulated};
use super::rules::Rules;
use super::spread::Spread;
use crate::report::{Curve, Plot, Report, number};

/// Points that a curve has at most.
const MOST_POINTS: usize = 600;

/// How people read a figure.
#[derive(Clone, Copy, PartialEq)]
enum Unit {
    Visitors,
    /// Visitors, and their share of all.
    Share,
    /// Visitors; left out if there are none.
    Exception,
    Seconds,
    Percent,
}

/// A figure of a run: its name in `simulate.json`, after the object that it is in, what the table
/// calls it, and its value. It is not a number if the run has none.
type Figure = (&'static str, &'static str, Unit, fn(&Simulated) -> f64);

const VISITORS: Figure = ("visitors", "visitors", Unit::Visitors, |run| run.visitors as f64);

#[rustfmt::skip]
const FIGURES: [Figure; 15] = [
    VISITORS,
    ("promoted", "let in", Unit::Share, |run| run.waits.0.len() as f64),
    ("refused", "refused by a full line", Unit::Share, |run| run.refused as f64),
    ("dropped_out", "left the line", Unit::Share, |run| run.dropped_out as f64),
    ("no_shows", "missed their turn", Unit::Share, |run| run.no_shows as f64),
    ("wait_seconds.average", "wait, average", Unit::Seconds, |run| run.waits.0.mean() / 1e3),
    ("wait_seconds.p50", "wait, p50", Unit::Seconds, |run| wait(run, 0.5)),
    ("wait_seconds.p90", "wait, p90", Unit::Seconds, |run| wait(run, 0.9)),
    ("wait_seconds.p99", "wait, p99", Unit::Seconds, |run| wait(run, 0.99)),
    ("wait_seconds.p99_9", "wait, p99.9", Unit::Seconds, |run| wait(run, 0.999)),
    ("wait_seconds.max", "longest wait", Unit::Seconds, |run| run.waits.0.max() as f64 / 1e3),
    ("greatest_depth", "longest line", Unit::Visitors, |run| run.greatest_depth as f64),
    ("line_ended_seconds", "last of the line let in after", Unit::Seconds,
        |run| run.line_ended as f64 / 1e6),
    ("capacity_used", "capacity used while visitors waited", Unit::Percent, capacity_used),
    ("left_standing", "still in line when the simulation ended", Unit::Exception,
        |run| run.left_standing as f64),
];

/// The wait that this share of the promoted did not exceed, in seconds.
fn wait(run: &Simulated, share: f64) -> f64 {
    run.waits.0.value_at_quantile(share) as f64 / 1e3
}

/// Mean share of the capacity that was ready or active while visitors waited.
fn capacity_used(run: &Simulated) -> f64 {
    let capacity = run.capacity.map_or(f64::NAN, |capacity| capacity as f64);
    let all = capacity * run.waiting_for as f64;
    if all == 0.0 { 0.0 } else { run.taken_while_waiting as f64 / all }
}

impl Unit {
    fn shown(self, value: f64) -> String {
        match self {
            Self::Visitors | Self::Share | Self::Exception => value.to_string(),
            Self::Seconds => time(value),
            Self::Percent => format!("{:.1} %", 100.0 * value),
        }
    }
}

/// What came of several runs of one crowd.
pub struct Answer {
    /// Who came, as it was asked for.
    pub arrivals: String,
    pub crowd: Crowd,
    pub rules: Rules,
    /// Those that came to their end, if there are any.
    pub runs: Vec<Simulated>,
    /// Ended by Ctrl-C before all runs were over.
    pub interrupted: bool,
}

/// A stretch of the runs that ends at `seconds`.
#[derive(Clone, Copy, Debug, Serialize)]
struct Point {
    seconds: u64,
    arrivals_per_second: Option<Spread>,
    promotions_per_second: Option<Spread>,
    greatest_depth: Option<Spread>,
    /// Of the runs that last so long.
    ready_and_active: Option<Spread>,
    /// Mean of those promoted in it.
    wait_seconds: Option<Spread>,
}

impl Answer {
    fn spread(&self, (.., of): &Figure) -> Option<Spread> {
        Spread::of(self.runs.iter().map(of))
    }

    fn over_time(&self) -> Vec<Point> {
        over_time(&self.runs.iter().map(|run| &*run.samples).collect::<Vec<_>>())
    }

    /// `simulate.json`.
    pub fn json(&self) -> Value {
        let mut json = json!({
            "schema_version": 2,
            "interrupted": self.interrupted,
            "arrivals": self.arrivals,
            "crowd": self.crowd,
            "rules": self.rules,
            "seeds": self.runs.iter().map(|run| run.seed).collect::<Vec<_>>(),
            "over_time": self.over_time(),
        });
        for figure in &FIGURES {
            let spread = json!(self.spread(figure));
            match figure.0.split_once('.') {
                Some((object, name)) => json[object][name] = spread,
                None => json[figure.0] = spread,
            }
        }
        json
    }

    /// For people.
    pub fn report(&self) -> Report {
        let mut report = Report::new("What the crowd would wait");
        let seeds = self.runs.len();
        if self.interrupted {
            let of = self.crowd.seeds;
            report.text(format!(
                "The simulation was ended early: the figures are of {seeds} of {of} seeds."
            ));
        }
        let rows = FIGURES.iter().filter_map(|figure| self.row(figure)).collect();
        report.table(["", &format!("median of {seeds} seeds"), "lowest", "highest"], rows);
        report.heading("What was simulated");
        let came = vec![["arrivals".to_owned(), self.arrivals.clone()]];
        let rows = [came, fields(&self.rules), fields(&self.crowd)].concat();
        report.table(["", "times in s, shares from 0 to 1"], rows);
        for (name, plot) in self.plots() {
            report.plot(name, plot);
        }
        report
    }

    fn row(&self, figure: &Figure) -> Option<[String; 4]> {
        let (_, name, unit, _) = *figure;
        let Spread { median, min, max } = self.spread(figure)?;
        if unit == Unit::Exception && max == 0.0 {
            return None;
        }
        let mut cells = [name.to_owned(), unit.shown(median), unit.shown(min), unit.shown(max)];
        if unit == Unit::Share {
            let all = self.spread(&VISITORS)?.median.max(1.0);
            cells[1] += &format!(" ({:.1} %)", 100.0 * median / all);
        }
        Some(cells)
    }

    fn plots(&self) -> [(&'static str, Plot); 3] {
        let points = self.over_time();
        let minutes = points.last().is_some_and(|last| last.seconds > 600);
        let (axis, unit) = if minutes { ("time (min)", 60.0) } else { ("time (s)", 1.0) };
        let curve = |name: &str, of: fn(&Point) -> Option<Spread>| {
            let none = Spread { median: f64::NAN, min: f64::NAN, max: f64::NAN };
            let at = |point: &Point| (point.seconds as f64 / unit, of(point).unwrap_or(none));
            let points: Vec<_> = points.iter().map(at).collect();
            let range = points.iter().map(|(x, of)| (*x, of.min, of.max)).collect();
            Curve::new(name, points.iter().map(|(x, of)| (*x, of.median)).collect())
                .with_range(range)
        };
        let plot = |title: &str, y: &str, curves: Vec<Curve>| {
            let title = format!("{title}: median and range of {} seeds", self.runs.len());
            Plot::new(&title, axis, y, curves)
        };
        let line = vec![
            curve("waiting", |point| point.greatest_depth),
            curve("ready and active", |point| point.ready_and_active),
        ];
        let flow = vec![
            curve("arrivals", |point| point.arrivals_per_second),
            curve("promotions", |point| point.promotions_per_second),
        ];
        let wait = vec![curve("mean wait", |point| point.wait_seconds)];
        [
            ("simulate-line", plot("The line, and visitors inside", "places", line)),
            ("simulate-flow", plot("Arrivals and promotions", "visitors/s", flow)),
            ("simulate-wait", plot("How long those let in had waited", "wait (s)", wait)),
        ]
    }
}

/// The runs side by side, in stretches as long as the longest run needs. After its end a run has no
/// line and no flow.
fn over_time(runs: &[&[Sample]]) -> Vec<Point> {
    let seconds = runs.iter().map(|run| run.len()).max().unwrap_or(0);
    let stretch = seconds.div_ceil(MOST_POINTS).max(1);
    let point = |from: usize| {
        let to = (from + stretch).min(seconds);
        let parts = || runs.iter().map(|run| &run[from.min(run.len())..to.min(run.len())]);
        let rate = |of: fn(&Sample) -> u64| {
            Spread::of(parts().map(|part| sum(part, of) / (to - from) as f64))
        };
        let depth = |part: &[Sample]| part.iter().map(|it| it.depth).max().unwrap_or(0) as f64;
        // Not a number if no visitor was promoted.
        let wait = |part| sum(part, |it| it.waited) / 1e6 / sum(part, |it| it.promoted);
        Point {
            seconds: to as u64,
            arrivals_per_second: rate(|it| it.joined),
            promotions_per_second: rate(|it| it.promoted),
            greatest_depth: Spread::of(parts().map(depth)),
            ready_and_active: Spread::of(
                parts().filter_map(|part| Some(part.last()?.taken as f64)),
            ),
            wait_seconds: Spread::of(parts().map(wait)),
        }
    };
    (0..seconds).step_by(stretch).map(point).collect()
}

fn sum(part: &[Sample], of: fn(&Sample) -> u64) -> f64 {
    part.iter().map(of).sum::<u64>() as f64
}

/// The fields that have a value.
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

    #[test]
    fn a_run_that_is_over_has_no_line_and_others_go_on() {
        let of = |median, min, max| Some(Spread { median, min, max });
        let second = |depth| Sample { joined: 2, promoted: 1, waited: 500_000, depth, taken: 3 };
        let (short, long) = ([second(4)], [second(6), second(8), second(5)]);
        let points = over_time(&[&short, &short, &long]);
        let line: Vec<_> = points.iter().map(|point| point.greatest_depth).collect();
        assert_eq!(line, [of(4.0, 4.0, 6.0), of(0.0, 0.0, 8.0), of(0.0, 0.0, 5.0)]);
        assert_eq!(points[2].promotions_per_second, of(0.0, 0.0, 1.0));
        assert_eq!(points[2].ready_and_active, of(3.0, 3.0, 3.0), "of the run that goes on");
        assert_eq!(points[2].wait_seconds, of(0.5, 0.5, 0.5));
    }
}
