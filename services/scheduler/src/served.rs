//! One entity whose rules a scheduler writes and whose ticks it brings, of any kind: what its rules
//! and its ticks need to know of it.

use std::sync::Arc;
use std::time::Duration;

use anteroom_core::store::Error;
use anteroom_runtime::{Changes, Config};
use rand::Rng as _;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::shared::Shared;
use crate::tick::Tick;

/// An entity that is served until it is stopped.
pub struct Served {
    name: String,
    shared: Arc<Shared>,
    changes: Changes,
    stop: CancellationToken,
    rules_written: CancellationToken,
}

impl Served {
    /// Begins to serve it.
    pub fn new(
        shared: &Arc<Shared>,
        name: &str,
        changes: Changes,
        stop: CancellationToken,
    ) -> Self {
        let rules_written = CancellationToken::new();
        Self { name: name.to_owned(), shared: shared.clone(), changes, stop, rules_written }
    }

    /// Its name in the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Cancelled when it is to be served no longer.
    pub fn stop(&self) -> &CancellationToken {
        &self.stop
    }

    /// The configuration in force, again at each change.
    pub fn changes(&self) -> Changes {
        self.changes.clone()
    }

    /// The configuration in force.
    pub fn config(&self) -> Arc<Config> {
        self.changes.borrow().clone()
    }

    /// The way to Redis and what else all entities share.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Notes that the file's rules stand in the store.
    pub fn set_rules_written(&self) {
        self.rules_written.cancel();
    }

    /// Waits until the file's rules were written once, or until there is nothing to wait for.
    pub async fn rules_written(&self) {
        tokio::select! {
            () = self.rules_written.cancelled() => {}
            () = self.stop.cancelled() => {}
        }
    }

    /// Counts how a call for this entity went, and logs it when it begins or ends to fail.
    pub fn note<T>(&self, call: &'static str, result: &Result<T, Error>) {
        let error = result.as_ref().err();
        self.shared.operations.record(error.is_none());
        self.shared.failures.note(&self.name, call, error);
    }

    /// Ticks until it is served no longer, `interval` being what is in force. A tick in hand is
    /// finished.
    ///
    /// A tick is timed from the start of the one before and begins after its end, so ticks of one
    /// kind never overlap and missed ones are not made up.
    pub async fn tick<F: Future<Output = Result<(), Error>>>(
        &self,
        tick: Tick,
        interval: impl Fn(&Config) -> Duration,
        work: impl Fn() -> F,
    ) {
        let pause = |(least, most): (f64, f64)| {
            interval(&self.config()).mul_f64(rand::rng().random_range(least..=most))
        };
        let mut next = Instant::now() + pause((0.0, 1.0));
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = sleep_until(next) => {}
            }
            let begun = Instant::now();
            let result = work().await;
            self.note(tick.name(), &result);
            self.shared.metrics.ticked(tick, begun.elapsed(), result.is_ok());
            next = begun + pause(tick.spread());
        }
    }
}
