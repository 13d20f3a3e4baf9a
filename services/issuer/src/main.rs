//! `anteroom-issuer`: claims applications to events and issues them.
//!
//! Any number of issuers may run. Each claims a few applications at a time under a lease and a
//! fence; whatever becomes of it, the store lets only the holder of the claim finish, and gives the
//! claims of one that died to another.

use std::process::ExitCode;

use anteroom_config::Service;
use anteroom_issuer::{code_files, role};
use anteroom_runtime::shell;

fn main() -> ExitCode {
    let arguments = shell::command(Service::Issuer).subcommand(code_files::command()).get_matches();
    match arguments.subcommand() {
        Some((code_files::NAME, arguments)) => code_files::run(arguments),
        _ => shell::run(Service::Issuer, &arguments, role::run),
    }
}
