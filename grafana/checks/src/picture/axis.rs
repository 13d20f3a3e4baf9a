//! The axes: round steps, and numbers with their units.

use super::{Plot, label, put};

/// Lines of the grid at most.
const LINES: f64 = 5.0;

/// The axis of time below a plot, in minutes and seconds from the beginning.
pub(super) fn of_time(svg: &mut String, plot: Plot) {
    let steps = [5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0];
    let step = steps.into_iter().find(|step| plot.seconds / step <= 8.0).unwrap_or(1_200.0);
    let mut second = 0.0;
    while second <= plot.seconds {
        let x = plot.x(second);
        put(svg, format_args!("<path class=\"grid\" d=\"M{x:.1} {:.1}v{:.1}\"/>", plot.y, plot.h));
        let text = format!("{}:{:02}", second as u64 / 60, second as u64 % 60);
        label(svg, ("", "middle"), (x, plot.y + plot.h + 15.0), &text);
        second += step;
    }
}

/// The axis of values beside a plot, from `least` to `most`.
pub(super) fn of_values(svg: &mut String, plot: Plot, unit: &str, (least, most): (f64, f64)) {
    let step = round_step((most - least) / LINES);
    let mut value = (least / step).ceil() * step;
    while value <= most + step / 1e6 {
        let y = plot.y + plot.h * (1.0 - (value - least) / (most - least));
        put(svg, format_args!("<path class=\"grid\" d=\"M{:.1} {y:.1}h{:.1}\"/>", plot.x, plot.w));
        label(svg, ("", "end"), (plot.x - 6.0, y + 4.0), &shown(value, unit));
        value += step;
    }
}

/// The next of 1, 2, 5, 10, … that is not smaller.
pub(super) fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.max(1e-6).log10().floor());
    let parts = [1.0, 2.0, 5.0];
    parts.into_iter().map(|part| part * power).find(|it| *it >= step).unwrap_or(10.0 * power)
}

/// A value with its unit, as short as Grafana shows it.
fn shown(value: f64, unit: &str) -> String {
    let digits = |value: f64| {
        let text = format!("{value:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    match unit {
        "percentunit" => format!("{}%", digits(value * 100.0)),
        "s" if value == 0.0 => "0 s".to_owned(),
        "s" if value < 1.0 => format!("{} ms", digits(value * 1e3)),
        "s" => format!("{} s", digits(value)),
        "cps" | "ops" | "reqps" => format!("{}/s", digits(value)),
        "bytes" => format!("{} MiB", digits(value / 1_048_576.0)),
        _ if value >= 1e3 => format!("{}k", digits(value / 1e3)),
        _ => digits(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_short_and_steps_are_round() {
        let values =
            [(0.25, "percentunit"), (0.05, "s"), (90.0, "s"), (2.5, "cps"), (1e4, "short")];
        let texts = values.map(|(value, unit)| shown(value, unit));
        assert_eq!(texts, ["25%", "50 ms", "90 s", "2.5/s", "10k"]);
        let steps = [0.9, 1.0, 12.0, 34.0, 0.07].map(round_step);
        assert_eq!(steps, [1.0, 1.0, 20.0, 50.0, 0.1]);
    }
}
