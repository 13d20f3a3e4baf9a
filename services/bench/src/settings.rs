//! The command line.

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use clap::Parser;

use crate::{load::Plan, request::Requests};

/// Measures the queue beside a bare hello-world, in one run, and compares with the budgets.
#[derive(Debug, Parser)]
#[command(name = "anteroom-bench", version)]
pub struct Arguments {
    /// Only these rows and sections, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub only: Vec<String>,
    /// One short round: shows that everything runs, measures little
    #[arg(long)]
    pub quick: bool,
    /// Rounds of the rows against the hello-world
    #[arg(long, default_value_t = 5)]
    pub rounds: usize,
    /// Length of one measurement
    #[arg(long, default_value_t = 3.0)]
    pub seconds: f64,
    /// Connections of the load
    #[arg(long, default_value_t = 64)]
    pub connections: usize,
    /// Threads of the load generator
    #[arg(long, default_value_t = 1)]
    pub client_threads: usize,
    /// Visitors who wait while the rows are measured
    #[arg(long, default_value_t = 10_000)]
    pub waiting: u64,
    /// Where report.json and report.md go
    #[arg(long, default_value = "target/bench", value_name = "FOLDER")]
    pub out: PathBuf,
}

/// What every measurement needs to know.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Rounds.
    pub rounds: usize,
    /// Length of one measurement.
    pub window: Duration,
    /// Connections of the load.
    pub connections: usize,
    /// Threads of the load generator.
    pub threads: usize,
    /// Visitors who wait while the rows are measured.
    pub waiting: u64,
    only: Vec<String>,
}

impl Settings {
    /// What the command line says.
    pub fn new(arguments: &Arguments) -> Self {
        let (rounds, seconds) =
            if arguments.quick { (1, 0.3) } else { (arguments.rounds, arguments.seconds) };
        Self {
            rounds: rounds.max(1),
            window: Duration::from_secs_f64(seconds.clamp(0.05, 600.0)),
            connections: arguments.connections.max(1),
            threads: arguments.client_threads.max(1),
            waiting: arguments.waiting,
            only: arguments.only.clone(),
        }
    }

    /// Whether this row or section is asked for.
    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }

    /// A load without an end.
    pub fn plan(&self, addresses: Vec<SocketAddr>, requests: Arc<Requests>, expect: u16) -> Plan {
        let (connections, threads) = (self.connections, self.threads);
        Plan { addresses, requests, expect, connections, threads, most: None }
    }
}
