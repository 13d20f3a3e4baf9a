//! What a simulation shows: numbers for programs, tables and plots for people.

use std::ops::Range;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::Simulate;
use super::model::{Sample, Simulated};
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
    ("promoted", "admitted", Unit::Share, |run| run.waits.count() as f64),
    ("refused", "refused by a full line", Unit::Share, |run| run.refused as f64),
    ("dropped_out", "left the line", Unit::Share, |run| run.dropped_out as f64),
    ("no_shows", "missed their turn", Unit::Share, |run| run.no_shows as f64),
    ("wait_seconds.average", "wait, average", Unit::Seconds, |run| run.waits.mean().as_secs_f64()),
    ("wait_seconds.p50", "wait, p50", Unit::Seconds, |run| wait(run, 0.5)),
    ("wait_seconds.p90", "wait, p90", Unit::Seconds, |run| wait(run, 0.9)),
    ("wait_seconds.p99", "wait, p99", Unit::Seconds, |run| wait(run, 0.99)),
    ("wait_seconds.p99_9", "wait, p99.9", Unit::Seconds, |run| wait(run, 0.999)),
    ("wait_seconds.max", "longest wait", Unit::Seconds, |run| run.waits.max().as_secs_f64()),
    ("greatest_depth", "longest line", Unit::Visitors, |run| run.greatest_depth as f64),
    ("line_ended_seconds", "line empty after", Unit::Seconds,
        |run| run.line_ended as f64 / 1e6),
    ("capacity_used", "capacity used while visitors waited", Unit::Percent, capacity_used),
    ("left_standing", "still in line when the simulation ended", Unit::Exception,
        |run| run.left_standing as f64),
];

/// A figure over time: its plot, its name in `simulate.json`, what the plot calls it, and its value
/// in a part of a run, which has so many seconds. It is not a number if there is none.
type Series = (usize, &'static str, &'static str, fn(&[Sample], f64) -> f64);

const SERIES: [Series; 5] = [
    (0, "greatest_depth", "waiting", |part, _| {
        part.iter().map(|it| it.depth).max().unwrap_or(0) as f64
    }),
    (0, "ready_and_active", "ready and active", |part, _| {
        part.last().map_or(f64::NAN, |it| it.taken as f64)
    }),
    (1, "arrivals_per_second", "arrivals", |part, time| sum(part, |it| it.joined) / time),
    (1, "promotions_per_second", "promotions", |part, time| sum(part, |it| it.promoted) / time),
    (2, "wait_seconds", "mean wait", |part, _| {
        sum(part, |it| it.waited) / 1e6 / sum(part, |it| it.promoted)
    }),
];

/// Of each plot the file, the title and the unit.
const PLOTS: [[&str; 3]; 3] = [
    ["simulate-line", "The line, and visitors inside", "places"],
    ["simulate-flow", "Arrivals and promotions", "visitors/s"],
    ["simulate-wait", "Wait of the visitors admitted at a time", "wait (s)"],
];

/// The wait that this share of the promoted did not exceed, in seconds.
fn wait(run: &Simulated, share: f64) -> f64 {
    run.waits.quantile(share).as_secs_f64()
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
    /// Who came, as the flags have it.
    pub arrivals: String,
    pub args: Simulate,
    /// Those that came to their end, if there are any.
    pub runs: Vec<Simulated>,
    /// Ended by Ctrl-C before all runs were over.
    pub interrupted: bool,
}

impl Answer {
    fn spread(&self, (.., of): &Figure) -> Option<Spread> {
        Spread::of(self.runs.iter().map(of))
    }

    /// `simulate.json`.
    pub fn json(&self) -> Value {
        let over_time = stretches(&self.runs).map(|stretch| {
            let mut point = json!({ "seconds": stretch.end });
            for series in &SERIES {
                point[series.1] = json!(within(&self.runs, &stretch, series));
            }
            point
        });
        let mut json = json!({
            "schema_version": 2,
            "interrupted": self.interrupted,
            "arrivals": self.arrivals,
            "crowd": self.args.crowd,
            "rules": self.args.rules,
            "seeds": self.runs.iter().map(|run| run.seed).collect::<Vec<_>>(),
            "over_time": over_time.collect::<Vec<_>>(),
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
            let of = self.args.crowd.seeds;
            report.text(format!(
                "The simulation was ended early: the figures are of {seeds} of {of} seeds."
            ));
        }
        let rows = FIGURES.iter().filter_map(|figure| self.row(figure)).collect();
        report.table(["", &format!("median of {seeds} seeds"), "lowest", "highest"], rows);
        report.heading("What was simulated");
        let came = vec![["arrivals".to_owned(), self.arrivals.clone()]];
        let rows = [came, fields(&self.args.rules), fields(&self.args.crowd)].concat();
        report.table(["", "times in s, shares from 0 to 1"], rows);
        let seconds = stretches(&self.runs).last().map_or(0, |last| last.end);
        let (axis, unit) = if seconds > 600 { ("time (min)", 60.0) } else { ("time (s)", 1.0) };
        let curve = |series: &Series| {
            let none = Spread { median: f64::NAN, min: f64::NAN, max: f64::NAN };
            let at = |stretch: Range<usize>| {
                let spread = within(&self.runs, &stretch, series).unwrap_or(none);
                (stretch.end as f64 / unit, spread)
            };
            let points: Vec<_> = stretches(&self.runs).map(at).collect();
            let range = points.iter().map(|(x, of)| (*x, of.min, of.max)).collect();
            let median = points.iter().map(|(x, of)| (*x, of.median)).collect();
            Curve::new(series.2, median).with_range(range)
        };
        for (at, [name, title, y]) in PLOTS.into_iter().enumerate() {
            let title = format!("{title}: median and range of {seeds} seeds");
            let curves = SERIES.iter().filter(|series| series.0 == at).map(curve).collect();
            report.plot(name, Plot::new(&title, axis, y, curves));
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
}

/// Of equal length, as many as a curve may have points, up to the end of the longest run.
fn stretches(runs: &[Simulated]) -> impl Iterator<Item = Range<usize>> {
    let seconds = runs.iter().map(|run| run.samples.len()).max().unwrap_or(0);
    let length = seconds.div_ceil(MOST_POINTS).max(1);
    (0..seconds).step_by(length).map(move |from| from..(from + length).min(seconds))
}

/// A figure of all runs in a stretch. After its end a run has no line and no flow.
fn within(runs: &[Simulated], stretch: &Range<usize>, (.., of): &Series) -> Option<Spread> {
    Spread::of(runs.iter().map(|run| {
        let rest = run.samples.get(stretch.start..).unwrap_or_default();
        of(&rest[..rest.len().min(stretch.len())], stretch.len() as f64)
    }))
}

fn sum(part: &[Sample], of: fn(&Sample) -> u64) -> f64 {
    part.iter().map(of).sum::<u64>() as f64
}

/// The fields that have a value.
fn fields(of: &impl Serialize) -> Vec<[String; 2]> {
    let fields = serde_json::to_value(of).unwrap_or_default();
    let set = fields.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Number(decimal) if decimal.is_f64() => number(decimal.as_f64().unwrap_or_default()),
        value => value.to_string(),
    };
    set.map(|(name, value)| [name.clone(), text(value)]).collect()
}

/// Seconds as people say them.
fn time(seconds: f64) -> String {
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    let whole = std::time::Duration::from_secs_f64(seconds.round());
    crate::durations::format_duration(whole)
}

/// The median of a figure, its lowest and its highest value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    #[serde(serialize_with = "whole")]
    pub median: f64,
    #[serde(serialize_with = "whole")]
    pub min: f64,
    #[serde(serialize_with = "whole")]
    pub max: f64,
}

impl Spread {
    /// Of the values that are numbers, at least one. Of an even number the lower one in the middle
    /// is the median, so that a run had it.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<_> = values.filter(|value| !value.is_nan()).collect();
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        Some(Self { median: values[(values.len() - 1) / 2], min, max })
    }
}

/// A count, without a decimal point.
fn whole<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
    if value.fract() == 0.0 { to.serialize_u64(*value as u64) } else { to.serialize_f64(*value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_is_over_has_no_line_and_others_go_on() {
        let run = |depths: &[u64]| {
            let second =
                |depth| Sample { joined: 2, promoted: 1, waited: 500_000, depth, taken: 3 };
            let samples = depths.iter().copied().map(second).collect();
            Simulated { samples, ..Simulated::default() }
        };
        let runs = [run(&[4]), run(&[4]), run(&[6, 8, 5])];
        let over_time = |name: &str| {
            let series = SERIES.iter().find(|it| it.1 == name).expect(name);
            let spreads = stretches(&runs).map(|it| within(&runs, &it, series).expect("a number"));
            spreads.map(|it| [it.median, it.min, it.max]).collect::<Vec<_>>()
        };
        let line = [[4.0, 4.0, 6.0], [0.0, 0.0, 8.0], [0.0, 0.0, 5.0]];
        assert_eq!(over_time("greatest_depth"), line);
        assert_eq!(over_time("promotions_per_second")[2], [0.0, 0.0, 1.0]);
        assert_eq!(over_time("ready_and_active")[2], [3.0; 3], "of the run that goes on");
        assert_eq!(over_time("wait_seconds")[2], [0.5; 3]);
    }

    #[test]
    fn a_spread_is_a_median_and_a_range() {
        let of = |values: &[f64]| Spread::of(values.iter().copied());
        assert_eq!(
            of(&[4.0, 9.0, 1.0, 7.0, 2.0]),
            Some(Spread { median: 4.0, min: 1.0, max: 9.0 })
        );
        assert_eq!(of(&[0.5, 0.25]), Some(Spread { median: 0.25, min: 0.25, max: 0.5 }));
        assert_eq!(of(&[f64::NAN]), None);
        let json = serde_json::to_string(&of(&[2.0, 0.5])).expect("JSON");
        assert_eq!(json, r#"{"median":0.5,"min":0.5,"max":2}"#);
    }
}
