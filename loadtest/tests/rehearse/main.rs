//! `rehearse` against real services, and against rooms that break their promises.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

mod broken_room;
mod fake;
mod followed;
mod real_room;
mod usage;

use std::{path::Path, process::Output};

use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

/// A rehearsal that is over.
struct Rehearsed {
    output: Output,
    folder: TempDir,
}

/// Runs `anteroom-loadtest rehearse` to its end. A run that was void, as this machine was busy, is
/// made again, twice at most.
async fn rehearse(arguments: &[&str]) -> Rehearsed {
    for _ in 0..2 {
        let run = rehearse_once(arguments).await;
        if run.code() != 75 {
            return run;
        }
    }
    rehearse_once(arguments).await
}

async fn rehearse_once(arguments: &[&str]) -> Rehearsed {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_anteroom-loadtest"));
    command.arg("rehearse").args(arguments).arg("--output").arg(folder.path());
    let output = command.env_remove("ANTEROOM_KEY").kill_on_drop(true).output().await.unwrap();
    Rehearsed { output, folder }
}

impl Rehearsed {
    fn code(&self) -> i32 {
        self.output.status.code().unwrap()
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    fn file(&self, name: &str) -> String {
        let path: &Path = self.folder.path();
        std::fs::read_to_string(path.join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}; it said {}", self.said()))
    }

    fn result(&self) -> Value {
        serde_json::from_str(&self.file("rehearse.json")).unwrap()
    }
}
