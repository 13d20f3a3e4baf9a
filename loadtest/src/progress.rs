//! What a run says while it runs, on standard error: a bar on a terminal, lines elsewhere.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use parking_lot::Mutex;

/// Elsewhere than on a terminal, a line at most so often.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Says a line, or more.
pub fn say(text: &str) {
    // A closed standard error is no reason to fail: the report shows the same.
    let _ = writeln!(std::io::stderr(), "{}", shown(text));
}

/// A text of any origin, safe for a terminal: the only control character is the end of a line.
pub fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        if char.is_control() && char != '\n' {
            shown.extend(char.escape_default());
        } else {
            shown.push(char);
        }
    }
    shown
}

/// The same, on one line.
pub fn on_one_line(text: &str) -> String {
    shown(text).replace('\n', "\\n")
}

/// How far a run of a known length has come.
pub struct Progress {
    what: String,
    /// None elsewhere than on a terminal.
    bar: Option<ProgressBar>,
    last: Mutex<Instant>,
    steps: u64,
}

impl Progress {
    /// Of a run of so many steps, such as milliseconds or visitors.
    pub fn new(what: impl Into<String>, steps: u64) -> Self {
        let what = what.into();
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{prefix} {wide_bar} {percent}% {msg}");
            let style = style.expect("the template is a constant");
            ProgressBar::new(steps).with_prefix(what.clone()).with_style(style)
        });
        Self { what, bar, last: Mutex::new(Instant::now()), steps }
    }

    /// It has come so far; `detail` is what there is to show.
    pub fn at(&self, step: u64, detail: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            bar.set_position(step);
            bar.set_message(detail());
            return;
        }
        let mut last = self.last.lock();
        if last.elapsed() >= LINE_EVERY {
            *last = Instant::now();
            let percent = 100 * step.min(self.steps) / self.steps.max(1);
            say(&format!("{}: {percent} %, {}", self.what, detail()));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
