//! The time that scripts go by: the store's own, unless a test gives one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Args;

/// Where a script takes the time from.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The store's `TIME`, read inside the script. Production uses no other.
    #[default]
    Store,
    /// Microseconds since 1970 that a test moves.
    Given(Arc<AtomicU64>),
}

impl Clock {
    /// Appends ARGV\[1\] of every script: empty, or the given time.
    pub(crate) fn push_to(&self, args: &mut Args) {
        match self {
            Self::Store => args.push(""),
            Self::Given(time) => args.push(time.load(Ordering::SeqCst)),
        };
    }
}
