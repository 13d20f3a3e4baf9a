//! Who is present, and who has left.

mod check_in;
mod departures;
mod inactive;
mod reports;

use std::time::Duration;

use anteroom_core::queue::{PlaceRef, Queue, Rules};
use futures_util::future::join_all;

use super::line::{capacity, join, room};
use super::support::TimedStore;

const POLL: Duration = Duration::from_secs(20);

async fn join_many(queue: &Queue, numbers: std::ops::Range<u64>) -> Vec<PlaceRef> {
    join_all(numbers.map(|n| async move { join(queue, n).await.0 })).await
}

async fn poll_all(queue: &Queue, places: &[PlaceRef]) {
    join_all(places.iter().map(|of| queue.place(*of))).await;
}

/// A queue with a session that holds its one slot, renewed as time passes.
struct BusyQueue {
    world: TimedStore,
    queue: Queue,
    first: PlaceRef,
}

impl BusyQueue {
    async fn new(rules: Rules) -> Self {
        let (world, queue) = room(rules).await;
        let (first, _) = join(&queue, 1_000_000).await;
        queue.claim(first).await.expect("a claim");
        Self { world, queue, first }
    }

    /// Time passes with ticks, sweeps and polls of these places.
    async fn pass(&self, places: &[PlaceRef], time: Duration) {
        for _ in 0..time.as_secs() / 4 {
            self.world.run(&self.queue, Duration::from_secs(4)).await;
            poll_all(&self.queue, places).await;
            self.queue.renew(self.first).await.expect("a renewal");
        }
    }

    async fn depth_and_away(&self) -> (u64, u64) {
        let snapshot = self.queue.snapshot().await.expect("a snapshot");
        (snapshot.depth, snapshot.away)
    }
}

fn long_session() -> Rules {
    Rules { session_max: Duration::from_secs(7 * 86_400), ..capacity(1) }
}
