//! Limits as backends use them: many clients of many admissions on few keys, clocks that are wrong,
//! and failures of Redis.

mod clocks;
mod crowd;
mod forgotten;
mod limited;
mod outage;

use tokio::sync::RwLock;

/// Redis is only slow on a busy machine: no check is degraded for it.
const PATIENT: [(&str, &str); 2] =
    [("ANTEROOM_STORE__COMMAND_TIMEOUT", "10s"), ("ANTEROOM_STORE__REQUEST_TIMEOUT", "20s")];

/// A test that loads the machine takes it for writing, and has it alone.
static MACHINE: RwLock<()> = RwLock::const_new(());
