//! What this process keeps of a target between requests, and what a target refuses.

use std::sync::Arc;

use anteroom_core::breaker::{Breaker, Rules, Window};
use anteroom_core::store::Error;
use anteroom_runtime::Config;

use super::last_known::LastKnown;
use super::metrics::{BreakerFamilies, BreakerMetrics};
use crate::entities::{Entities, Entity, EntityContext};
use crate::problem::retry::PendingRetries;
use crate::problem::{Code, Problem};

/// One target as handlers see it.
pub struct BreakerState {
    /// The operations.
    pub target: Breaker,
    /// The rules that travel with each of them.
    pub rules: Rules,
    /// What the store told last.
    pub(crate) last_known: Arc<LastKnown>,
    pub(crate) metrics: Arc<BreakerMetrics>,
    /// The retries that this process has scheduled, of any entity.
    pub(crate) retries: Arc<PendingRetries>,
}

/// What is told without the store.
pub enum Degraded {
    /// What was known last, not long ago.
    Known(Window),
    /// Nothing is known.
    Unknown,
}

impl BreakerState {
    pub(crate) fn name(&self) -> &str {
        self.target.name()
    }

    /// What to answer where the store has failed: a target is advice, so there is always one. Only
    /// a reply that cannot be read is a fault of ours.
    pub(crate) fn without_store(&self, error: &Error) -> Result<Degraded, Problem> {
        match error {
            Error::Unavailable(_)
            | Error::Forbidden(_)
            | Error::Full
            | Error::Unknown(_)
            | Error::Overloaded => {}
            Error::Reply { .. } => return Err(Problem::from(error)),
        }
        self.metrics.degraded.inc();
        Ok(self.last_known.get().map_or(Degraded::Unknown, Degraded::Known))
    }
}

impl Entity for BreakerState {
    const SECTION: &'static str = "targets";
    const LABEL: &'static str = "target";
    const UNKNOWN: Code = Code::UNKNOWN_TARGET;
}

/// The targets of a new configuration, each with what it remembers from before.
pub(crate) fn reload(
    config: &Config,
    before: Option<&Entities<BreakerState>>,
    context: &EntityContext<'_>,
    metrics: &BreakerFamilies,
) -> Entities<BreakerState> {
    let none = Entities::default();
    before.unwrap_or(&none).reload(&config.targets, |name, target, before| match before {
        Some(before) => BreakerState {
            target: before.target.clone(),
            rules: target.rules(),
            last_known: before.last_known.clone(),
            metrics: before.metrics.clone(),
            retries: before.retries.clone(),
        },
        None => BreakerState {
            target: Breaker::open(context.store, name, context.lane_bound),
            rules: target.rules(),
            last_known: Arc::default(),
            metrics: Arc::new(metrics.of(name)),
            retries: context.retries.clone(),
        },
    })
}
