//! Panels of states: a row for each series, coloured by the mappings of its values.

use super::{GAP, Named, Plot, escaped, label, put};
use crate::dashboard::{Panel, list, text};

/// Of a row at most.
const ROW: f64 = 34.0;

/// Draws a row for each series.
pub(super) fn draw(svg: &mut String, plot: Plot, panel: &Panel<'_>, series: &[Named]) {
    let most = (plot.h / series.len().max(1) as f64).min(ROW);
    for (number, one) in series.iter().enumerate() {
        let y = plot.y + number as f64 * most;
        for (from, to, value) in spans(&one.points) {
            let (colour, meaning) = mapped(panel, value);
            let (x, w) = (plot.x(from), plot.x(to) - plot.x(from));
            put(
                svg,
                format_args!(
                    "<rect class=\"bar {colour}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{w:.1}\" \
                     height=\"{:.1}\" rx=\"2\"><title>{}</title></rect>",
                    y + 2.0,
                    most - 4.0,
                    escaped(&meaning)
                ),
            );
        }
        let at = (plot.x + GAP, y + most / 2.0 + 4.0);
        label(svg, ("", "start"), at, &one.name);
    }
}

/// Times of the same value, from the first sample to the first of the next.
fn spans(points: &[(f64, f64)]) -> Vec<(f64, f64, f64)> {
    let step = points.get(1).map_or(1.0, |second| second.0 - points[0].0);
    let mut spans: Vec<(f64, f64, f64)> = Vec::new();
    for (at, value) in points {
        match spans.last_mut() {
            Some((_, to, of)) if of == value && at - *to < step => *to = at + step,
            _ => spans.push((*at, at + step, *value)),
        }
    }
    // The last sample holds for no time after it.
    if let (Some(last), Some(point)) = (spans.last_mut(), points.last()) {
        last.1 = point.0;
    }
    spans
}

/// The colour and the text that a panel gives to a value.
fn mapped(panel: &Panel<'_>, value: f64) -> (String, String) {
    let mut mappings = list(&panel.json["fieldConfig"]["defaults"]["mappings"]);
    let option = mappings.find_map(|it| it["options"].get(format!("{value}")));
    let part = |name| option.map_or("", |it| text(it, name)).to_owned();
    (part("color"), part("text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_value_is_one_span_and_a_gap_ends_it() {
        let points = [(0.0, 1.0), (1.0, 1.0), (2.0, 0.0), (3.0, 0.0), (7.0, 0.0), (8.0, 0.0)];
        assert_eq!(spans(&points), [(0.0, 2.0, 1.0), (2.0, 4.0, 0.0), (7.0, 8.0, 0.0)]);
    }
}
