//! `rehearse` against real services, and against rooms that break their promises.
#![allow(clippy::unwrap_used, reason = "a test fails by panic")]

mod broken_room;
#[path = "../common/mod.rs"]
mod common;
mod followed;
mod polls;
mod real_room;
mod usage;

use std::process::Output;

use hyper::{Request, body::Incoming};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

use self::common::{Answer, json, program, stderr};

/// A rehearsal that is over.
struct Rehearsed {
    output: Output,
    folder: TempDir,
}

/// Runs `anteroom-loadtest rehearse` to its end. A run that was void, as this machine was busy, is
/// made again, twice at most.
async fn rehearse(arguments: &str) -> Rehearsed {
    for _ in 0..2 {
        let run = rehearse_once(arguments).await;
        if run.code() != 75 {
            return run;
        }
    }
    rehearse_once(arguments).await
}

async fn rehearse_once(arguments: &str) -> Rehearsed {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::from(program(&format!("rehearse {arguments}")));
    command.arg("--output").arg(folder.path()).kill_on_drop(true);
    Rehearsed { output: command.output().await.unwrap(), folder }
}

impl Rehearsed {
    fn code(&self) -> i32 {
        self.output.status.code().unwrap()
    }

    fn stderr(&self) -> String {
        stderr(&self.output)
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name))
            .unwrap_or_else(|error| panic!("{name}: {error}; {}", self.stderr()))
    }

    fn result(&self) -> Value {
        json(self.folder.path().join("rehearse.json"))
    }
}

/// Serves on loopback until the test ends; returns the URL.
async fn serve<F, A>(answer: F) -> String
where
    F: Fn(Request<Incoming>) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Answer> + Send + 'static,
{
    format!("http://{}", common::serve(None, answer).await.0)
}

/// The flag of a scenario, which this writes into a file of the folder.
fn scenario(folder: &TempDir, steps: &str) -> String {
    let file = folder.path().join("steps.toml");
    std::fs::write(&file, steps).unwrap();
    format!("--scenario {}", file.display())
}
