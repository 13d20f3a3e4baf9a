//! The newest snapshot of each queue, read about once a second.
//!
//! It feeds the public state, the state bypass, the store's clock for assertions, and the gauges.
//! A store that is away is not asked in vain: the old snapshot stays and tells its age.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anteroom_core::queue::Snapshot;
use arc_swap::ArcSwapOption;
use rand::Rng as _;

use crate::app::{App, QueueState};

const EVERY: Duration = Duration::from_secs(1);
/// After a failure, which costs the store nothing while it is away.
const AGAIN: Duration = Duration::from_millis(200);

/// The newest snapshot of one queue, if there was any.
#[derive(Debug, Default)]
pub struct Latest(ArcSwapOption<Seen>);

/// A snapshot and when it came.
#[derive(Debug)]
pub struct Seen {
    /// What the store said.
    pub snapshot: Snapshot,
    at: Instant,
}

impl Latest {
    /// The newest snapshot.
    pub fn get(&self) -> Option<Arc<Seen>> {
        self.0.load_full()
    }

    /// Takes a newer one.
    pub fn set(&self, snapshot: Snapshot) {
        self.0.store(Some(Arc::new(Seen { snapshot, at: Instant::now() })));
    }

    /// How long a turn is held, overrides applied; unknown before the first snapshot.
    pub fn claim_ttl(&self) -> Option<Duration> {
        self.0.load().as_ref().map(|seen| seen.snapshot.rules.claim_ttl)
    }

    /// Whether the queue is in state bypass now, by the store's clock.
    pub fn is_bypass(&self) -> bool {
        let seen = self.0.load();
        seen.as_ref().is_some_and(|seen| {
            seen.snapshot.bypass_until_us.is_some_and(|until| seen.store_time_us() < until)
        })
    }
}

impl Seen {
    /// The store's clock now: what it said then, and what has gone by since.
    pub fn store_time_us(&self) -> u64 {
        let since = u64::try_from(self.at.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.snapshot.store_time_us.saturating_add(since)
    }
}

/// Reads every queue's snapshot about once a second until the process stops. Queues come and go
/// with the configuration.
pub async fn keep(app: Arc<App>) {
    // The first connection is a moment away.
    app.store.wait_up(EVERY).await;
    let mut kept = HashSet::new();
    let mut readers = tokio::task::JoinSet::new();
    loop {
        for queue in app.queues() {
            if kept.insert(queue.name().to_owned()) {
                readers.spawn(keep_one(app.clone(), queue.name().to_owned()));
            }
        }
        tokio::select! {
            () = app.stopping.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
            // A reader ends when its queue is no longer configured; it may come back.
            Some(Ok(name)) = readers.join_next() => { kept.remove(&name); }
        }
    }
}

async fn keep_one(app: Arc<App>, name: String) -> String {
    while let Some(queue) = app.queue(&name) {
        let pause = if read(&app, &queue).await { EVERY } else { AGAIN };
        let jitter = rand::rng().random_range(0.8..1.2);
        tokio::time::sleep(pause.mul_f64(jitter)).await;
    }
    name
}

async fn read(app: &App, queue: &QueueState) -> bool {
    // A store that is away fails at once, and it says so itself when it goes.
    match queue.queue.snapshot().await {
        Ok(snapshot) => {
            app.metrics.gauges.show(queue.name(), &snapshot);
            if queue.latest.get().is_some_and(|old| old.snapshot.epoch != snapshot.epoch) {
                queue.known.clear();
            }
            queue.latest.set(snapshot);
            true
        }
        Err(error) => {
            tracing::debug!(queue = queue.name(), %error, "no snapshot");
            false
        }
    }
}
