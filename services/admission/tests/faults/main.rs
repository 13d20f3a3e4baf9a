//! Real processes and a real store, broken on purpose while visitors go through: what they were
//! told is written down, and held to the promises afterwards.

mod absent;
mod chaos;
mod clocks;
mod cluster;
mod sentinel;
mod stage;
mod store;

use tokio::sync::RwLock;

/// Whoever looks at how long things take writes, and has the machine alone; whoever only holds a
/// record to the promises, however slow the machine, reads. Tests begin in the order of their
/// names, so those that share it come first.
static MACHINE: RwLock<()> = RwLock::const_new(());
