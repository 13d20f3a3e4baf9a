//! `scenario check` and `scenario from-har`.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;

use clap::Subcommand;

use super::{Ask, Scenario, har};
use crate::exit::{Outcome, Usage};
use crate::progress::{self, on_one_line};

const EXAMPLES: &str = "\
Examples:
  anteroom-loadtest scenario check shop.toml
  anteroom-loadtest scenario check
      shows the concert's scenario, which commands use that are given none
  anteroom-loadtest scenario from-har recording.har > shop.toml";

/// Checks what a visitor does, or makes it from a browser's recording.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Reads a scenario and prints what a visitor does
    Check {
        /// The scenario; the concert's if left out
        file: Option<PathBuf>,
    },
    /// Makes a scenario of a browser's recording (HAR), on standard output
    ///
    /// Keeps the requests to the origin that served most of the pages, with the time between them.
    /// Leaves out static files, cookies, authorization and most headers. A secret or an id becomes
    /// a capture from an earlier answer. If no answer shows it, it is a value to fill in, which
    /// `scenario check` asks for. Standard error lists all of these. Look through the file before
    /// you share it.
    FromHar {
        /// The recording with contents: developer tools, Network, "Save all as HAR" or "Export HAR"
        file: PathBuf,
    },
}

impl Args {
    /// Runs it.
    ///
    /// # Errors
    ///
    /// [`Usage`] when the file is wrong.
    pub fn run(self) -> anyhow::Result<Outcome> {
        let text = match self.action {
            Action::Check { file } => Scenario::read(file.as_deref())?.to_string(),
            Action::FromHar { file } => {
                let name = file.display();
                let text = std::fs::read_to_string(&file)
                    .map_err(|error| Usage(format!("{name}: {error}")))?;
                let made = har::scenario(&text);
                let made = made.map_err(|rule| Usage(format!("{name}: {rule}")))?;
                let notes = made.lines().map_while(|line| line.strip_prefix("# "));
                progress::say(&notes.collect::<Vec<_>>().join("\n"));
                made
            }
        };
        std::io::stdout().write_all(text.as_bytes())?;
        Ok(Outcome::Held)
    }
}

/// What a visitor does, for people.
impl std::fmt::Display for Scenario {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}: what a visitor does", on_one_line(&self.name))?;
        for (number, stage) in (1..).zip(&self.stages) {
            for (index, share) in self.shares(stage) {
                let step = &self.steps[index];
                let mut line = format!("{number}. {}", on_one_line(&step.name));
                if stage.len() > 1 {
                    let _ = write!(line, " ({:.0} % of the visits)", share * 100.0);
                }
                if !step.think.most.is_zero() {
                    let _ = write!(line, ": after {}", step.think);
                }
                writeln!(f, "{line}")?;
                if let Some(ask) = &step.ask {
                    self.describe(f, index, ask)?;
                }
            }
        }
        let think = humantime::format_duration(self.think_per_visitor());
        let calls = self.calls_per_visitor();
        writeln!(f, "{calls} requests and {think} of thinking, when nothing is tried again")
    }
}

impl Scenario {
    fn describe(
        &self,
        f: &mut std::fmt::Formatter<'_>,
        index: usize,
        ask: &Ask,
    ) -> std::fmt::Result {
        let step = &self.steps[index];
        writeln!(f, "   {} {}", ask.method, on_one_line(ask.path.source()))?;
        for (name, value) in &ask.headers {
            writeln!(f, "   {name}: {}", on_one_line(value.source()))?;
        }
        if let Some(body) = &ask.body {
            writeln!(f, "   body: {}", on_one_line(body.source()))?;
        }
        writeln!(f, "   expects {}", step.expect)?;
        if !step.capture.is_empty() {
            let names: Vec<_> = step.capture.keys().map(|name| format!("{{{name}}}")).collect();
            writeln!(f, "   keeps {}", names.join(", "))?;
        }
        if let Some(retry) = &step.retry {
            let from = &self.steps[retry.from].name;
            writeln!(f, "   on {} again from {from:?}, at most {} times", retry.on, retry.max)?;
        }
        Ok(())
    }
}
