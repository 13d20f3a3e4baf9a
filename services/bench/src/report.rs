//! What was measured: sections of rows of figures, each with its budgets, as JSON and as Markdown.

use std::{fmt::Write as _, path::Path};

use serde::{Serialize, Serializer, ser::SerializeMap as _};

use crate::machine::Machine;

/// Everything of one run.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Where it ran.
    pub machine: Machine,
    /// How it was measured, a line each.
    pub method: Vec<String>,
    /// What was measured.
    pub sections: Vec<Section>,
    /// What could not be measured, and why.
    pub notes: Vec<String>,
}

/// A table.
#[derive(Debug, Serialize)]
pub struct Section {
    /// The name by which `--only` asks for it.
    pub name: &'static str,
    /// The heading.
    pub title: String,
    /// How it was measured.
    pub how: String,
    /// Its rows; all have the same figures.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Debug, Default, Serialize)]
pub struct Row {
    /// What was measured.
    pub name: String,
    /// Its figures by name.
    #[serde(serialize_with = "map")]
    pub figures: Vec<(&'static str, f64)>,
    /// Those that have a budget.
    pub budgets: Vec<Budget>,
}

/// A budget and whether it was kept.
#[derive(Debug, Serialize)]
pub struct Budget {
    /// The figure it is for.
    pub figure: &'static str,
    /// The bound.
    pub bound: Bound,
    /// What was measured.
    pub measured: f64,
    /// Whether the bound holds.
    pub pass: bool,
}

/// The bound of a budget.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// No less.
    AtLeast(f64),
    /// No more.
    AtMost(f64),
    /// This and nothing else.
    Exactly(f64),
}

impl Row {
    /// A row without figures yet.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Adds a figure.
    #[must_use]
    pub fn figure(mut self, name: &'static str, value: f64) -> Self {
        self.figures.push((name, value));
        self
    }

    /// Adds a figure that has a budget.
    #[must_use]
    pub fn within(self, name: &'static str, value: f64, bound: Option<Bound>) -> Self {
        let mut row = self.figure(name, value);
        row.budgets.extend(bound.map(|bound| Budget {
            figure: name,
            bound,
            measured: value,
            pass: match bound {
                Bound::AtLeast(bound) => value >= bound,
                Bound::AtMost(bound) => value <= bound,
                // Two counters are read one after the other.
                Bound::Exactly(bound) => (value - bound).abs() < 0.001,
            },
        }));
        row
    }
}

impl Report {
    /// Writes `report.json` and `report.md` into a folder.
    pub fn write(&self, folder: &Path) -> anyhow::Result<()> {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join("report.json"), serde_json::to_string_pretty(self)?)?;
        std::fs::write(folder.join("report.md"), self.markdown())?;
        Ok(())
    }

    /// The whole as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = format!("# Benchmark of the queue\n\n{}\n", self.machine);
        for line in &self.method {
            let _ = writeln!(text, "- {line}");
        }
        let _ = write!(text, "\n## In short\n\n{}", summary(&self.sections));
        for section in &self.sections {
            let _ =
                write!(text, "\n## {}\n\n{}\n\n{}", section.title, section.how, section.table());
        }
        if !self.notes.is_empty() {
            text.push_str("\n## Not measured\n\n");
            for note in &self.notes {
                let _ = writeln!(text, "- {note}");
            }
        }
        text
    }
}

/// Every figure that has a budget.
fn summary(sections: &[Section]) -> String {
    let mut text = "| figure | measured | budget |\n|---|---:|---|\n".to_owned();
    for section in sections {
        let rows = section.rows.iter().flat_map(|row| row.budgets.iter().map(move |it| (row, it)));
        for (row, budget) in rows {
            let Section { name, .. } = section;
            let Budget { figure, measured, .. } = budget;
            let _ = writeln!(
                text,
                "| {name}: {}, {figure} | {} | {} |",
                row.name,
                shown(*measured),
                budget.bound_and_verdict()
            );
        }
    }
    text
}

impl Section {
    fn table(&self) -> String {
        let columns: Vec<_> =
            self.rows.first().into_iter().flat_map(|row| &row.figures).map(|it| it.0).collect();
        let mut text = format!("| {} | {} | budget |\n", self.name, columns.join(" | "));
        let _ = writeln!(text, "|---|{}---|", "---:|".repeat(columns.len()));
        for row in &self.rows {
            let figures: Vec<_> = row.figures.iter().map(|(_, value)| shown(*value)).collect();
            let budgets: Vec<_> = row.budgets.iter().map(Budget::to_string).collect();
            let _ = writeln!(
                text,
                "| {} | {} | {} |",
                row.name,
                figures.join(" | "),
                budgets.join("; ")
            );
        }
        text
    }
}

impl Budget {
    fn bound_and_verdict(&self) -> String {
        let (sign, bound) = match self.bound {
            Bound::AtLeast(bound) => ('≥', bound),
            Bound::AtMost(bound) => ('≤', bound),
            Bound::Exactly(bound) => ('=', bound),
        };
        let verdict = if self.pass { "pass" } else { "**short**" };
        format!("{sign} {}: {verdict}", shown(bound))
    }
}

impl std::fmt::Display for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.figure, self.bound_and_verdict())
    }
}

/// A number with as many digits as mean something.
fn shown(value: f64) -> String {
    match value.abs() {
        _ if value.is_nan() => "–".to_owned(),
        1000.0.. => {
            let digits = format!("{value:.0}");
            let (first, rest) = digits.split_at((digits.len() - 1) % 3 + 1);
            let groups = rest.as_bytes().chunks(3).map(String::from_utf8_lossy);
            groups.fold(first.to_owned(), |all, group| all + " " + &group)
        }
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        0.1.. => format!("{value:.2}"),
        _ if value == 0.0 => "0".to_owned(),
        _ => format!("{value:.4}"),
    }
}

fn map<S: Serializer>(figures: &[(&str, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(figures.len()))?;
    for (name, value) in figures {
        map.serialize_entry(name, value)?;
    }
    map.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_with_the_digits_that_mean_something() {
        for (value, text) in [
            (f64::NAN, "–"),
            (0.0, "0"),
            (0.031_25, "0.0312"),
            (0.755, "0.76"),
            (12.34, "12.3"),
            (123.4, "123"),
            (1_234.0, "1 234"),
            (56_789.0, "56 789"),
            (1_000_000.0, "1 000 000"),
        ] {
            assert_eq!(shown(value), text);
        }
    }

    #[test]
    fn a_row_says_whether_it_keeps_its_budget() {
        let row = Row::new("join")
            .within("ratio", 0.71, Some(Bound::AtLeast(0.70)))
            .within("bytes", 121.0, Some(Bound::AtMost(120.0)))
            .within("free", 1.0, None);
        let section =
            Section { name: "rows", title: String::new(), how: String::new(), rows: vec![row] };
        assert_eq!(
            section.table(),
            "| rows | ratio | bytes | free | budget |\n|---|---:|---:|---:|---|\n\
             | join | 0.71 | 121 | 1.00 | ratio ≥ 0.70: pass; bytes ≤ 120: **short** |\n"
        );
        assert_eq!(
            summary(&[section]),
            "| figure | measured | budget |\n|---|---:|---|\n\
             | rows: join, ratio | 0.71 | ≥ 0.70: pass |\n\
             | rows: join, bytes | 121 | ≤ 120: **short** |\n"
        );
    }
}
