//! The record: every request and its answer as seen from outside, in order of reception.

use std::{
    fs::File,
    io::{BufWriter, Write as _},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use serde::Serialize;
use tempfile::TempDir;

use super::{Busiest, Rules, busiest, check, rules::micros};

/// What was asked. Whoever else ends a place, a backend or an operator, is written down as a leave
/// of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the operations of the queue")]
pub enum Call {
    Join,
    Place,
    Claim,
    Authorize,
    Renew,
    Leave,
}

/// The place that a token names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Held {
    /// The life of the queue.
    pub epoch: u64,
    /// The place's number.
    pub ticket: u64,
}

/// What an answer says of the place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// Nothing: no answer, or one that says nothing of the place.
    Nothing,
    /// In line; at the gate without a position.
    Waiting {
        /// 1 = next.
        position: Option<u64>,
    },
    /// Its turn has come and is held this long.
    Ready {
        /// Rounded up to whole milliseconds.
        left_ms: u64,
    },
    /// Its session lasts this long.
    Active {
        /// Rounded up to whole milliseconds; at the gate down to whole seconds.
        left_ms: u64,
    },
    /// The place is over.
    Gone {
        /// Why.
        reason: String,
    },
}

/// One request and what came of it. Times are microseconds of the record's own clock, which is
/// monotonic.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// The visitor's number.
    pub visitor: u32,
    /// Whose place it is: two visitors of one identity share it.
    pub identity: u32,
    /// What was asked. Whoever else ends a place, a backend or an operator, is written down as a
    /// leave of it.
    pub call: Call,
    /// Which process was asked.
    pub door: u8,
    /// When the request was sent, or a moment before.
    pub sent: u64,
    /// When the answer was there, or waiting for it was given up.
    pub received: u64,
    /// The place of the token that went with the request.
    pub holds: Option<Held>,
    /// Absent when no whole answer came.
    pub status: Option<u16>,
    /// The code of a refusal, or what became of the connection.
    pub code: String,
    /// The ticket that the answer names.
    pub ticket: Option<u64>,
    /// What the answer says of the place.
    pub told: Told,
    /// The place of the token that came with the answer.
    pub given: Option<Held>,
    /// A fingerprint of that token.
    pub token: Option<u64>,
}

impl Line {
    /// The place that the answer is about.
    pub fn place(&self) -> Option<Held> {
        self.given.or(self.holds)
    }
}

/// A record that many tasks write, each with its own clone. Its file is kept when the test fails,
/// and its path is printed.
#[derive(Clone)]
pub struct Record {
    shared: Arc<Shared>,
}

struct Shared {
    started: Instant,
    file: PathBuf,
    /// Removed with the record, unless it was taken.
    directory: Mutex<Option<TempDir>>,
    written: Mutex<Written>,
}

struct Written {
    lines: Vec<Line>,
    file: BufWriter<File>,
}

impl Record {
    /// An empty record whose clock starts now.
    ///
    /// # Panics
    /// When its file cannot be created.
    #[expect(clippy::new_without_default, reason = "each record has a file of its own")]
    pub fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("anteroom-witness-").tempdir();
        let directory = directory.expect("a temporary directory");
        let file = directory.path().join("record.jsonl");
        let writer = BufWriter::new(File::create(&file).expect("a new file"));
        let shared = Shared {
            started: Instant::now(),
            file,
            directory: Mutex::new(Some(directory)),
            written: Mutex::new(Written { lines: Vec::new(), file: writer }),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The time by the record's clock, in microseconds.
    pub fn now(&self) -> u64 {
        micros(self.shared.started.elapsed())
    }

    /// Writes a line down.
    ///
    /// # Panics
    /// When the file cannot be written.
    pub fn write(&self, line: Line) {
        let mut text = serde_json::to_vec(&line).expect("numbers and texts");
        text.push(b'\n');
        let mut written = lock(&self.shared.written);
        written.file.write_all(&text).expect("room for the record");
        written.lines.push(line);
    }

    /// All lines so far.
    pub fn lines(&self) -> Vec<Line> {
        lock(&self.shared.written).lines.clone()
    }

    /// How many lines so far are such.
    pub fn count(&self, is: impl Fn(&Line) -> bool) -> usize {
        lock(&self.shared.written).lines.iter().filter(|line| is(line)).count()
    }

    /// Checks the whole record; returns how close it came to the limits.
    ///
    /// # Panics
    /// When a promise was broken; the record is kept then.
    pub fn hold_to(&self, rules: &Rules) -> Busiest {
        let lines = self.lines();
        let violations = check(&lines, rules);
        if !violations.is_empty() {
            let reports: Vec<_> = violations.iter().map(|it| it.report(&lines)).collect();
            panic!("{} violations\n{}", reports.len(), reports.join("\n"));
        }
        busiest(&lines, rules)
    }

    fn keep(&self) {
        let _ = lock(&self.shared.written).file.flush();
        if let Some(directory) = lock(&self.shared.directory).take() {
            let _ = directory.keep();
            eprintln!("the record is kept: {}", self.shared.file.display());
        }
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.keep();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
