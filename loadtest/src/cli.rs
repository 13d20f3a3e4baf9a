//! The command line.

use clap::{Parser, Subcommand};

use crate::exit::Outcome;

/// Measures a service, works out how many people to let in, and rehearses the rush.
#[derive(Debug, Parser)]
#[command(name = "anteroom-loadtest", version)]
pub struct Arguments {
    /// What is to be done
    #[command(subcommand)]
    pub command: Command,
}

/// The commands, each in the module of its name.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Loads a service by a scenario, and works out how many people to let in
    Ramp(Box<crate::ramp::Args>),
    /// Checks what a visitor does, or makes it from a browser's recording
    Scenario(crate::scenario::command::Args),
}

impl Command {
    /// Runs it.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::exit::Usage) for a mistake of the caller; anything else could not be done.
    pub async fn run(self) -> anyhow::Result<Outcome> {
        match self {
            Self::Ramp(args) => args.run().await,
            Self::Scenario(args) => args.run(),
        }
    }
}
