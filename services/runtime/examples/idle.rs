//! The smallest role: waits for its end. With `IDLE_UNTIL` set to `error` it fails at once, with
//! `never` it ignores the first signal.

use std::process::ExitCode;

use anteroom_config::Service;
use anteroom_runtime::{Context, shell};

async fn role(context: Context) -> anyhow::Result<()> {
    context.readiness.started();
    match std::env::var("IDLE_UNTIL").as_deref() {
        Ok("error") => anyhow::bail!("it is to fail"),
        Ok("never") => std::future::pending().await,
        _ => context.shutdown.cancelled().await,
    }
    Ok(())
}

fn main() -> ExitCode {
    shell::main(Service::Scheduler, role)
}
