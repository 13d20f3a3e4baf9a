//! The record of a test.

use std::{
    fs::File,
    io::BufWriter,
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anteroom_witness::{Busiest, Rules, busiest, check, write_lines};

/// A record of which a file is kept when the test fails; its path is printed.
#[derive(Clone, Default)]
pub struct Record {
    record: anteroom_witness::Record,
    kept: Arc<AtomicBool>,
}

impl Record {
    /// An empty record whose clock starts now.
    pub fn new() -> Self {
        Self::default()
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

    fn keep(&self) -> std::io::Result<()> {
        let directory = tempfile::Builder::new().prefix("anteroom-witness-").tempdir()?.keep();
        let file = directory.join("record.jsonl");
        write_lines(&self.lines(), BufWriter::new(File::create(&file)?))?;
        eprintln!("the record is kept: {}", file.display());
        Ok(())
    }
}

impl Deref for Record {
    type Target = anteroom_witness::Record;

    fn deref(&self) -> &Self::Target {
        &self.record
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        if std::thread::panicking()
            && !self.kept.swap(true, Ordering::Relaxed)
            && let Err(error) = self.keep()
        {
            eprintln!("the record is lost: {error}");
        }
    }
}
