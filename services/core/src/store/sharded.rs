//! One operation over many hash tags.
//!
//! On a single server one lane serves all tags, so that batches stay large. On Cluster, where all
//! keys of a call share a tag, each has a lane of its own. The keys are the same in both. A lane
//! starts with its first item: which lanes are needed is known once the store is connected.

use std::sync::OnceLock;

use super::{Batch, Error, Lane, Store};

/// The lanes of an operation whose entities are spread over a fixed number of hash tags.
pub struct Sharded<B: Batch> {
    store: Store,
    batch: Box<dyn Fn() -> B + Send + Sync>,
    bound: usize,
    /// For all tags.
    shared: OnceLock<Lane<B>>,
    /// For each of them.
    per_tag: Vec<OnceLock<Lane<B>>>,
}

impl<B: Batch> Sharded<B> {
    /// The lanes of so many tags; at most `bound` items wait for each tag.
    pub fn new(
        store: &Store,
        tags: usize,
        batch: impl Fn() -> B + Send + Sync + 'static,
        bound: usize,
    ) -> Self {
        Self {
            store: store.clone(),
            batch: Box::new(batch),
            bound,
            shared: OnceLock::new(),
            per_tag: (0..tags.max(1)).map(|_| OnceLock::new()).collect(),
        }
    }

    /// Asks for one item, all of whose keys have this tag; see [`Lane::submit`].
    pub async fn submit(&self, tag: usize, item: B::Item) -> Result<B::Outcome, Error> {
        let start = |bound| Lane::start(&self.store, (self.batch)(), bound);
        let lane = match self.per_tag.get(tag) {
            Some(own) if self.store.has_slots() => own.get_or_init(|| start(self.bound)),
            _ => self.shared.get_or_init(|| start(self.bound * self.per_tag.len())),
        };
        lane.submit(item).await
    }
}
