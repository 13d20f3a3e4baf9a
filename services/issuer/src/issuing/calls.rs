//! Calls to the store for one event: counted, and logged when they begin and end to fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use anteroom_core::event::Event;
use anteroom_core::store::Error;
use rand::Rng as _;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::shared::Shared;

/// The first pause before a call is made again, and the longest.
pub const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));

/// The calls of one event.
#[derive(Clone)]
pub struct Calls {
    /// The operations.
    pub event: Event,
    /// What all events share.
    pub shared: Arc<Shared>,
    /// Cancelled when nothing more may be waited for.
    pub hurry: CancellationToken,
    fails: Arc<AtomicBool>,
}

impl Calls {
    /// Nothing fails yet.
    pub fn new(event: Event, shared: Arc<Shared>, hurry: CancellationToken) -> Self {
        Self { event, shared, hurry, fails: Arc::default() }
    }

    /// Notes how a call went. The store tells of itself when it is down.
    pub fn note<T>(&self, call: &'static str, result: &Result<T, Error>) {
        let event = self.event.name();
        match result {
            Ok(_) => {
                if self.fails.load(Relaxed) && self.fails.swap(false, Relaxed) {
                    tracing::info!(event, call, "calls to the store work again");
                }
            }
            Err(error) => {
                self.shared.operations.record(false);
                if self.shared.store.is_up() && !self.fails.swap(true, Relaxed) {
                    tracing::warn!(event, call, kind = error.kind(), %error, "a call to the store fails");
                }
            }
        }
    }

    /// Makes a call that changes nothing more when repeated, until it is answered; `None` when
    /// there is no time left, or the answer makes no sense.
    pub async fn insist<T, A>(&self, call: &'static str, ask: impl Fn() -> A) -> Option<T>
    where
        A: Future<Output = Result<T, Error>>,
    {
        let mut pause = PAUSE.0;
        loop {
            let result = ask().await;
            self.note(call, &result);
            match result {
                Ok(answer) => return Some(answer),
                Err(Error::Reply { .. }) => return None,
                Err(_) => {}
            }
            tokio::select! {
                () = self.hurry.cancelled() => return None,
                () = sleep(jittered(pause)) => {}
            }
            pause = (pause * 2).min(PAUSE.1);
        }
    }
}

/// Between half and the whole: those who wait together come back apart.
pub fn jittered(pause: Duration) -> Duration {
    pause.mul_f64(rand::rng().random_range(0.5..=1.0))
}
