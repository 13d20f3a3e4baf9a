//! `anteroom-scheduler`: promotes places and clears away what has ended.
//!
//! Each queue has three ticks, promote, sweep and snapshot, and each tick is calls of one script
//! that decides by what is in the store. So any number of schedulers may run, none leads, and
//! one that was away has nothing to catch up.

mod entity;
mod event;
mod failures;
mod log;
mod metrics;
mod pool;
mod queue;
mod role;
mod rules;
mod shared;
mod tick;

use std::process::ExitCode;

use anteroom_config::Service;
use anteroom_runtime::shell;

fn main() -> ExitCode {
    shell::main(Service::Scheduler, role::run)
}
