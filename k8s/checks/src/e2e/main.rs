//! `anteroom-k8s-e2e`: the whole system on a real cluster, under load, while things change and
//! fail.

mod configuration;
mod forward;
mod hex;
mod jobs;
mod kubectl;
mod namespace;
mod options;
mod overlay;
mod place;
mod progress;
mod receiver;
mod run;
mod seen;
mod step;
mod steps;
mod table;
mod visitors;
mod workloads;

use std::process::ExitCode;

use clap::Parser as _;
use tokio::signal::unix::{SignalKind, signal};

use kubectl::Kubectl;
use options::{Options, Usage};
use progress::say;
use run::Run;

/// As sysexits and shells name them.
const NOT_HELD: u8 = 1;
const USAGE: u8 = 64;
const FAILED: u8 = 70;
const INTERRUPTED: u8 = 130;

#[tokio::main]
async fn main() -> ExitCode {
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) => {
            // Help and version are no mistakes.
            let code = if error.use_stderr() { USAGE } else { 0 };
            // A closed terminal is no failure of the run.
            let _ = error.print();
            return ExitCode::from(code);
        }
    };
    match whole(options).await {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            say(&format!("anteroom-k8s-e2e: {error:#}"));
            ExitCode::from(if error.is::<Usage>() { USAGE } else { FAILED })
        }
    }
}

/// From the namespace to its removal; after Ctrl-C and after a failure, too.
async fn whole(options: Options) -> anyhow::Result<u8> {
    let kubectl = Kubectl::new(options.context.as_deref(), &options.namespace).await?;
    say(&format!("context {}, namespace {}", kubectl.context, kubectl.namespace));
    let (keep, output) = (options.keep, options.output.clone());
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let (run, _overlay) = tokio::select! {
        begun = Run::begin(options, &kubectl) => begun?,
        _ = interrupt.recv() => return end(&kubectl, keep, INTERRUPTED).await,
        _ = terminate.recv() => return end(&kubectl, keep, INTERRUPTED).await,
    };
    let done = tokio::select! {
        done = steps::play_all(&run) => Some(done),
        _ = interrupt.recv() => None,
        _ = terminate.recv() => None,
    };
    run.set_visitors(None);
    match &done {
        Some(Ok(())) => {}
        Some(Err(error)) => say(&format!("\nit could not go on: {error:#}")),
        None => say("\ninterrupted"),
    }
    run.table().print();
    if let Some(file) = &output {
        run.table().write(file)?;
    }
    let code = match done {
        None => INTERRUPTED,
        Some(_) if !run.table().held() => NOT_HELD,
        Some(Ok(())) => 0,
        Some(Err(_)) => FAILED,
    };
    end(&kubectl, keep, code).await
}

/// Leaves the cluster as it was found.
async fn end(kubectl: &Kubectl, keep: bool, code: u8) -> anyhow::Result<u8> {
    if keep {
        let name = &kubectl.namespace;
        say(&format!("the namespace stays: kubectl delete namespace {name}"));
    } else {
        namespace::remove(kubectl).await?;
    }
    Ok(code)
}
