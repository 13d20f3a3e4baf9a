//! What runs beside the requests: a task for each queue, target or pool that reads what all
//! requests then use.

pub mod breaker_snapshots;
pub mod pool_snapshots;
pub mod revocations;
pub mod snapshots;
