//! `anteroom-envoy`: the gateway check and rate limits for Envoy, over gRPC.

use std::process::ExitCode;

use anteroom_config::Service;
use anteroom_envoy::role;
use anteroom_runtime::shell;

fn main() -> ExitCode {
    shell::main(Service::Envoy, role::run)
}
