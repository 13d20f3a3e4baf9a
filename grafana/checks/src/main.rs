//! `anteroom-grafana-picture`: draws a dashboard from what a real Prometheus answers.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use anteroom_grafana_checks::{Scene, dashboard::Dashboard, picture};
use anyhow::Context as _;
use clap::Parser;

const EXAMPLES: &str = "Examples:
  cargo run -p anteroom-grafana-checks
  cargo run -p anteroom-grafana-checks -- --dashboard store --seconds 60 --output store.svg

Needs redis-server and prometheus (scripts/prerequisites.sh). Exit codes: 0 done, 1 failed,
2 wrong arguments, 130 interrupted.";

/// Starts the services and a Prometheus, plays a rush, and draws a dashboard as Grafana would lay
/// it out, from the answers of that Prometheus.
#[derive(Parser)]
#[command(
    version,
    after_help = EXAMPLES
)]
struct Arguments {
    /// The dashboard: the name of its file without .json.
    #[arg(long, default_value = "overview")]
    dashboard: String,
    /// How long to play, in seconds.
    #[arg(long, default_value_t = 180, value_parser = clap::value_parser!(u64).range(20..=3600))]
    seconds: u64,
    /// Where the picture goes.
    #[arg(long, default_value = "docs/images/overview.svg")]
    output: PathBuf,
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    tokio::select! {
        drawn = draw(&arguments) => drawn.map(|()| ExitCode::SUCCESS),
        // What was started ends with its guards.
        _ = tokio::signal::ctrl_c() => Ok(ExitCode::from(130)),
    }
}

async fn draw(arguments: &Arguments) -> anyhow::Result<()> {
    let dashboard = Dashboard::named(&arguments.dashboard);
    let length = Duration::from_secs(arguments.seconds);
    eprintln!("starting the services and Prometheus");
    let scene = Scene::start().await;
    scene.play(length, |passed| eprintln!("{} of {} s", passed.as_secs(), length.as_secs())).await;
    let svg = picture::draw(&dashboard, &scene).await;
    std::fs::write(&arguments.output, svg)
        .with_context(|| format!("cannot write {}", arguments.output.display()))?;
    eprintln!("{} is drawn", arguments.output.display());
    Ok(())
}
