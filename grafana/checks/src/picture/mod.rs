//! A dashboard as a picture: its panels in its grid, drawn from what Prometheus answers.
//!
//! It is an SVG whose colours follow the reader's light or dark theme.

mod axis;
mod curves;
mod states;

use std::{
    fmt::Write as _,
    time::{Duration, SystemTime},
};

use crate::{
    Scene,
    dashboard::{Dashboard, Panel, Place, Query, text},
    prometheus::Series,
};

/// As many as style.css has.
const COLOURS: usize = 8;
/// Of a column and a line of the grid.
const COLUMN: f64 = 50.0;
const LINE: f64 = 28.0;
/// Between the panels, and within them around the plot.
const GAP: f64 = 8.0;
const HEAD: f64 = 30.0;
const FOOT: f64 = 50.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 16.0;
/// Points of a curve.
const POINTS: u32 = 120;
/// Of a letter of the small text, about.
const LETTER: f64 = 6.7;

/// Text, and colours by number and by the names that mappings give; those of the reader's theme.
const STYLE: &str = include_str!("style.css");

/// A series under its name in the legend.
struct Named {
    query: String,
    name: String,
    points: Vec<(f64, f64)>,
}

/// Where a plot is drawn, and the seconds that it shows, from 0 on.
#[derive(Clone, Copy)]
struct Plot {
    x: f64,
    y: f64,
    w: f64,
    h: f64,
    seconds: f64,
}

impl Plot {
    fn x(self, second: f64) -> f64 {
        self.x + self.w * second / self.seconds
    }
}

/// Draws a dashboard from what the Prometheus of a scene answers, of the queue `concert`.
///
/// # Panics
/// When Prometheus refuses a query.
pub async fn draw(dashboard: &Dashboard, scene: &Scene) -> String {
    let time = (scene.began, SystemTime::now());
    let length = time.1.duration_since(time.0).unwrap_or_default();
    let step = (length / POINTS).max(crate::prometheus::EVERY);
    let bottom = dashboard.tiles().into_iter().map(Place::of).map(|it| it.y + it.h).max();
    let (width, height) = (24.0 * COLUMN + GAP, bottom.unwrap_or(0) as f64 * LINE + GAP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-label=\"{}\">\n<style>{STYLE}</style>\n<rect class=\"page\" width=\"{width}\" \
         height=\"{height}\" rx=\"6\"/>\n",
        escaped(dashboard.text("title"))
    );
    for panel in dashboard.panels() {
        let mut series = Vec::new();
        for query in &panel.queries {
            // As Grafana works it out: four scrapes, and never less than a step and one more.
            let interval = (4 * crate::prometheus::EVERY).max(step + crate::prometheus::EVERY);
            let interval = format!("{}ms", interval.max(Duration::from_secs(5)).as_millis());
            let sent = dashboard.query(query.expression, &interval, &[("queue", "concert")]);
            let answer = scene.prometheus.range(&sent, time, step).await;
            series.extend(answer.into_iter().map(|it| named(query, it, time.0)));
        }
        tile(&mut svg, &panel, &series, length.as_secs_f64());
    }
    svg + "</svg>\n"
}

/// A series, its times from the beginning on.
fn named(query: &Query<'_>, series: Series, began: SystemTime) -> Named {
    let began = began.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let mut name = query.legend.to_owned();
    for (label, value) in &series.labels {
        name = name.replace(&format!("{{{{{label}}}}}"), value);
    }
    let points = series.points.into_iter().map(|(at, value)| (at - began, value)).collect();
    Named { query: query.id.to_owned(), name, points }
}

/// A panel in its place of the grid.
fn tile(svg: &mut String, panel: &Panel<'_>, series: &[Named], seconds: f64) {
    let place = Place::of(panel.json);
    let (x, y) = (place.x as f64 * COLUMN + GAP, place.y as f64 * LINE + GAP);
    let (w, h) = (place.w as f64 * COLUMN - GAP, place.h as f64 * LINE - GAP);
    put(
        svg,
        format_args!(
            "<rect class=\"panel\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"4\"/>"
        ),
    );
    label(svg, ("title", "start"), (x + 12.0, y + 20.0), panel.title);
    let plot = Plot { x: x + LEFT, y: y + HEAD, w: w - LEFT - RIGHT, h: h - HEAD - FOOT, seconds };
    axis::of_time(svg, plot);
    if text(panel.json, "type") == "state-timeline" {
        states::draw(svg, plot, panel, series);
    } else {
        curves::draw(svg, plot, panel, series);
        legend(svg, plot, series);
    }
}

/// The names of the series in two rows; what does not fit is counted.
fn legend(svg: &mut String, plot: Plot, series: &[Named]) {
    let (mut x, mut row) = (plot.x, 0);
    for (number, one) in series.iter().enumerate() {
        let width = 30.0 + one.name.chars().count() as f64 * LETTER;
        if x > plot.x && x + width > plot.x + plot.w {
            (x, row) = (plot.x, row + 1);
        }
        let y = plot.y + plot.h + 30.0 + f64::from(row) * 14.0;
        if row == 2 {
            let rest = format!("and {} more", series.len() - number);
            return label(svg, ("", "end"), (plot.x + plot.w, y - 14.0), &rest);
        }
        put(
            svg,
            format_args!(
                "<path class=\"line s{}\" d=\"M{x:.0} {:.0}h14\"/>",
                number % COLOURS,
                y - 4.0
            ),
        );
        label(svg, ("", "start"), (x + 19.0, y), &one.name);
        x += width;
    }
}

/// One element on a line of its own.
fn put(svg: &mut String, element: std::fmt::Arguments<'_>) {
    writeln!(svg, "{element}").expect("a text in memory takes everything");
}

/// A text of a class, with its anchor at a point.
fn label(svg: &mut String, (class, anchor): (&str, &str), (x, y): (f64, f64), text: &str) {
    let text = escaped(text);
    put(
        svg,
        format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">\
             {text}</text>"
        ),
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
