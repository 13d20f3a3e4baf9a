//! Real processes and a real store, broken on purpose while visitors go through: what they were
//! told is written down, and held to the promises afterwards.

mod absent;
mod backend;
mod breaking;
mod chaos;
mod clocks;
mod cluster;
mod events;
mod failover;
mod pools;
mod sentinel;
mod stage;
mod store;

use tokio::sync::RwLock;

/// Whoever looks at how long things take, or loads the machine, writes and has it alone. Whoever
/// waits most of the time reads, and so does `chaos`, the longest, which minds no neighbours that
/// wait. Tests begin in the order of their names: those that share the machine come first.
static MACHINE: RwLock<()> = RwLock::const_new(());
