//! What the tasks of all queues share.

use anteroom_core::store::Store;
use anteroom_runtime::Operations;

use crate::metrics::Metrics;
use crate::troubles::Troubles;

/// What the tasks of all queues share.
pub struct Shared {
    /// The way to Redis.
    pub store: Store,
    /// What is counted.
    pub metrics: Metrics,
    /// Which calls fail at the moment.
    pub troubles: Troubles,
    /// Where calls count for the success ratio.
    pub operations: Operations,
}
