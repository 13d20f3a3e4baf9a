//! What runs beside the requests: a task for each queue that reads what all requests then use.

pub mod revocations;
pub mod snapshots;
