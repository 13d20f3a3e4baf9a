//! What was seen, line by line.

use std::{fs, io::Write as _, path::Path, time::Duration};

use serde::Serialize;

use crate::{progress::say, seen::Seen};

/// A line: what was done, what was seen, whether that is what must be.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Line {
    /// What was done.
    pub step: String,
    /// What was seen, for a person to read.
    pub seen: String,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// What visitors saw meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visitors: Option<Seen>,
    /// Absent where the figure alone counts.
    pub held: Option<bool>,
}

impl Line {
    /// A line about a step.
    pub fn new(step: impl Into<String>, seen: impl Into<String>, held: Option<bool>) -> Self {
        Self { step: step.into(), seen: seen.into(), held, ..Self::default() }
    }

    /// With how long it took.
    #[must_use]
    pub fn took(self, time: Duration) -> Self {
        Self { seconds: Some(time.as_secs_f64()), ..self }
    }

    /// With what visitors saw.
    #[must_use]
    pub fn under(self, visitors: Seen) -> Self {
        Self { visitors: Some(visitors), ..self }
    }

    fn cells(&self) -> [String; 8] {
        let visitors = self.visitors.as_ref();
        let cell = |text: &dyn Fn(&Seen) -> String| visitors.map_or(String::new(), text);
        [
            self.step.clone(),
            self.seconds.map_or(String::new(), |seconds| format!("{seconds:.1} s")),
            cell(&|seen| seen.kept.to_string()),
            cell(&|seen| seen.new.to_string()),
            cell(&|seen| seen.put_off().to_string()),
            cell(&|seen| seen.gap_seconds.map_or(String::new(), |gap| format!("{gap:.1} s"))),
            match self.held {
                Some(true) => "held".to_owned(),
                Some(false) => "NOT HELD".to_owned(),
                None => String::new(),
            },
            self.seen.clone(),
        ]
    }
}

const HEAD: [&str; 8] = [
    "step",
    "took",
    "lost, kept connections",
    "lost, new ones",
    "put off",
    "gap in promotion",
    "",
    "seen",
];

/// All lines of a run.
#[derive(Debug, Serialize)]
pub struct Table {
    /// Goes up when a field changes its meaning or is taken away.
    schema_version: u32,
    context: String,
    namespace: String,
    image: String,
    image_previous: Option<String>,
    lines: Vec<Line>,
}

impl Table {
    /// An empty one.
    pub fn new(context: &str, namespace: &str, image: &str, previous: Option<&str>) -> Self {
        Self {
            schema_version: 1,
            context: context.to_owned(),
            namespace: namespace.to_owned(),
            image: image.to_owned(),
            image_previous: previous.map(str::to_owned),
            lines: Vec::new(),
        }
    }

    /// Adds a line, and says it.
    pub fn add(&mut self, line: Line) {
        let cells = line.cells();
        let named = HEAD.iter().zip(&cells).skip(1).filter(|(_, cell)| !cell.is_empty());
        let parts: Vec<_> = named
            .map(|(head, cell)| match *head {
                "seen" | "" => cell.clone(),
                head => format!("{head}: {cell}"),
            })
            .collect();
        say(&format!("{}: {}", cells[0], parts.join("; ")));
        self.lines.push(line);
    }

    /// Whether no line is not held.
    pub fn held(&self) -> bool {
        self.lines.iter().all(|line| line.held != Some(false))
    }

    /// Prints it, as Markdown whose columns stand below each other.
    pub fn print(&self) {
        let rows: Vec<_> = self.lines.iter().map(Line::cells).collect();
        let width = |column: usize| {
            if column == HEAD.len() - 1 {
                // The last one is as long as it likes.
                return HEAD[column].len();
            }
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.chain([HEAD[column].len()]).max().unwrap_or(0)
        };
        let widths: [usize; 8] = std::array::from_fn(width);
        let line = |cells: [&str; 8]| {
            let cells = cells.iter().zip(widths).map(|(cell, width)| format!(" {cell:width$} |"));
            format!("|{}\n", cells.collect::<String>())
        };
        let rules = widths.map(|width| "-".repeat(width));
        let mut text = line(HEAD) + &line(rules.each_ref().map(String::as_str));
        for row in &rows {
            text += &line(row.each_ref().map(String::as_str));
        }
        // A closed terminal is no failure of the run.
        let _ = std::io::stdout().write_all(text.as_bytes());
    }

    /// Writes it as JSON.
    pub fn write(&self, to: &Path) -> anyhow::Result<()> {
        Ok(fs::write(to, serde_json::to_string_pretty(self)?)?)
    }
}
