//! One operation over many hash tags.
//!
//! On a single server one lane serves all tags, so that batches stay large. On Cluster, where all
//! keys of a call share a tag, each has a lane of its own. The keys are the same in both.

use super::{Batch, Error, Lane, Store};

/// The lanes of an operation whose entities are spread over a fixed number of hash tags.
pub struct Sharded<B: Batch> {
    store: Store,
    /// For all tags.
    one: Lane<B>,
    /// For each of them.
    each: Vec<Lane<B>>,
}

impl<B: Batch> Sharded<B> {
    /// Starts the lanes of so many tags; at most `bound` items wait for each tag. Must be called
    /// inside a Tokio runtime.
    pub fn start(store: &Store, tags: usize, batch: impl Fn() -> B, bound: usize) -> Self {
        let tags = tags.max(1);
        Self {
            store: store.clone(),
            one: Lane::start(store, batch(), bound * tags),
            each: (0..tags).map(|_| Lane::start(store, batch(), bound)).collect(),
        }
    }

    /// Asks for one item, all of whose keys have this tag; see [`Lane::submit`].
    pub async fn submit(&self, tag: usize, item: B::Item) -> Result<B::Outcome, Error> {
        let lane = match self.each.get(tag) {
            Some(own) if self.store.has_slots() => own,
            _ => &self.one,
        };
        lane.submit(item).await
    }
}
