//! The command line.

use clap::{Parser, Subcommand};

use crate::exit::Outcome;
use crate::{ramp, rehearse, scenario, share, simulate, size};

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
    /// Makes one report of the parts that several machines played
    Merge(share::Merge),
    /// Loads a service by a scenario, and works out how many people to let in
    Ramp(Box<ramp::Args>),
    /// Checks what a visitor does, or makes it from a browser's recording
    Scenario(scenario::command::Args),
    /// Plays a rush through the waiting room, and judges its promises from outside
    Rehearse(Box<rehearse::Rehearse>),
    /// Plays a crowd by the rules of a queue, without a cluster
    Simulate(Box<simulate::Simulate>),
    /// Searches for the highest load that holds the objectives
    Size(Box<size::Size>),
}

impl Command {
    /// Runs it.
    ///
    /// # Errors
    ///
    /// [`Usage`](crate::exit::Usage) for a mistake of the caller; anything else could not be done.
    pub async fn run(self) -> anyhow::Result<Outcome> {
        match self {
            Self::Merge(merge) => merge.run().await,
            Self::Rehearse(rehearse) => rehearse.run().await,
            Self::Simulate(simulate) => simulate.run().await,
            Self::Size(size) => size.run().await,
            Self::Ramp(args) => args.run().await,
            Self::Scenario(args) => args.run(),
        }
    }
}
