//! Load test and capacity planner: measures the protected service, derives the rules of the waiting
//! room, and rehearses the rush.
//!
//! A black box over HTTP: of the services it knows the addresses alone. One command, one module.

pub mod cli;
pub mod client;
pub mod durations;
pub mod exit;
pub mod interrupt;
pub mod load;
pub mod merge;
pub mod own_limit;
pub mod plan;
pub mod progress;
pub mod ramp;
pub mod rehearse;
pub mod report;
pub mod scenario;
pub mod share;
pub mod simulate;
pub mod size;

use std::process::ExitCode;

use cli::Arguments;
use exit::Outcome;

/// Runs a command to its end. Errors are printed on standard error.
pub fn run(arguments: Arguments) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let outcome = runtime.map_err(anyhow::Error::from).and_then(|runtime| {
        // A visitor that a task of the runtime starts costs less than one that this thread starts.
        runtime.block_on(runtime.spawn(arguments.command.run()))?
    });
    let code = match outcome {
        Ok(Outcome::Held) => 0,
        Ok(Outcome::Missed) => exit::MISSED,
        Err(error) => {
            progress::say(&format!("anteroom-loadtest: {error:#}"));
            exit::code(&error)
        }
    };
    ExitCode::from(code)
}
