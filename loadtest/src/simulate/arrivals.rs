//! When visitors come: a rate over time, and the instants that follow from it.

use std::iter;
use std::path::Path;
use std::time::Duration;

use rand::rngs::StdRng;

use super::span::exponential;
use crate::exit::Usage;

/// A curve of 30 days, in seconds.
const LONGEST: f64 = 2_592_000.0;

/// Visitors a second over time: straight lines between points, none after the last one.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrivals {
    /// (seconds, visitors a second), the seconds growing from 0 on.
    points: Vec<(f64, f64)>,
}

impl Arrivals {
    /// A straight line from one rate to another, in visitors a second.
    pub fn straight(first: f64, last: f64, length: Duration) -> Self {
        Self { points: vec![(0.0, first), (length.as_secs_f64(), last)] }
    }

    /// From lines `seconds,arrivals per second`; a first line without numbers is a heading. An
    /// error has file, line and rule.
    pub fn read(path: &Path) -> Result<Self, Usage> {
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| Usage(format!("{}: {error}", path.display())))?;
        Self::parse(&text).map_err(|rule| Usage(format!("{}:{rule}", path.display())))
    }

    /// [`read`](Self::read) of a text; an error has line and rule.
    fn parse(text: &str) -> Result<Self, String> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (line, row) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
            if row.trim().is_empty() || (line == 1 && is_heading(row)) {
                continue;
            }
            let (at, rate) = point(row).map_err(|rule| format!("{line}: {rule}"))?;
            if let Some((before, _)) = points.last().filter(|(before, _)| at <= *before) {
                return Err(format!("{line}: seconds must grow: {at} comes after {before}"));
            }
            points.push((at, rate));
        }
        let lines = text.lines().count().max(1);
        let curve = (points.len() > 1).then_some(Self { points });
        curve.ok_or_else(|| format!("{lines}: a curve needs at least 2 points"))
    }

    /// Visitors in all, on average.
    pub fn total(&self) -> f64 {
        let area = |pair: &[(f64, f64)]| (pair[1].0 - pair[0].0) * (pair[0].1 + pair[1].1) / 2.0;
        self.points.windows(2).map(area).sum()
    }

    /// When the last may come.
    pub fn length(&self) -> Duration {
        Duration::from_secs_f64(self.points.last().map_or(0.0, |point| point.0))
    }

    /// The instants, in microseconds from the start, in order. Visitors come by chance (a Poisson
    /// process), or with `even` as evenly as the rate allows.
    ///
    /// The n-th comes where the area below the curve reaches n − ½; by chance the steps of that
    /// area are exponential of mean 1 (inversion, Çınlar 1975).
    pub fn instants(&self, even: bool, mut random: StdRng) -> impl Iterator<Item = u64> {
        // The area at which the last one came, and that of the pieces before this one.
        let (mut wanted, mut passed, mut piece) = (if even { -0.5 } else { 0.0 }, 0.0, 0);
        iter::from_fn(move || {
            wanted += if even { 1.0 } else { exponential(&mut random) };
            while let [(from, first), (to, last), ..] = self.points[piece..] {
                let (length, rest) = (to - from, wanted - passed);
                let area = length * (first + last) / 2.0;
                if rest < area {
                    let slope = (last - first) / length;
                    // The root of first × x + slope × x² ÷ 2 = rest, in the form that divides by
                    // no 0.
                    let root = (first * first + 2.0 * slope * rest).max(0.0).sqrt();
                    let at = from + 2.0 * rest / (first + root);
                    return Some((at * 1e6) as u64);
                }
                (passed, piece) = (passed + area, piece + 1);
            }
            None
        })
    }
}

/// Whether a line names two columns: no digit is in front.
fn is_heading(row: &str) -> bool {
    let names = |cell: &str| !cell.trim().starts_with(|c: char| c.is_ascii_digit());
    row.split(',').count() == 2 && row.split(',').all(names)
}

fn point(row: &str) -> Result<(f64, f64), String> {
    let cells: Vec<_> = row.split(',').map(|cell| cell.trim().parse::<f64>()).collect();
    let [Ok(at), Ok(rate)] = cells[..] else {
        return Err(format!("`{row}` is not `seconds,arrivals per second`"));
    };
    if (0.0..=LONGEST).contains(&at) && rate >= 0.0 && rate.is_finite() {
        return Ok((at, rate));
    }
    Err("seconds are 0 to 2592000 (30 days), arrivals per second 0 or more".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng as _;

    fn instants(arrivals: &Arrivals, even: bool) -> Vec<u64> {
        arrivals.instants(even, StdRng::seed_from_u64(7)).collect()
    }

    #[test]
    fn a_constant_rate_comes_evenly() {
        let ten = Arrivals::straight(10.0, 10.0, Duration::from_secs(1));
        let expected: Vec<u64> = (0..10).map(|n| n * 100_000 + 50_000).collect();
        assert_eq!(instants(&ten, true), expected);
    }

    #[test]
    fn half_of_a_spike_is_there_after_three_tenths_of_its_time() {
        let spike = Arrivals::straight(200.0, 0.0, Duration::from_secs(100));
        for even in [true, false] {
            let all = instants(&spike, even);
            assert!(all.is_sorted() && all.len().abs_diff(10_000) < 400, "{}", all.len());
            // 1 − (1 − t)² = ½ at t = 0.293.
            assert!(all[all.len() / 2].abs_diff(29_300_000) < 1_500_000, "{}", all[5_000]);
        }
    }

    #[test]
    fn a_file_is_a_curve() {
        let read = Arrivals::parse("\u{feff}seconds,arrivals per second\n0,0\n10, 20\n\n20,0\n");
        let read = read.expect("a curve");
        assert_eq!(read.points, [(0.0, 0.0), (10.0, 20.0), (20.0, 0.0)]);
        assert!((read.total() - 200.0).abs() < 1e-9);
        assert_eq!(instants(&read, true).len(), 200);
    }

    #[test]
    fn a_mistake_is_named_with_its_line() {
        for (text, line, rule) in [
            ("0,1\n5,x\n", "2: ", "is not `seconds,arrivals per second`"),
            ("a,b\n0,1\n5,2,3\n", "3: ", "is not `seconds"),
            ("0,1\n5,1\n5,2\n", "3: ", "must grow: 5 comes after 5"),
            ("0,1\n5,-1\n", "2: ", "0 or more"),
            ("0,1\n5,inf\n", "2: ", "0 or more"),
            ("0,1\n1e300,0\n", "2: ", "30 days"),
            ("0;1000\n5,1\n9,1\n", "1: ", "is not `seconds"),
            ("0,1\n", "1: ", "at least 2 points"),
            ("", "1: ", "at least 2 points"),
        ] {
            let error = Arrivals::parse(text).expect_err(text);
            assert!(error.starts_with(line) && error.contains(rule), "{text:?}: {error}");
        }
        let error = Arrivals::read(Path::new("/no/such.csv")).expect_err("no file");
        assert!(error.0.starts_with("/no/such.csv: "), "{error}");
    }
}
