//! What this process keeps of a pool between requests, and what a pool refuses.

use std::sync::Arc;

use anteroom_authorize::latest::Latest;
use anteroom_authorize::problem::retry::PendingRetries;
use anteroom_authorize::problem::{Code, Problem};
use anteroom_authorize::snapshots::Snapshots;
use anteroom_config::PoolConfig;
use anteroom_core::changes::Changes;
use anteroom_core::pool::{Answer, Pool, Refusal, Snapshot};
use anteroom_core::store::Error;
use anteroom_runtime::SnapshotGauges;
use prometheus::{IntCounter, IntCounterVec};
use tokio::sync::{Mutex, MutexGuard};

use super::metrics::PoolFamilies;
use super::problems;
use crate::app::App;
use crate::entities::{Entity, EntityContext, Served};
use crate::tasks::Tasks;

/// One pool as handlers see it.
#[derive(Clone)]
pub struct PoolState {
    /// The operations.
    pub pool: Pool,
    operations: IntCounterVec,
    paid: IntCounter,
    /// The retries that this process has scheduled, of any entity.
    retries: Arc<PendingRetries>,
    /// Held during an audit.
    audits: Arc<Mutex<()>>,
    latest: Arc<Latest<Snapshot>>,
    gauges: SnapshotGauges<Snapshot>,
}

impl PoolState {
    pub(crate) fn name(&self) -> &str {
        self.pool.name()
    }

    /// Allows one audit at a time in this process: each keeps Redis busy.
    pub(crate) fn audits_alone(&self) -> Result<MutexGuard<'_, ()>, Problem> {
        self.audits.try_lock().map_err(|_| {
            let problem = Problem::new(Code::OVERLOADED).detail("the pool is being audited");
            problem.retry_after(self.retries.schedule_default())
        })
    }

    /// Counts the outcome of an operation, and returns it. While Redis is down the operation is
    /// refused: money is never advice.
    pub(crate) fn counted<T>(
        &self,
        operation: &'static str,
        answer: Result<Answer<T>, Error>,
    ) -> Result<T, Problem> {
        let (outcome, result) = match answer {
            Ok(Answer::Done(result)) => ("done", Ok(result)),
            Ok(Answer::Repeated(result)) => ("repeated", Ok(result)),
            Ok(Answer::Refused(refusal)) => ("refused", Err(self.refused(refusal))),
            Err(error) => ("refused", Err(Problem::from(error))),
        };
        let outcome = result.as_ref().err().map_or(outcome, |problem| problem.code().name());
        self.operations.with_label_values(&[self.name(), operation, outcome]).inc();
        result
    }

    /// The same for an operation that pays; `paid` is the amount.
    pub(crate) fn counted_payment<T: Copy>(
        &self,
        operation: &'static str,
        answer: Result<Answer<T>, Error>,
        paid: impl Fn(T) -> u64,
    ) -> Result<T, Problem> {
        if let Ok(Answer::Done(result)) = &answer {
            self.paid.inc_by(paid(*result));
        }
        self.counted(operation, answer)
    }

    fn refused(&self, refusal: Refusal) -> Problem {
        let problem = problems::problem(refusal);
        if refusal == Refusal::Unconfirmed {
            return problem.retry_after(self.retries.schedule_default());
        }
        problem
    }
}

impl Served for Pool {
    type State = PoolState;
}

impl Entity for PoolState {
    type Kind = Pool;
    type Families = PoolFamilies;

    const UNKNOWN: Code = Code::UNKNOWN_POOL;

    fn make(
        name: &str,
        config: &PoolConfig,
        before: Option<&Self>,
        families: &PoolFamilies,
        context: &EntityContext<'_>,
    ) -> Self {
        let rules = config.rules.clone();
        if let Some(before) = before {
            before.pool.set_rules(rules);
            return before.clone();
        }
        Self {
            pool: Pool::open(context.store, name, rules, context.lane_bound),
            operations: families.operations.clone(),
            paid: families.paid.with_label_values(&[name]),
            retries: context.retries.clone(),
            audits: Arc::default(),
            latest: Arc::default(),
            gauges: families.gauges.clone(),
        }
    }

    async fn changes(&self, _app: &App, before: Option<u64>, limit: u64) -> Result<Changes, Error> {
        self.pool.changes(before, limit).await
    }

    fn spawn(tasks: &Tasks<'_>) {
        tasks.snapshots::<Self>();
    }
}

impl Snapshots for PoolState {
    type Snapshot = Snapshot;

    fn latest(&self) -> &Latest<Snapshot> {
        &self.latest
    }

    async fn snapshot(&self) -> Result<Snapshot, Error> {
        self.pool.snapshot().await
    }

    fn act_on(&self, snapshot: &Snapshot) {
        self.gauges.show(self.name(), snapshot);
    }
}
