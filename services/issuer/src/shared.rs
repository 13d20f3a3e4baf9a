//! What the tasks of all events share.

use anteroom_core::store::{Refused, Store};
use anteroom_runtime::Operations;
use tokio::sync::SetOnce;

use crate::metrics::Metrics;

/// One store and one set of metrics, made by the role.
pub struct Shared {
    /// The way to Redis.
    pub store: Store,
    /// What is counted.
    pub metrics: Metrics,
    /// Where attempts count for the success ratio.
    pub operations: Operations,
    /// Set when a call lacks a permission; then the process ends.
    pub refused: SetOnce<Refused>,
}
