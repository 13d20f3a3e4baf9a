//! The record: every request and its answer as seen from outside, in order of reception.

use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use crate::{Heard, Line, rules::micros};

/// A record that many tasks write, each with its own clone.
#[derive(Clone)]
pub struct Record {
    shared: Arc<Shared>,
}

struct Shared {
    started: Instant,
    written: Mutex<Written>,
}

#[derive(Default)]
struct Written {
    lines: Vec<Line>,
    under_way: HashMap<u64, Line>,
    requests: u64,
}

impl Default for Record {
    fn default() -> Self {
        Self::new()
    }
}

impl Record {
    /// An empty record whose clock starts now.
    pub fn new() -> Self {
        let written = Mutex::default();
        Self { shared: Arc::new(Shared { started: Instant::now(), written }) }
    }

    /// The time by the record's clock, in microseconds.
    pub fn now(&self) -> u64 {
        micros(self.shared.started.elapsed())
    }

    /// A request is about to go out; it counts as under way until it is answered or dropped.
    pub fn request(&self, line: Line) -> Request {
        let mut written = self.written();
        let number = written.requests;
        written.requests += 1;
        written.under_way.insert(number, line);
        Request { record: self.clone(), number }
    }

    /// Writes a line down.
    pub fn write(&self, line: Line) {
        self.written().lines.push(line);
    }

    /// All lines so far.
    pub fn lines(&self) -> Vec<Line> {
        self.written().lines.clone()
    }

    /// How many lines so far are such.
    pub fn count(&self, is: impl Fn(&Line) -> bool) -> usize {
        self.written().lines.iter().filter(|line| is(line)).count()
    }

    /// Moves the lines so far to the end of `lines`, and returns the requests under way.
    ///
    /// Both together can be checked while visitors go on: whatever is neither of them had no effect
    /// yet that any of these lines could show.
    pub fn take(&self, lines: &mut Vec<Line>) -> Vec<Line> {
        let mut written = self.written();
        lines.append(&mut written.lines);
        written.under_way.values().cloned().collect()
    }

    fn end(&self, number: u64, with: impl FnOnce(Line, u64) -> Line) {
        let mut written = self.written();
        if let Some(line) = written.under_way.remove(&number) {
            written.lines.push(with(line, self.now()));
        }
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.shared.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is under way. Dropped, it is written down without an answer: it may have its
/// effect.
pub struct Request {
    record: Record,
    number: u64,
}

impl Request {
    /// Writes it down with what was heard.
    pub fn hears(self, heard: &Heard) {
        self.record.end(self.number, |line, now| line.heard(heard, now));
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.record.end(self.number, |line, now| Line { received: now, ..line });
    }
}

/// Writes lines as JSON, one a line, as they are numbered in a
/// [`report`](crate::Violation::report).
///
/// # Errors
///
/// When they cannot be written.
pub fn write_lines(lines: &[Line], mut to: impl io::Write) -> io::Result<()> {
    for line in lines {
        serde_json::to_writer(&mut to, line)?;
        to.write_all(b"\n")?;
    }
    to.flush()
}
