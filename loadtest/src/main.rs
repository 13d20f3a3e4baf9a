//! `anteroom-loadtest`: how many may come in?

use std::process::ExitCode;

use anteroom_loadtest::cli::Arguments;
use clap::Parser as _;

fn main() -> ExitCode {
    match Arguments::try_parse() {
        Ok(arguments) => anteroom_loadtest::run(arguments),
        Err(error) => {
            // Help and version are no mistakes.
            let code = if error.use_stderr() { anteroom_loadtest::exit::USAGE } else { 0 };
            // A closed standard error is no reason to fail.
            let _ = error.print();
            ExitCode::from(code)
        }
    }
}
