//! `anteroom-scheduler`: promotes places and clears away what has ended.
//!
//! Each queue has three ticks, promote, sweep and snapshot, and each tick is calls of one script
//! that decides by what stands in the store. So any number of schedulers may run, none leads, and
//! one that was away has nothing to catch up.

mod events;
mod failures;
mod followed;
mod health;
mod metrics;
mod pools;
mod queues;
mod role;
mod rules;
mod scheduled;
mod served;
mod shared;
mod tick;
mod ticks;

use std::process::ExitCode;

use anteroom_runtime::{Service, shell};

fn main() -> ExitCode {
    shell::main(Service::Scheduler, role::run)
}
