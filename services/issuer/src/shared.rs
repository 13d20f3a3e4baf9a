//! One store, one set of metrics: made by the role, lent to the task of each event.

use anteroom_core::store::Store;
use anteroom_runtime::Operations;

use crate::metrics::Metrics;

/// What the tasks of all events share.
pub struct Shared {
    /// The way to Redis.
    pub store: Store,
    /// What is counted.
    pub metrics: Metrics,
    /// Where attempts count for the success ratio.
    pub operations: Operations,
}
