//! What a run leaves behind: one report as Markdown with its plots beside it, as a single HTML page
//! that holds them, and as JSON for programs.

mod number;
mod page;
mod plot;

pub use number::{number, rounded_json};
pub use plot::{Curve, Plot};

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::{create_dir_all, remove_file, write};
use std::path::Path;

use anyhow::{Context as _, Result};
use clap::ValueEnum;
use serde::Serialize;

use crate::exit::Usage;
use crate::progress::say;

/// What a run reports, from top to bottom.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The heading.
    pub title: String,
    /// All below it.
    pub parts: Vec<Part>,
}

/// A part of a report. Texts are plain: no Markdown, no HTML.
#[derive(Clone, Debug)]
pub enum Part {
    /// A heading of a section.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// Lines that are shown as they are, such as a patch.
    Code(String),
    /// A table: its head, and rows as long as that.
    Table(Vec<String>, Vec<Vec<String>>),
    /// A picture, and the name of its file without an ending.
    Plot(String, Plot),
}

impl Report {
    /// A report without parts.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), parts: Vec::new() }
    }

    /// Adds a heading.
    pub fn heading(&mut self, text: impl Into<String>) {
        self.parts.push(Part::Heading(text.into()));
    }

    /// Adds a paragraph.
    pub fn text(&mut self, text: impl Into<String>) {
        self.parts.push(Part::Text(text.into()));
    }

    /// Adds a table.
    pub fn table<const N: usize>(&mut self, head: [&str; N], rows: Vec<[String; N]>) {
        self.rows(head.to_vec(), rows.into_iter().map(Vec::from).collect());
    }

    /// Adds a table whose columns are known only when it runs; its rows are as long as its head.
    pub fn rows(&mut self, head: Vec<&str>, rows: Vec<Vec<String>>) {
        let head = head.into_iter().map(str::to_owned).collect();
        self.parts.push(Part::Table(head, rows));
    }

    /// Adds a picture; its file is `name.svg`.
    pub fn plot(&mut self, name: impl Into<String>, plot: Plot) {
        self.parts.push(Part::Plot(name.into(), plot));
    }

    /// Writes `name.md`, `name.html`, `name.json` and the plots into a folder, and says where the
    /// report is.
    ///
    /// `result` is what the JSON shows, its decimal numbers rounded; it has a `schema_version`.
    ///
    /// # Errors
    ///
    /// When a file cannot be written; the error names it.
    pub fn write(&self, folder: &Path, name: &str, result: &impl Serialize) -> Result<()> {
        let put = |file: String, text: &str| {
            let path = folder.join(file);
            write(&path, text).with_context(|| path.display().to_string())
        };
        for part in &self.parts {
            if let Part::Plot(name, plot) = part {
                put(format!("{name}.svg"), &plot.svg())?;
            }
        }
        put(format!("{name}.md"), &self.markdown())?;
        put(format!("{name}.html"), &self.html())?;
        put(format!("{name}.json"), &format!("{:#}", rounded_json(serde_json::to_value(result)?)))?;
        say(&format!("report: {}", folder.join(format!("{name}.html")).display()));
        Ok(())
    }
}

/// Makes the folder of a report, before a run whose results could not be written into it.
///
/// # Errors
///
/// [`Usage`] for a folder that cannot be made or written to.
pub fn prepare(folder: &Path) -> Result<(), Usage> {
    let probe = folder.join(".writable");
    let made =
        create_dir_all(folder).and_then(|()| write(&probe, "")).and_then(|()| remove_file(&probe));
    made.map_err(|error| Usage(format!("--output {}: {error}", folder.display())))
}

/// The name of a value of an argument, for people.
pub fn name(of: &impl ValueEnum) -> String {
    // None of them is hidden, so each has one.
    of.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
}

/// Counts of what they are of.
pub fn list<K: Display>(counts: &BTreeMap<K, u64>) -> String {
    let counts = counts.iter().map(|(what, count)| format!("{what}: {count}"));
    counts.collect::<Vec<_>>().join(", ")
}
