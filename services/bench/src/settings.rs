//! The command line.

use std::{path::PathBuf, time::Duration};

use clap::Parser;

use crate::against;

const EXAMPLE: &str = "\
Example: what has changed since another commit
  git worktree add ../baseline e2a754b
  (cd ../baseline && cargo build --release -p anteroom-admission -p anteroom-scheduler)
  cargo build --release
  target/release/anteroom-bench --against ../baseline/target/release";

/// Benchmarks the queue next to a bare hello-world server in one run, and checks the budgets.
#[derive(Debug, Parser)]
#[command(name = "anteroom-bench", version, after_help = EXAMPLE)]
pub struct Arguments {
    /// Run only these rows and sections, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub only: Vec<String>,
    /// One short round: a smoke test, not a measurement
    #[arg(long)]
    pub quick: bool,
    /// Rounds of the rows against the hello-world [default: 5], or of each row with --against
    /// [default: 11]
    #[arg(long)]
    pub rounds: Option<usize>,
    /// Length of one measurement in seconds
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
    /// Of the visitors in the section "waiting", so many poll; no fewer wait
    #[arg(long, default_value_t = 500_000)]
    pub polling: u64,
    /// Only compare join, place and authorize with the programs of another build in FOLDER. The own
    /// programs are those next to this one, or in ANTEROOM_BIN_DIR
    #[arg(long, value_name = "FOLDER")]
    pub against: Option<PathBuf>,
    /// Also measure this limitador-server (github.com/Kuadrant/limitador), next to the limits
    #[arg(long, value_name = "PROGRAM")]
    pub limitador: Option<PathBuf>,
    /// Also measure envoyproxy/ratelimit and limitador, next to anteroom-envoy; go and cargo build
    /// them below the folder of the report
    #[arg(long)]
    pub rate_limit_services: bool,
    /// Also measure BullMQ, next to the issuer; npm installs it below the folder of the report
    #[arg(long)]
    pub bullmq: bool,
    /// Folder of report.json and report.md
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
    /// The load before it: connections are made, caches and branch predictors have seen the work.
    pub warm_up: Duration,
    /// Connections of the load.
    pub connections: usize,
    /// Threads of the load generator.
    pub threads: usize,
    /// Visitors who wait while the rows are measured.
    pub waiting: u64,
    /// Of those in a line of their own, so many poll as often as they should.
    pub polling: u64,
    /// Whether the time of each answer is kept.
    pub times: bool,
    /// Whether a quick look is enough.
    pub quick: bool,
    /// Cores of the machine.
    pub cores: usize,
    /// A limitador-server.
    pub limitador: Option<PathBuf>,
    /// Where envoyproxy/ratelimit and limitador are to be built.
    pub rate_limit_services: Option<PathBuf>,
    /// Where BullMQ is to be installed.
    pub bullmq: Option<PathBuf>,
    only: Vec<String>,
}

impl Settings {
    /// What the command line says.
    pub fn new(arguments: &Arguments) -> Self {
        let rounds = if arguments.against.is_some() { against::ROUNDS } else { 5 };
        let (rounds, seconds, warm_up) = if arguments.quick {
            (1, 0.2, 0.1)
        } else {
            (arguments.rounds.unwrap_or(rounds), arguments.seconds, 0.5)
        };
        Self {
            rounds: rounds.max(1),
            window: Duration::from_secs_f64(seconds.clamp(0.05, 600.0)),
            warm_up: Duration::from_secs_f64(warm_up),
            connections: arguments.connections.max(1),
            threads: arguments.client_threads.max(1),
            waiting: if arguments.quick { 100 } else { arguments.waiting },
            polling: arguments.polling.max(1),
            times: false,
            quick: arguments.quick,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            limitador: arguments.limitador.clone(),
            rate_limit_services: arguments.rate_limit_services.then(|| arguments.out.clone()),
            bullmq: arguments.bullmq.then(|| arguments.out.join("bullmq")),
            only: arguments.only.clone(),
        }
    }

    /// Whether this row or section is wanted.
    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }

    /// The same with another number of connections.
    pub fn connections(&self, connections: usize) -> Self {
        Self { connections, ..self.clone() }
    }

    /// The same with the times of all answers.
    pub fn with_times(&self) -> Self {
        Self { times: true, ..self.clone() }
    }

    /// `full`, or a hundredth of it when only a quick look is wanted.
    pub fn scaled(&self, full: u64) -> u64 {
        if self.quick { full.div_ceil(100) } else { full }
    }
}
