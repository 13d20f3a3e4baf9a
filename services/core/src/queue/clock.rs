//! The time that scripts go by: the store's own, unless a test gives one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where a script takes the time from.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The store's `TIME`, asked inside the script. Production knows no other.
    #[default]
    Store,
    /// Microseconds since 1970 that a test moves.
    Given(Arc<AtomicU64>),
}

impl Clock {
    /// ARGV\[1\] of every script: empty, or the given time.
    pub(super) fn argument(&self) -> String {
        match self {
            Self::Store => String::new(),
            Self::Given(time) => time.load(Ordering::SeqCst).to_string(),
        }
    }
}
