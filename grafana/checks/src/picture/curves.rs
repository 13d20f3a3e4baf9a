//! Panels of curves, beside each other or one on top of the other.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::Value;

use super::{Named, Plot, axis, put};
use crate::dashboard::{Panel, list, text};

/// A curve between its lower and its upper bound, by time.
type Band = Vec<(f64, f64, f64)>;

/// Draws the series of a panel, in the order of the legend.
pub(super) fn draw(svg: &mut String, plot: Plot, panel: &Panel<'_>, series: &[Named]) {
    let defaults = &panel.json["fieldConfig"]["defaults"];
    let stacks = defaults["custom"]["stacking"]["mode"] == "normal";
    let dashed = |one: &Named| overrides(panel, &one.query);
    let mut below = BTreeMap::new();
    let bands: Vec<Band> =
        series.iter().map(|one| band(one, stacks && !dashed(one), &mut below)).collect();
    let values = || bands.iter().flatten().filter(|it| it.2.is_finite());
    let largest = values().map(|it| it.2).fold(f64::MIN, f64::max);
    let smallest = values().map(|it| it.2).fold(f64::MAX, f64::min);
    let least = defaults["min"].as_f64().unwrap_or(smallest - (largest - smallest) * 0.1);
    let most = defaults["max"].as_f64().unwrap_or(largest * 1.05).max(least + 1e-3);
    let least = least.min(most - 1e-2 * most.abs());
    axis::of_values(svg, plot, text(defaults, "unit"), (least, most));
    let y =
        |value: f64| plot.y + plot.h * (1.0 - (value.clamp(least, most) - least) / (most - least));
    for (number, (one, band)) in series.iter().zip(&bands).enumerate() {
        let (colour, dash) = (number % super::COLOURS, if dashed(one) { " dash" } else { "" });
        for run in band.split(|(_, low, high)| !low.is_finite() || !high.is_finite()) {
            if run.len() < 2 {
                continue;
            }
            let mut upper = String::new();
            for (at, _, high) in run {
                write!(upper, " {:.1},{:.1}", plot.x(*at), y(*high)).expect("in memory");
            }
            if dash.is_empty() && defaults["custom"]["fillOpacity"] != 0 {
                let class = if stacks { "stack" } else { "area" };
                let mut lower = String::new();
                for (at, low, _) in run.iter().rev() {
                    let low = if stacks { *low } else { least };
                    write!(lower, " {:.1},{:.1}", plot.x(*at), y(low)).expect("in memory");
                }
                put(
                    svg,
                    format_args!(
                        "<polygon class=\"{class} s{colour}\" points=\"{}{lower}\"/>",
                        upper.trim_start()
                    ),
                );
            }
            put(
                svg,
                format_args!(
                    "<polyline class=\"line s{colour}{dash}\" points=\"{}\"/>",
                    upper.trim_start()
                ),
            );
        }
    }
}

/// Whether the panel shows the series of this query otherwise: as a dashed line.
fn overrides(panel: &Panel<'_>, query: &str) -> bool {
    let all = list(&panel.json["fieldConfig"]["overrides"]);
    let mut of_query = all.filter(|it| it["matcher"]["options"] == query);
    of_query.any(|it| list(&it["properties"]).any(|it: &Value| it["id"] == "custom.lineStyle"))
}

/// A series as a band: from what is below it, or from itself. Times in milliseconds meet exactly.
fn band(series: &Named, stacks: bool, below: &mut BTreeMap<i64, f64>) -> Band {
    let mut before = None;
    let mut band = Vec::new();
    for (at, value) in &series.points {
        // A sample that is missing leaves a gap.
        let step = series.points.get(1).map_or(1.0, |second| second.0 - series.points[0].0);
        if before.is_some_and(|before| at - before > 1.5 * step) {
            band.push((*at, f64::NAN, f64::NAN));
        }
        before = Some(*at);
        if stacks && value.is_finite() {
            let low = below.entry((at * 1e3).round() as i64).or_insert(0.0);
            band.push((*at, *low, *low + value));
            *low += value;
        } else {
            band.push((*at, *value, *value));
        }
    }
    band
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(points: &[(f64, f64)]) -> Named {
        Named { query: "A".to_owned(), name: String::new(), points: points.to_vec() }
    }

    #[test]
    fn what_is_stacked_is_above_what_came_before() {
        let mut below = BTreeMap::new();
        band(&named(&[(0.0, 1.0), (1.0, 2.0)]), true, &mut below);
        let upper = band(&named(&[(0.0, 3.0), (1.0, 4.0)]), true, &mut below);
        assert_eq!(upper, [(0.0, 1.0, 4.0), (1.0, 2.0, 6.0)]);
    }

    #[test]
    fn a_missing_sample_leaves_a_gap() {
        let band = band(&named(&[(0.0, 1.0), (1.0, 1.0), (5.0, 1.0)]), false, &mut BTreeMap::new());
        assert!(band.len() == 4 && band[2].1.is_nan(), "{band:?}");
    }
}
