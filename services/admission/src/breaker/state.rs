//! What this process keeps of a target between requests, and what a target refuses.

use std::sync::Arc;

use anteroom_authorize::latest::Latest;
use anteroom_authorize::problem::retry::PendingRetries;
use anteroom_authorize::problem::{Code, Problem};
use anteroom_authorize::snapshots::Snapshots;
use anteroom_config::BreakerConfig;
use anteroom_core::breaker::{Breaker, Rules, Snapshot, Window};
use anteroom_core::store::Error;
use anteroom_runtime::SnapshotGauges;

use super::last_known::LastKnown;
use super::metrics::{BreakerFamilies, BreakerMetrics};
use crate::entities::{Entity, EntityContext, Served};
use crate::tasks::Tasks;

/// One target as handlers see it.
#[derive(Clone)]
pub struct BreakerState {
    /// The operations.
    pub target: Breaker,
    /// The rules that travel with each of them.
    pub rules: Rules,
    /// The window that Redis returned last.
    pub(crate) last_known: Arc<LastKnown>,
    latest: Arc<Latest<Snapshot>>,
    gauges: SnapshotGauges<Snapshot>,
    pub(crate) metrics: Arc<BreakerMetrics>,
    /// The retries that this process has scheduled, of any entity.
    pub(crate) retries: Arc<PendingRetries>,
}

/// The answer while Redis is down.
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

    /// The answer after Redis has failed: a target is advice, so there is always one. Only a reply
    /// that cannot be read is a fault of Anteroom.
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

impl Served for Breaker {
    type State = BreakerState;
}

impl Entity for BreakerState {
    type Kind = Breaker;
    type Families = BreakerFamilies;

    const UNKNOWN: Code = Code::UNKNOWN_TARGET;

    fn make(
        name: &str,
        config: &BreakerConfig,
        before: Option<&Self>,
        families: &BreakerFamilies,
        context: &EntityContext<'_>,
    ) -> Self {
        let rules = config.rules();
        if let Some(before) = before {
            return Self { rules, ..before.clone() };
        }
        Self {
            target: Breaker::open(context.store, name, context.lane_bound),
            rules,
            last_known: Arc::default(),
            latest: Arc::default(),
            gauges: families.gauges.clone(),
            metrics: Arc::new(families.of(name)),
            retries: context.retries.clone(),
        }
    }

    fn spawn(tasks: &Tasks<'_>) {
        tasks.snapshots::<Self>();
    }
}

impl Snapshots for BreakerState {
    type Snapshot = Snapshot;

    fn latest(&self) -> &Latest<Snapshot> {
        &self.latest
    }

    async fn snapshot(&self) -> Result<Snapshot, Error> {
        let snapshot = self.target.snapshot(&self.rules).await?;
        self.last_known.note(snapshot.window());
        Ok(snapshot)
    }

    fn act_on(&self, snapshot: &Snapshot) {
        self.gauges.show(self.name(), snapshot);
    }
}
