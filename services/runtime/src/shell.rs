//! One shell for every binary: configuration → logs → metrics → signals → metrics port → role.
//!
//! The role is a callback with a [`Context`]; it runs until it is done or until the context's
//! `shutdown` is cancelled, and then drains as long as it needs. The metrics port outlives it.

use std::{future::Future, io::Write, path::PathBuf, process::ExitCode, sync::Arc};

use anteroom_config::{Config, ConfigError, DEFAULT_TOML, Loader, Service};
use anteroom_core::store::Refused;
use anyhow::Context as _;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use prometheus::Registry;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::{
    Operations, PortName, Readiness, Supervisor, metrics,
    metrics_port::MetricsPort,
    reload::{self, Changes},
    telemetry,
};

/// The configuration is refused (`EX_USAGE` of sysexits).
const EXIT_CONFIG: u8 = 64;
/// The store's user has no permission for what the service does (`EX_NOPERM` of sysexits).
const EXIT_REFUSED: u8 = 77;
/// Ended by a second signal (128 + SIGINT, as shells say it).
const EXIT_SECOND_SIGNAL: u8 = 130;

/// What the shell gives to a role.
#[derive(Clone, Debug)]
pub struct Context {
    /// The configuration at the start.
    pub config: Arc<Config>,
    /// The configuration in force, again at each change.
    pub changes: Changes,
    /// Where metrics are registered.
    pub registry: Registry,
    /// Whether the service is ready. The role must call [`Readiness::started`].
    pub readiness: Readiness,
    /// Cancelled on SIGTERM, SIGINT and SIGHUP.
    pub shutdown: CancellationToken,
    /// Where operations are counted for the success ratio.
    pub operations: Operations,
    /// Keeps the tasks that serve one entity each.
    pub supervisor: Supervisor,
}

/// The command line that every binary has; one with subcommands adds them.
pub fn command(service: Service) -> Command {
    let program = service.program();
    Command::new(program)
        .version(env!("CARGO_PKG_VERSION"))
        .about(service.about())
        .after_help(format!(
            "Examples:\n  {program} --config anteroom.toml\n  {program} --config anteroom.toml \
             --check-config\n  {program} --config anteroom.toml --print-config\n  {program} \
             --print-defaults > anteroom.toml\n  ANTEROOM_STORE__URL=redis://redis:6379 \
             {program}\n\nYou can also set each configuration key with an environment \
             variable,\nANTEROOM_<SECTION>__<KEY>. RUST_LOG takes precedence over \
             log.level.\n\nExit codes: 0 done, 1 failed, 2 wrong arguments, 64 bad \
             configuration, 77 missing Redis permission, 130 ended by a second signal."
        ))
        .arg(
            Arg::new("config")
                .long("config")
                .value_name("FILE")
                .global(true)
                .env("ANTEROOM_CONFIG")
                .hide_env_values(true)
                .value_parser(value_parser!(PathBuf))
                .help("Configuration file (TOML). Without it: defaults and environment variables"),
        )
        .arg(
            Arg::new("check-config")
                .long("check-config")
                .action(ArgAction::SetTrue)
                .help("Check the configuration and exit"),
        )
        .arg(
            Arg::new("print-config")
                .long("print-config")
                .action(ArgAction::SetTrue)
                .conflicts_with("check-config")
                .help("Print each configuration value in force with its origin, and exit"),
        )
        .arg(
            Arg::new("print-defaults")
                .long("print-defaults")
                .action(ArgAction::SetTrue)
                .conflicts_with_all(["check-config", "print-config"])
                .help("Print all configuration keys with defaults and descriptions, and exit"),
        )
}

/// The whole `main` of a binary without subcommands.
pub fn main<F, R>(service: Service, role: F) -> ExitCode
where
    F: FnOnce(Context) -> R,
    R: Future<Output = anyhow::Result<()>>,
{
    run(service, &command(service).get_matches(), role)
}

/// Runs a role with the arguments that [`command`] has read. Blocks until it ends.
pub fn run<F, R>(service: Service, arguments: &ArgMatches, role: F) -> ExitCode
where
    F: FnOnce(Context) -> R,
    R: Future<Output = anyhow::Result<()>>,
{
    if arguments.get_flag("print-defaults") {
        print(DEFAULT_TOML);
        return ExitCode::SUCCESS;
    }
    let file = arguments.get_one::<PathBuf>("config");
    let mut loader = Loader::new(file.map(PathBuf::as_path)).service(service);
    let only_checks = arguments.get_flag("check-config");
    if only_checks {
        loader = loader.for_any_machine();
    }
    let loader = match loader.process_environment() {
        Ok(loader) => loader,
        Err(error) => return refuse(service, &error),
    };
    if arguments.get_flag("print-config") {
        return list(service, &loader);
    }
    let config = match loader.load() {
        Ok(config) => config,
        Err(error) => return refuse(service, &error),
    };
    let filter = match telemetry::filter_of_process(&config.log) {
        Ok(filter) => filter,
        Err(error) => return refuse(service, &error),
    };
    if only_checks {
        return report(service, &config);
    }
    telemetry::start(filter, &config.log);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "cannot start");
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(serve(service, loader, Arc::new(config), role));
    // Whatever still runs has had its time to drain.
    runtime.shutdown_background();
    code
}

/// Everything from the logs on.
async fn serve<F, R>(service: Service, loader: Loader, config: Arc<Config>, role: F) -> ExitCode
where
    F: FnOnce(Context) -> R,
    R: Future<Output = anyhow::Result<()>>,
{
    let (name, version) = (service.name(), env!("CARGO_PKG_VERSION"));
    tracing::info!(service = name, version, "starting");
    for warning in config.warnings(service) {
        tracing::warn!("{warning}");
    }
    let started = start(service, loader, config).await;
    let (context, mut signals) = match started {
        Ok(started) => started,
        Err(error) => {
            tracing::error!(error = format!("{error:#}"), "cannot start");
            return ExitCode::FAILURE;
        }
    };
    let (readiness, shutdown) = (context.readiness.clone(), context.shutdown.clone());
    let mut role = std::pin::pin!(role(context));
    let outcome = tokio::select! {
        outcome = &mut role => outcome,
        signal = signals.next() => {
            tracing::info!(signal, "shutting down");
            readiness.drain();
            shutdown.cancel();
            tokio::select! {
                outcome = &mut role => outcome,
                signal = signals.next() => {
                    tracing::warn!(signal, "second signal: ending now, without a graceful shutdown");
                    return ExitCode::from(EXIT_SECOND_SIGNAL);
                }
            }
        }
    };
    // For the tasks that the role has left behind.
    shutdown.cancel();
    match outcome {
        Ok(()) => {
            tracing::info!(service = name, "stopped");
            ExitCode::SUCCESS
        }
        Err(error) => {
            tracing::error!(error = format!("{error:#}"), "failed");
            if error.is::<Refused>() { ExitCode::from(EXIT_REFUSED) } else { ExitCode::FAILURE }
        }
    }
}

/// Metrics, signals, metrics port.
async fn start(
    service: Service,
    loader: Loader,
    config: Arc<Config>,
) -> anyhow::Result<(Context, Signals)> {
    let operations = Operations::new();
    let registry = metrics::registry(service, &operations)?;
    let supervisor = Supervisor::register(&registry)?;
    let signals = Signals::new().context("cannot listen to signals")?;
    let readiness = Readiness::new();
    let shutdown = CancellationToken::new();
    let changes = reload::watch(loader, Arc::clone(&config), &registry, shutdown.clone())?;
    let address = config.metrics_listen(service);
    let port = MetricsPort::new(registry.clone(), readiness.clone());
    let (bound, serving) = port
        .bind(address)
        .with_context(|| format!("{}.metrics_listen = {address}", service.name()))?;
    tokio::spawn(serving);
    telemetry::write_listening(PortName::Metrics, bound);
    let context =
        Context { config, changes, registry, readiness, shutdown, operations, supervisor };
    Ok((context, signals))
}

/// The signals that ask for an end.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// Left alone it would end us at once. Absent where who started us had it ignored (`nohup`).
    hang_up: Option<Signal>,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: if ignores_hang_up() { None } else { Some(signal(SignalKind::hangup())?) },
        })
    }

    /// The next one, by name.
    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
            Some(()) = recv(self.hang_up.as_mut()) => "SIGHUP",
        }
    }
}

async fn recv(signal: Option<&mut Signal>) -> Option<()> {
    signal?.recv().await
}

/// Whether SIGHUP, the first of the signals, is ignored from the start on.
fn ignores_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|it| it & 1 == 1)
}

/// `--check-config` of a good configuration.
fn report(service: Service, config: &Config) -> ExitCode {
    for warning in config.warnings(service) {
        write_line(std::io::stderr(), &format!("warning: {warning}"));
    }
    write_line(std::io::stdout(), "the configuration is valid");
    ExitCode::SUCCESS
}

/// `--print-config` of a good configuration.
fn list(service: Service, loader: &Loader) -> ExitCode {
    let listing = match loader.list() {
        Ok(listing) => listing,
        Err(error) => return refuse(service, &error),
    };
    print(&format!(
        "# The configuration of {} {}: each value in force with its origin.\n# Keys that are not \
         here are unset. \"[hidden]\" is a secret.\n",
        service.program(),
        env!("CARGO_PKG_VERSION"),
    ));
    if std::env::var_os("RUST_LOG").is_some() {
        print("# The variable RUST_LOG takes precedence over log.level.\n");
    }
    print(&listing);
    ExitCode::SUCCESS
}

/// One line on standard error, for there is no log yet.
fn refuse(service: Service, error: &ConfigError) -> ExitCode {
    write_line(std::io::stderr(), &format!("{}: {error}", service.program()));
    ExitCode::from(EXIT_CONFIG)
}

/// Text on standard output. A reader such as `head` may stop before the end.
fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

fn write_line(mut to: impl Write, line: &str) {
    // When no one reads this, the exit code still shows it.
    let _ = writeln!(to, "{line}");
}
