//! `anteroom-envoy`: the gateway check and rate limits for Envoy, over gRPC.

use std::process::ExitCode;

use anteroom_config::Service;
use anteroom_envoy::{import, role};
use anteroom_runtime::shell;

fn main() -> ExitCode {
    let arguments = shell::command(Service::Envoy).subcommand(import::command()).get_matches();
    match arguments.subcommand() {
        Some((import::NAME, arguments)) => import::run(arguments),
        _ => shell::run(Service::Envoy, &arguments, role::run),
    }
}
