#![doc = include_str!("../README.md")]
//!
//! # Inside
//!
//! [`shop`] decides in transactions, [`workers`] are as many as they are, [`gate`] lets in whom
//! Anteroom lets in, and [`http`] answers people with a [`page`] and programs with JSON.

mod anteroom;
mod gate;
mod http;
mod options;
mod page;
mod shop;
mod workers;

use std::io::{IsTerminal as _, stdout};
use std::process::ExitCode;
use std::sync::Arc;

use ::http::HeaderValue;
use anyhow::Context as _;
use clap::Parser as _;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing_subscriber::EnvFilter;
use url::Url;

use crate::anteroom::Anteroom;
use crate::gate::Gate;
use crate::http::{App, server};
use crate::options::{GateMode, Options};
use crate::shop::Database;
use crate::workers::Workers;

/// It was called wrongly (`EX_USAGE`).
const USAGE: u8 = 64;

fn main() -> ExitCode {
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) => {
            // A closed terminal is no failure.
            let _ = error.print();
            // Help and version are no mistakes.
            return if error.use_stderr() { USAGE.into() } else { ExitCode::SUCCESS };
        }
    };
    log();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let ran = match runtime {
        Ok(runtime) => runtime.block_on(run(options)),
        Err(error) => Err(error.into()),
    };
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("anteroom-concert: {error:#}");
            USAGE.into()
        }
    }
}

/// Opens the shop, serves until SIGTERM or Ctrl-C, and ends in order. All errors are at the start,
/// and of what the options name.
async fn run(options: Options) -> anyhow::Result<()> {
    let key = service_key()?;
    let database = Database::open(&options.database, options.schedule(), options.hold)?;
    let (workers, backlog) = (usize::from(options.workers), options.backlog.try_into()?);
    let workers = Workers::start(workers, backlog, options.think, &database)?;
    allow_descriptors();
    let listen = options.listen;
    let listener = TcpListener::bind(listen).await.with_context(|| format!("--listen {listen}"))?;
    let address = listener.local_addr()?;
    let public_url = match options.public_url {
        Some(url) => url,
        None if options.gate == GateMode::Ask && address.ip().is_unspecified() => {
            anyhow::bail!("--public-url: needed with --gate ask and --listen {listen}");
        }
        None => Url::parse(&format!("http://{address}"))?,
    };
    let gate = options.anteroom.as_ref().filter(|_| options.gate == GateMode::Ask);
    let anteroom = Anteroom::new(&options.queue, gate, options.anteroom_service.as_ref(), key);
    let app = Arc::new(App {
        workers,
        gate: Gate::new(options.gate, anteroom),
        public_url,
        ending: CancellationToken::new(),
        tasks: TaskTracker::new(),
    });
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let ending = app.ending.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        ending.cancel();
    });
    // Tests and scripts read this line.
    tracing::info!(port = "public", %address, "listening");
    server::serve(listener, app, options.drain_delay).await;
    tracing::info!("stopped");
    Ok(())
}

/// The key of Anteroom's service port: a secret, so it is no option.
fn service_key() -> anyhow::Result<Option<HeaderValue>> {
    let Some(key) = std::env::var("ANTEROOM_KEY").ok().filter(|key| !key.is_empty()) else {
        return Ok(None);
    };
    let mut value = HeaderValue::try_from(format!("Bearer {key}"))
        .context("ANTEROOM_KEY: must be a key such as ark1.…, without line breaks")?;
    value.set_sensitive(true);
    Ok(Some(value))
}

/// As many connections as the system lets this process have.
fn allow_descriptors() {
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // What cannot be raised stays as it was.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}

/// One JSON object a line; text on a terminal.
fn log() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(stdout);
    if stdout().is_terminal() {
        log.init();
    } else {
        log.json().flatten_event(true).with_span_list(false).init();
    }
    std::panic::set_hook(Box::new(|panic| tracing::error!(%panic, "panicked")));
}
