//! Calls to Redis for one event: counted, and logged when they begin and cease to fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use anteroom_core::event::Event;
use anteroom_core::store::Error;
use tokio_util::sync::CancellationToken;

use crate::retry::{forbidden, retry};
use crate::shared::Shared;

/// The calls of one event.
#[derive(Clone)]
pub struct Calls {
    /// The operations.
    pub event: Event,
    /// What all events share.
    pub shared: Arc<Shared>,
    /// Cancelled at the end of the drain.
    pub deadline: CancellationToken,
    fails: Arc<AtomicBool>,
}

impl Calls {
    /// No call fails yet.
    pub fn new(event: Event, shared: Arc<Shared>, deadline: CancellationToken) -> Self {
        Self { event, shared, deadline, fails: Arc::default() }
    }

    /// Notes the outcome of a call. A missing permission ends the process. An outage is logged by
    /// the store itself.
    pub fn note<T>(&self, call: &'static str, result: &Result<T, Error>) {
        let event = self.event.name();
        match result {
            Ok(_) => {
                if self.fails.load(Relaxed) && self.fails.swap(false, Relaxed) {
                    tracing::info!(event, call, "Redis calls work again");
                }
            }
            Err(error) => {
                self.shared.operations.record(false);
                if let Some(refused) = forbidden(&self.shared.store, error) {
                    // The first one is enough.
                    let _ = self.shared.refused.set(refused);
                }
                if self.shared.store.is_up() && !self.fails.swap(true, Relaxed) {
                    tracing::warn!(event, call, kind = error.kind(), %error, "a Redis call fails");
                }
            }
        }
    }

    /// [Repeats](retry) a call that is safe to retry until the end of the drain; `None` without an
    /// answer.
    pub async fn retry<T, A>(&self, name: &'static str, call: impl Fn() -> A) -> Option<T>
    where
        A: Future<Output = Result<T, Error>>,
    {
        let noted = || async {
            let result = call().await;
            self.note(name, &result);
            result
        };
        retry(&self.shared.store, self.deadline.cancelled(), noted).await.ok()
    }
}
