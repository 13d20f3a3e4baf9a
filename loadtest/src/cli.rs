//! The command line.

use clap::{Parser, Subcommand};

use crate::exit::Outcome;
use crate::{merge, ramp, rehearse, scenario, simulate, size};

/// Load test and capacity planner: measures a service, derives the rules of its waiting room, and
/// rehearses the rush.
#[derive(Debug, Parser)]
#[command(name = "anteroom-loadtest", version)]
pub struct Arguments {
    /// The command
    #[command(subcommand)]
    pub command: Command,
}

/// The commands, each in the module of its name.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Merges the results of several machines into one report
    Merge(merge::Merge),
    /// Loads a service with a scenario, and derives the rules of its queue
    Ramp(Box<ramp::Args>),
    /// Checks a scenario, or makes one from a browser's recording
    #[command(subcommand)]
    Scenario(scenario::command::Action),
    /// Plays a rush through the waiting room, and checks its guarantees from outside
    Rehearse(Box<rehearse::Rehearse>),
    /// Simulates a crowd under the rules of a queue, without a running service
    Simulate(Box<simulate::Simulate>),
    /// Searches for the highest load at which the service meets the objectives
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
            Self::Scenario(action) => action.run(),
        }
    }
}

#[cfg(test)]
mod tests {
    use anteroom_testkit::docs::{help_section, is_generated_by};
    use clap::CommandFactory as _;

    use super::*;

    const HEAD: &str = "\
# Command line of anteroom-loadtest

The commands of the load harness and their options, as `--help` prints them. The [sizing
method](../explanation/sizing-method.md) explains how the harness measures, and lists its exit codes. The tutorial [Size
and rehearse a sale](../tutorials/rehearse-a-sale.md) shows how to use it.
";

    /// The sections of a command and of all commands below it.
    fn add_sections(page: &mut String, name: &str, command: &clap::Command) {
        let words = name.split(' ').chain(["--help"]);
        let help = Arguments::try_parse_from(words).expect_err("it only prints").to_string();
        *page += &help_section(name, &help);
        for below in command.get_subcommands() {
            add_sections(page, &format!("{name} {}", below.get_name()), below);
        }
    }

    #[test]
    fn the_reference_of_the_command_line_is_generated() {
        let mut page = HEAD.to_owned();
        let command = Arguments::command();
        add_sections(&mut page, command.get_name(), &command);
        is_generated_by("make loadtest", "docs/reference/cli-loadtest.md", &page);
    }
}
