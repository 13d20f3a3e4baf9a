//! The newest reading of the revocations, and whether it follows the one before.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anteroom_core::queue::{Epoch, Revocations};
use arc_swap::{ArcSwapOption, Guard};

/// One reading of the list of revocations.
#[derive(Debug)]
pub struct Reading {
    /// Readings of one generation miss no revocation.
    pub generation: u64,
    /// When it was sent: it names all places that ended before.
    pub sent: Instant,
    /// Queue time, in microseconds.
    pub queue_time_us: u64,
    /// The version of the list.
    pub version: u64,
    epoch: Epoch,
}

/// The newest reading, if the last one was good. One task writes, every request reads.
#[derive(Debug, Default)]
pub struct Readings {
    newest: ArcSwapOption<Reading>,
    generations: AtomicU64,
}

impl Readings {
    /// The newest reading.
    pub fn newest(&self) -> Guard<Option<Arc<Reading>>> {
        self.newest.load()
    }

    /// Whether a reading continues the newest: it names all places that ended since then, in the
    /// same epoch of the queue, and nothing went back, as it would in another Redis.
    pub fn follows(&self, read: &Revocations) -> bool {
        read.local_answers
            && read.whole
            && self.newest.load().as_ref().is_some_and(|newest| {
                newest.epoch == read.epoch
                    && newest.version <= read.version
                    && newest.queue_time_us <= read.queue_time_us
            })
    }

    /// Whether the queue has another epoch than at the newest reading: all its places have ended.
    pub fn shows_reset(&self, read: &Revocations) -> bool {
        self.newest.load().as_ref().is_some_and(|newest| newest.epoch != read.epoch)
    }

    /// Puts a reading in force, once the places that it names are forgotten.
    pub fn publish(&self, sent: Instant, read: &Revocations) {
        if !read.local_answers {
            return self.lose();
        }
        let generation = match self.newest.load().as_ref() {
            Some(newest) if self.follows(read) => newest.generation,
            _ => self.generations.fetch_add(1, Ordering::Relaxed),
        };
        self.newest.store(Some(Arc::new(Reading {
            generation,
            sent,
            queue_time_us: read.queue_time_us,
            version: read.version,
            epoch: read.epoch,
        })));
    }

    /// No place passes on a reading until there is a new one, of another generation.
    pub fn lose(&self) {
        self.newest.store(None);
    }
}
