//! One store, one set of metrics: made by the role, lent to the task of each queue.

use anteroom_core::store::Store;
use anteroom_runtime::Operations;

use crate::failures::Failures;
use crate::metrics::Metrics;

/// What the tasks of all queues share.
pub struct Shared {
    /// The way to Redis.
    pub store: Store,
    /// What is counted.
    pub metrics: Metrics,
    /// Which calls fail at the moment.
    pub failures: Failures,
    /// Where calls count for the success ratio.
    pub operations: Operations,
}
