//! Real processes and a real Redis, broken on purpose while visitors go through: all answers are
//! recorded, and compared with the promises afterwards.

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

use tokio::sync::{Semaphore, SemaphorePermit};

/// What a test takes of the machine, of five: two that bound how long something takes, or load it,
/// and beside them one that waits most of the time, such as `chaos`, the longest. No other suite
/// runs then (`scripts/test.sh`).
const HEAVY: u32 = 2;
const LIGHT: u32 = 1;
static MACHINE: Semaphore = Semaphore::const_new(5);

/// Waits for its share of the machine.
async fn machine(share: u32) -> SemaphorePermit<'static> {
    MACHINE.acquire_many(share).await.expect("it is never closed")
}
