//! The newest snapshot of a queue, and what follows from it until the next one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anteroom_core::queue::Snapshot;
use anteroom_runtime::FRESH_FOR;
use arc_swap::ArcSwapOption;

/// The newest snapshot of one queue, if there was any.
#[derive(Debug, Default)]
pub struct Latest(ArcSwapOption<SeenSnapshot>);

/// A snapshot and when it came.
#[derive(Debug)]
pub struct SeenSnapshot {
    pub snapshot: Snapshot,
    at: Instant,
}

impl Latest {
    pub fn get(&self) -> Option<Arc<SeenSnapshot>> {
        self.0.load_full()
    }

    /// The newest snapshot, unless it is too old to be told as the present state.
    pub fn fresh(&self) -> Option<Arc<SeenSnapshot>> {
        self.get().filter(|seen| seen.at.elapsed() <= FRESH_FOR)
    }

    /// Takes a newer one.
    pub fn set(&self, snapshot: Snapshot) {
        self.0.store(Some(Arc::new(SeenSnapshot { snapshot, at: Instant::now() })));
    }

    /// How long an active place lives without renewal, overrides applied; unknown before the first
    /// snapshot.
    pub fn session_ttl(&self) -> Option<Duration> {
        self.0.load().as_ref().map(|seen| seen.snapshot.rules.session_ttl)
    }

    /// Whether this process may answer for active places by itself, once it reads who ended.
    pub fn local_answers(&self) -> bool {
        self.0.load().as_ref().is_some_and(|seen| seen.snapshot.rules.local_answers)
    }

    /// Whether the queue is in state bypass now, by the store's clock.
    pub fn is_bypass(&self) -> bool {
        let seen = self.0.load();
        seen.as_ref().is_some_and(|seen| {
            seen.snapshot.bypass_until_us.is_some_and(|until| seen.store_time_us() < until)
        })
    }
}

impl SeenSnapshot {
    /// The store's clock now: what it said then, and what has gone by since.
    pub fn store_time_us(&self) -> u64 {
        let since = u64::try_from(self.at.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.snapshot.store_time_us.saturating_add(since)
    }
}
