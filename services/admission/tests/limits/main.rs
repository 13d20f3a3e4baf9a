//! Limits as backends use them: many clients of many admissions on few keys, clocks that are wrong,
//! and failures of Redis.

mod clocks;
mod crowd;
mod forgotten;
mod limited;
mod outage;

use tokio::sync::RwLock;

/// A test that loads the machine takes it for writing, and has it alone.
static MACHINE: RwLock<()> = RwLock::const_new(());
