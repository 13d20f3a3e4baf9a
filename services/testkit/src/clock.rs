//! A wrong wall clock for a process, faked by libfaketime; its monotonic clock stays right.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use crate::Process;

/// The wall clock of the processes started under it, wrong by so much; it may leap while they run.
pub struct Clock {
    library: PathBuf,
    directory: TempDir,
}

impl Clock {
    /// A clock that is ahead by so many seconds, or behind.
    ///
    /// # Panics
    /// When libfaketime is not installed.
    pub fn off_by(seconds: i64) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let clock = Self { library: library(), directory };
        clock.leaps_to(seconds);
        clock
    }

    /// Leaps: from now on it is off by so much.
    ///
    /// # Panics
    /// When that cannot be written down.
    pub fn leaps_to(&self, seconds: i64) {
        // It is read at every look at the clock, so it is replaced as a whole.
        let new = self.directory.path().join("new");
        let written = fs::write(&new, format!("{seconds:+}s\n"));
        written.and_then(|()| fs::rename(new, self.file())).expect("room for a few bytes");
    }

    /// Puts a program under this clock.
    pub(crate) fn rules(&self, program: &mut Command) {
        // This is how libfaketime is used. jemalloc, in Debian's Redis, asks for the time before
        // libfaketime can answer: with libc's allocator before it no program does. One that
        // brings its allocator along keeps it.
        program.env("LD_PRELOAD", format!("{} libc.so.6", self.library.display()));
        program.env("FAKETIME_TIMESTAMP_FILE", self.file()).env("FAKETIME_NO_CACHE", "1");
        // Old and new versions read one of these.
        program.env("DONT_FAKE_MONOTONIC", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        // The times of files are the machine's.
        program.env("NO_FAKE_STAT", "1");
    }

    /// Removes what libfaketime leaves in /dev/shm for the children of a process, which would stop
    /// a later process of the same id. Called when the process runs, since it may be killed at any
    /// time.
    pub(crate) fn tidies_after(process: &Process) {
        for name in ["faketime_shm_", "sem.faketime_sem_"] {
            let _ = fs::remove_file(format!("/dev/shm/{name}{}", process.id()));
        }
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("off_by")
    }
}

/// The variant for programs with threads, where Debian has it.
fn library() -> PathBuf {
    let folders = fs::read_dir("/usr/lib").into_iter().flatten().flatten().map(|it| it.path());
    let mut files = folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1"));
    files.find(|file: &PathBuf| Path::is_file(file)).unwrap_or_else(|| {
        panic!(
            "no /usr/lib/*/faketime/libfaketimeMT.so.1: scripts/prerequisites.sh installs it \
             (apt-get install libfaketime)"
        )
    })
}
