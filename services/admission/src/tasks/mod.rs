//! What runs beside the requests: a task for each queue or target that reads what all requests then
//! use.

pub mod revocations;
pub mod snapshots;
pub mod target_snapshots;
