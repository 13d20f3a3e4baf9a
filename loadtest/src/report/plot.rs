//! Curves over an axis, as an SVG picture whose colours can be read on white and on black.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::number::number;
use super::page::escape;

const WIDTH: u32 = 860;
const HEIGHT: u32 = 380;
/// Of the title, and of each row of the legend.
const TITLE: i32 = 34;
const ROW: i32 = 20;
const LEFT: i32 = 72;
/// Of the line of a limit, and what is left between.
const DASH: (i32, i32) = (8, 4);

/// Text, axes and grid.
const INK: RGBColor = RGBColor(0x76, 0x76, 0x76);
/// Blue, vermilion, green and so on: the colour-blind see them apart too.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0x00, 0x7a, 0xc0),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x92, 0x6a),
    RGBColor(0xc2, 0x5a, 0x96),
    RGBColor(0xa0, 0x76, 0x00),
    RGBColor(0x7e, 0x6b, 0xd6),
    RGBColor(0xc8, 0x46, 0x46),
];

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn<T> = Result<T, DrawingAreaErrorKind<std::io::Error>>;

/// A picture of named curves over two axes that begin at 0.
#[derive(Clone, Debug)]
pub struct Plot {
    pub(super) title: String,
    x: String,
    y: String,
    /// In the order of the legend.
    curves: Vec<Curve>,
    /// Values of y that are bounds, by name; the legend shows them after the curves.
    limits: Vec<(String, f64)>,
}

/// A named line through points (x, y) in the order of x; those that are not numbers leave a gap.
#[derive(Clone, Debug)]
pub struct Curve {
    name: String,
    points: Vec<(f64, f64)>,
    /// What the points are the middle of: (x, lowest y, highest y).
    range: Vec<(f64, f64, f64)>,
}

impl Curve {
    /// A curve.
    pub fn new(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), points, range: Vec::new() }
    }

    /// The same, with a band from the lowest to the highest y of each x; those that are not numbers
    /// leave a gap.
    pub fn with_range(self, range: Vec<(f64, f64, f64)>) -> Self {
        Self { range, ..self }
    }
}

impl Plot {
    /// A plot of these curves. `x` and `y` name the axes with their units, such as `p95 (ms)`.
    pub fn new(title: &str, x: &str, y: &str, curves: Vec<Curve>) -> Self {
        let (title, x, y) = (title.to_owned(), x.to_owned(), y.to_owned());
        Self { title, x, y, curves, limits: Vec::new() }
    }

    /// The same, with a dashed line across the whole plot, such as at the bound of an objective.
    pub fn with_limit(mut self, name: impl Into<String>, y: f64) -> Self {
        self.limits.push((name.into(), y));
        self
    }

    /// The picture, as an `<svg>` element.
    pub fn svg(&self) -> String {
        let mut svg = String::new();
        self.draw(&SVGBackend::with_string(&mut svg, (WIDTH, HEIGHT)).into_drawing_area())
            .expect("a picture in memory takes everything, and its ranges are finite");
        let name = format!("<svg role=\"img\" aria-label=\"{}\" ", escape(&self.title));
        svg.replacen("<svg ", &name, 1)
    }

    fn draw(&self, area: &Area<'_>) -> Drawn<()> {
        let font = |size| ("sans-serif", size).into_font().color(&INK);
        area.draw_text(&self.title, &font(17), (12, 10))?;
        let rows = self.legend(area, &font(13).pos(Pos::new(HPos::Left, VPos::Center)))?;

        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let highest = self.curves.iter().flat_map(|curve| &curve.range).map(|range| range.2);
        let highest = highest.chain(self.limits.iter().map(|limit| limit.1));
        let x = end(points().map(|point| point.0));
        let y = end(points().map(|point| point.1).chain(highest)) * 1.05;
        let mut chart = ChartBuilder::on(area)
            .margin_top(TITLE + rows * ROW + 8)
            .margin_right(20)
            .margin_bottom(6)
            .x_label_area_size(42)
            .y_label_area_size(LEFT)
            .build_cartesian_2d(0.0..x, 0.0..y)?;
        chart
            .configure_mesh()
            .axis_style(INK)
            .bold_line_style(INK.mix(0.3))
            .light_line_style(TRANSPARENT)
            .label_style(font(13))
            .x_desc(&self.x)
            .y_desc(&self.y)
            .x_label_formatter(&|value| number(*value))
            .y_label_formatter(&|value| number(*value))
            .draw()?;
        for (curve, colour) in self.curves.iter().zip(COLOURS.iter().cycle()) {
            let gap = |(x, low, high): &(f64, f64, f64)| !(x + low + high).is_finite();
            for range in curve.range.split(gap).filter(|range| range.len() > 1) {
                let (up, down) = (range.iter().map(|of| (of.0, of.2)), range.iter().rev());
                let around: Vec<_> = up.chain(down.map(|of| (of.0, of.1))).collect();
                chart.draw_series([Polygon::new(around, colour.mix(0.2).filled())])?;
            }
            for points in curve.points.split(|(x, y)| !(x + y).is_finite()) {
                let line = points.iter().copied();
                chart.draw_series(LineSeries::new(line, colour.stroke_width(2)))?;
            }
        }
        for (_, limit) in self.limits.iter().filter(|limit| limit.1.is_finite()) {
            let line = [(0.0, *limit), (x, *limit)];
            chart.draw_series(DashedLineSeries::new(line, DASH.0, DASH.1, INK.stroke_width(2)))?;
        }
        area.present()
    }

    /// A row of names below the title, and more where they do not fit; returns how many.
    fn legend(&self, area: &Area<'_>, style: &TextStyle<'_>) -> Drawn<i32> {
        let (mut x, mut row) = (LEFT, 0);
        let curves = self.curves.iter().map(|curve| &curve.name).zip(COLOURS.iter().cycle());
        for (name, colour) in curves.chain(self.limits.iter().map(|limit| (&limit.0, &INK))) {
            // About as wide as sans-serif text of this size.
            let letters = i32::try_from(name.chars().count()).unwrap_or(i32::MAX / 8);
            let width = 46 + letters * 7;
            if x > LEFT && x + width > WIDTH.cast_signed() {
                (x, row) = (LEFT, row + 1);
            }
            let y = TITLE + row * ROW + ROW / 2;
            let dash = if *colour == INK { DASH } else { (20, 0) };
            for from in (0..20).step_by((dash.0 + dash.1) as usize) {
                let line = [(x + from, y), (x + from + dash.0, y)];
                area.draw(&PathElement::new(line, colour.stroke_width(3)))?;
            }
            area.draw_text(name, style, (x + 26, y))?;
            x += width;
        }
        Ok(row + 1)
    }
}

/// Where an axis ends: at the largest finite value, and never at 0.
fn end(values: impl Iterator<Item = f64>) -> f64 {
    let largest = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
    if largest > 0.0 { largest } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_names_its_axes_and_curves() {
        let curves = vec![
            Curve::new("p50", vec![(0.0, 10.0), (10.0, 20.0)]),
            Curve::new("p95 <b>", vec![(0.0, 50.0), (5.0, f64::NAN), (10.0, 90.0)]),
        ];
        let svg = Plot::new("Latency & load", "visitors/s", "latency (ms)", curves).svg();
        for part in ["visitors/s", "latency (ms)", "p50", "p95 &lt;b&gt;", "#007AC0", "#D55E00"] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        assert!(svg.starts_with("<svg role=\"img\" aria-label=\"Latency &amp; load\" "), "{svg}");
        assert!(!svg.contains("NaN") && svg.trim_end().ends_with("</svg>"), "{svg}");
    }

    #[test]
    fn a_picture_of_nothing_is_one_too() {
        let nothing = Curve::new("nothing", Vec::new());
        for curves in [vec![], vec![nothing], vec![Curve::new("flat", vec![(0.0, 0.0)])]] {
            assert!(Plot::new("a", "b", "c", curves).svg().contains("</svg>"));
        }
    }

    #[test]
    fn a_limit_goes_across_the_plot_and_a_range_is_a_band() {
        let curve = Curve::new("p95", vec![(0.0, 10.0), (10.0, 20.0)]);
        let plain = Plot::new("a", "b", "c", vec![curve.clone()]);
        let range = vec![(0.0, 5.0, 15.0), (5.0, f64::NAN, 1.0), (10.0, 15.0, 30.0)];
        let (none, one) = (plain.svg(), plain.clone().with_limit("p95<200ms", 200.0).svg());
        assert!(!none.contains("p95&lt;200ms") && one.contains("p95&lt;200ms"), "{one}");
        // The axis reaches it, and dashes go from side to side.
        assert!(!none.contains("\n200\n") && one.contains("\n200\n"), "{one}");
        let dashes = |svg: &str| svg.matches("stroke=\"#767676\" stroke-width=\"2\"").count();
        assert!(dashes(&none) == 0 && dashes(&one) > 50, "{}: {one}", dashes(&one));
        assert_eq!(none.matches("<polygon").count(), 0);
        let gap = Plot::new("a", "b", "c", vec![curve.clone().with_range(range.clone())]).svg();
        assert!(!gap.contains("<polygon") && !gap.contains("NaN"), "one point is no band: {gap}");
        let range = [&range[..1], &range[2..]].concat();
        let band = Plot::new("a", "b", "c", vec![curve.with_range(range)]).svg();
        assert_eq!(band.matches("<polygon").count(), 1, "{band}");
    }

    /// As WCAG 2 defines it; a contrast is (L1 + 0.05) ÷ (L2 + 0.05).
    fn luminance(RGBColor(r, g, b): RGBColor) -> f64 {
        let linear = |part: u8| {
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
    }

    #[test]
    fn colours_can_be_read_on_white_and_on_black() {
        for colour in COLOURS.iter().chain([&INK]) {
            let light = luminance(*colour) + 0.05;
            let least = if *colour == INK { 4.5 } else { 3.0 };
            assert!(1.05 / light >= least && light / 0.05 >= least, "{colour:?}");
        }
    }
}
