//! The picture of a hall: the stage, and before it the rows in arcs, with an aisle through their
//! middle.
//!
//! All lengths are in units of the picture. `page.css` has the same ones for the buttons, as shares
//! of a seat.

use std::fmt::Write as _;

use super::layout::escaped;
use crate::shop::Seat;

/// The side of the square of a seat: `--seat`.
const SEAT: i64 = 40;
/// How wide the aisle is: `.row i`.
const AISLE: i64 = 30;
/// How far the rows are from the picture's top: `.plan`, above.
const STAGE: i64 = 60;
/// By how much a seat can be lower than the ends of its row, in steps of a twentieth of a seat:
/// `.b1` to `.b12`, and `.plan`, below.
const STEPS: i64 = 12;
const STEP: i64 = SEAT / 20;

const SEATS: &str = "<defs>\
    <g id=\"free\"><rect class=\"tint\" x=\"7\" y=\"6\" width=\"26\" height=\"25\" rx=\"6\"/>\
    <path d=\"M4 17v10q0 9 9 9h14q9 0 9-9V17\"/></g>\
    <g id=\"taken\"><rect class=\"worn\" x=\"7\" y=\"6\" width=\"26\" height=\"25\" rx=\"6\"/>\
    <path d=\"M4 17v10q0 9 9 9h14q9 0 9-9V17\"/>\
    <path class=\"cross\" d=\"M15 13l10 11M25 13l-10 11\"/></g></defs>";

/// Where the seats of a hall are.
pub struct Hall {
    columns: i64,
}

impl Hall {
    pub fn of(seats: &[Seat]) -> Self {
        Self { columns: seats.iter().map(|seat| seat.number).max().unwrap_or(1) }
    }

    /// Whether the aisle is before this seat of a row (1, 2, 3 …).
    pub fn is_after_aisle(&self, column: i64) -> bool {
        column == self.columns / 2 + 1
    }

    /// How much lower than the ends of its row this seat is, in steps: a parabola.
    pub fn bend(&self, column: i64) -> i64 {
        let (width, middle) = (self.width(), self.left(column) + SEAT / 2);
        let area = width * width;
        (4 * self.most_bend() * middle * (width - middle) + area / 2) / area
    }

    /// In the middle of a row; a narrow hall is flatter.
    fn most_bend(&self) -> i64 {
        self.columns.min(STEPS)
    }

    /// The picture. The buttons on it have the names of the seats, so it needs no others.
    pub fn picture(&self, seats: &[Seat]) -> String {
        let rows: Vec<&[Seat]> = seats.chunk_by(|one, next| one.row == next.row).collect();
        let (width, tops) = (self.width(), (0..).map(|row| STAGE + SEAT * row));
        let height = STAGE + SEAT * i64::try_from(rows.len()).unwrap_or_default() + STEPS * STEP;
        let rows: String = rows.iter().zip(tops).map(|(row, top)| self.row(row, top)).collect();
        format!(
            "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" \
             aria-label=\"The stage, in front of the first row\">{SEATS}{}{rows}</svg>\n",
            self.stage()
        )
    }

    fn stage(&self) -> String {
        let width = self.width();
        let (edge, middle) = (width / 12, width / 2);
        let right = width - edge;
        format!(
            "<path class=\"stage\" d=\"M{edge} 4H{right}V28Q{middle} 50 {edge} 28Z\"/>\
             <text x=\"{middle}\" y=\"26\">Stage</text>"
        )
    }

    fn row(&self, row: &[Seat], top: i64) -> String {
        let mut svg = String::new();
        for seat in row {
            let kind = if seat.is_free() { "free" } else { "taken" };
            let (x, y) = (self.left(seat.number), top + self.bend(seat.number) * STEP);
            // Writing to a string cannot fail.
            let _ = write!(svg, "<use href=\"#{kind}\" x=\"{x}\" y=\"{y}\"/>");
        }
        if let Some(seat) = row.first() {
            let (x, y) =
                (SEAT * (self.columns / 2) + AISLE / 2, top + self.most_bend() * STEP + 24);
            let _ = write!(svg, "<text x=\"{x}\" y=\"{y}\">{}</text>", escaped(&seat.row));
        }
        svg
    }

    fn width(&self) -> i64 {
        SEAT * self.columns + AISLE
    }

    /// Of a seat's square.
    fn left(&self, column: i64) -> i64 {
        let aisle = if column > self.columns / 2 { AISLE } else { 0 };
        SEAT * (column - 1) + aisle
    }
}
