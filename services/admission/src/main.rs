//! `anteroom-admission`: the HTTP face of Anteroom, and the maker of its keys.

use std::process::ExitCode;

use anteroom_admission::{new_key, role};
use anteroom_config::Service;
use anteroom_runtime::shell;

fn main() -> ExitCode {
    let arguments = shell::command(Service::Admission).subcommand(new_key::command()).get_matches();
    if let Some(arguments) = arguments.subcommand_matches(new_key::NAME) {
        return match new_key::run(arguments, &mut std::io::stdout()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    shell::run(Service::Admission, &arguments, role::run)
}
