//! A slot of a Redis Cluster on its way from one primary to another, in steps.

use redis::Value;

use crate::{Cluster, Redis};

/// A move that has begun. It stays half done until [`end`](Self::end).
pub struct SlotMove<'c> {
    cluster: &'c Cluster,
    slot: String,
    from: &'c Redis,
    to: &'c Redis,
    to_id: String,
}

impl<'c> SlotMove<'c> {
    /// Announces to both primaries of the start that the slot of `tag` is about to move.
    pub async fn begin(cluster: &'c Cluster, tag: &str, to: usize) -> Self {
        let (from, to) = (&cluster.primaries[cluster.owner(tag).await], &cluster.primaries[to]);
        let slot: u16 = from.run(&["CLUSTER", "KEYSLOT", tag]).await;
        let slot = slot.to_string();
        let from_id: String = from.run(&["CLUSTER", "MYID"]).await;
        let to_id: String = to.run(&["CLUSTER", "MYID"]).await;
        to.run::<Value>(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &from_id]).await;
        from.run::<Value>(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &to_id]).await;
        Self { cluster, slot, from, to, to_id }
    }

    /// The keys that have not moved yet. Some hold digests, which are no text.
    pub async fn keys(&self) -> Vec<Vec<u8>> {
        self.from.run(&["CLUSTER", "GETKEYSINSLOT", &self.slot, "1000"]).await
    }

    /// Moves some of them, in one step.
    pub async fn step(&self, keys: &[impl AsRef<[u8]>]) {
        let mut migrate = redis::cmd("MIGRATE");
        migrate.arg("127.0.0.1").arg(self.to.port()).arg(&["", "0", "5000", "KEYS"]);
        for key in keys {
            migrate.arg(key.as_ref());
        }
        let mut connection = self.from.connection().await;
        migrate.query_async::<Value>(&mut connection).await.expect("the keys move");
    }

    /// The slot belongs to the other primary from now on, and all nodes know it.
    ///
    /// A node that takes a slot raises its epoch above those that it has heard of. One that it has
    /// not heard of yet would win: it would hand the slot back to a node that has just given it
    /// away, and each would send callers to the other for ever.
    ///
    /// # Panics
    /// When the nodes do not agree.
    pub async fn end(self) {
        self.cluster.settles().await;
        for node in [self.to, self.from] {
            node.run::<Value>(&["CLUSTER", "SETSLOT", &self.slot, "NODE", &self.to_id]).await;
        }
        self.cluster.settles().await;
    }
}
