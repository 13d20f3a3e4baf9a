//! Limits as backends use them: many clients of many admissions on few keys, clocks that are wrong,
//! and stores that fail.

mod clocks;
mod crowd;
mod limited;
mod outage;

use tokio::sync::RwLock;

/// Whoever loads the machine writes and has it alone.
static MACHINE: RwLock<()> = RwLock::const_new(());
