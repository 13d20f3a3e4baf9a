//! Real processes and a real store, broken on purpose while visitors go through: what they were
//! told is written down, and held to the promises afterwards.

mod chaos;
mod clocks;
mod cluster;
mod sentinel;
mod services;
mod stage;
mod store;

use tokio::sync::Mutex;

/// Each of these loads the machine and looks at how long things take: they run one after another.
static ALONE: Mutex<()> = Mutex::const_new(());
