//! Visits of places that pass in a bypass: one task of the queue makes them, so that no answer
//! waits for them and no request starts a task.

use std::sync::Arc;

use anteroom_core::queue::PlaceRef;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::sync::mpsc;

use super::note;
use crate::queue::state::QueueState;

/// At most so many visits wait, and as many are under way.
const MOST: usize = 1_024;

/// The way to the task.
pub struct BypassedVisits(mpsc::Sender<(Arc<QueueState>, PlaceRef)>);

impl BypassedVisits {
    /// Starts the task, which ends when this is dropped. Must be called inside a Tokio runtime.
    pub fn start() -> Self {
        let (sender, mut receiver) = mpsc::channel(MOST);
        tokio::spawn(async move {
            let mut visits = FuturesUnordered::new();
            loop {
                tokio::select! {
                    next = receiver.recv(), if visits.len() < MOST => {
                        let Some((queue, of)) = next else { return };
                        visits.push(visit(queue, of));
                    }
                    Some(()) = visits.next() => {}
                }
            }
        });
        Self(sender)
    }

    /// Visits the place soon. Past the bound it does not: the visitor's next request may.
    pub fn visit(&self, queue: &Arc<QueueState>, of: PlaceRef) {
        let _ = self.0.try_send((queue.clone(), of));
    }
}

/// The same check as outside a bypass, for its effects: the session is renewed, and this process
/// remembers the place.
async fn visit(queue: Arc<QueueState>, of: PlaceRef) {
    let basis = queue.active_cache.basis();
    if let Ok(visit) = queue.queue.authorize(of, queue.config.renew_on_authorize).await {
        note(&queue, of, &visit, basis);
    }
}
