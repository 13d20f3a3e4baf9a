//! `scenario check` and `scenario from-har`.

use std::fmt;
use std::io::Write as _;
use std::path::PathBuf;

use super::{Ask, Retry, Scenario, Step, har};
use crate::exit::{Outcome, Usage};
use crate::progress::{self, on_one_line};

const EXAMPLES: &str = "\
Examples:
  anteroom-loadtest scenario check shop.toml
  anteroom-loadtest scenario check
      shows the concert's scenario, which commands use that are given none
  anteroom-loadtest scenario from-har recording.har > shop.toml";

/// Checks what a visitor does, or makes it from a browser's recording.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Action {
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

impl Action {
    /// Runs it.
    ///
    /// # Errors
    ///
    /// [`Usage`] when the file is wrong.
    pub fn run(self) -> anyhow::Result<Outcome> {
        let text = match self {
            Self::Check { file } => Scenario::read(file.as_deref())?.to_string(),
            Self::FromHar { file } => {
                let wrong = |rule| Usage(format!("{}: {rule}", file.display()));
                let text = std::fs::read_to_string(&file);
                let text = text.map_err(|error| wrong(error.to_string()))?;
                let made = har::scenario(&text).map_err(wrong)?;
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
impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: what a visitor does", on_one_line(&self.name))?;
        for (number, stage) in (1..).zip(&self.stages) {
            for (index, share) in stage {
                let step = &self.steps[*index];
                write!(f, "{number}. {}", on_one_line(&step.name))?;
                if stage.len() > 1 {
                    write!(f, " ({:.0} % of the visits)", share * 100.0)?;
                }
                if !step.think.most.is_zero() {
                    write!(f, ": after {}", step.think)?;
                }
                writeln!(f)?;
                for line in step.ask.iter().flat_map(|ask| self.lines(step, ask)) {
                    writeln!(f, "   {}", on_one_line(&line))?;
                }
            }
        }
        let think = crate::durations::format_duration(self.think_per_visitor());
        let calls = self.calls_per_visitor();
        writeln!(f, "{calls} requests and {think} of think time, without retries")
    }
}

impl Scenario {
    fn lines(&self, step: &Step, ask: &Ask) -> Vec<String> {
        let mut lines = vec![format!("{} {}", ask.method, ask.path.source())];
        lines.extend(ask.headers.iter().map(|(name, value)| format!("{name}: {}", value.source())));
        let body = ask.body.source();
        lines.extend((!body.is_empty()).then(|| format!("body: {body}")));
        lines.push(format!("expects {}", step.expect));
        let kept: Vec<_> = step.capture.keys().map(|name| format!("{{{name}}}")).collect();
        lines.extend((!kept.is_empty()).then(|| format!("keeps {}", kept.join(", "))));
        lines.extend(step.retry.iter().map(|Retry { on, from, max }| {
            let from = &self.steps[*from].name;
            format!("on {on} retries from {from:?}, at most {max} times")
        }));
        lines
    }
}
