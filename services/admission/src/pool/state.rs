//! What this process keeps of a pool between requests, and what a pool refuses.

use std::sync::Arc;

use anteroom_core::pool::{Answer, Pool, Refusal};
use anteroom_core::store::Error;
use anteroom_runtime::Config;
use prometheus::{IntCounter, IntCounterVec};
use tokio::sync::{Mutex, MutexGuard};

use super::metrics::PoolFamilies;
use super::problems;
use crate::entities::{Entities, Entity, EntityContext};
use crate::problem::retry::PendingRetries;
use crate::problem::{Code, Problem};

/// One pool as handlers see it.
pub struct PoolState {
    /// The operations.
    pub pool: Pool,
    operations: IntCounterVec,
    paid: IntCounter,
    /// The retries that this process has scheduled, of any entity.
    retries: Arc<PendingRetries>,
    /// Held by who audits it.
    audits: Arc<Mutex<()>>,
}

impl PoolState {
    pub(crate) fn name(&self) -> &str {
        self.pool.name()
    }

    /// Whoever audits it, which keeps the store busy, is alone in this process.
    pub(crate) fn audits_alone(&self) -> Result<MutexGuard<'_, ()>, Problem> {
        self.audits.try_lock().map_err(|_| {
            let problem = Problem::new(Code::OVERLOADED).detail("the pool is being audited");
            problem.retry_after(self.retries.schedule_anybody())
        })
    }

    /// What came of an operation, counted; money is never advice, so without the store it is
    /// refused.
    pub(crate) fn told<T>(
        &self,
        operation: &'static str,
        answer: Result<Answer<T>, Error>,
    ) -> Result<T, Problem> {
        let (outcome, told) = match answer {
            Ok(Answer::Done(told)) => ("done", Ok(told)),
            Ok(Answer::Repeated(told)) => ("repeated", Ok(told)),
            Ok(Answer::Refused(refusal)) => {
                let problem = self.refused(refusal);
                (problem.code().name(), Err(problem))
            }
            Err(error) => {
                let problem = Problem::from(error);
                (problem.code().name(), Err(problem))
            }
        };
        self.operations.with_label_values(&[self.name(), operation, outcome]).inc();
        told
    }

    /// The same of an operation that pays the amount which `paid` tells.
    pub(crate) fn told_paid<T: Copy>(
        &self,
        operation: &'static str,
        answer: Result<Answer<T>, Error>,
        paid: impl Fn(T) -> u64,
    ) -> Result<T, Problem> {
        if let Ok(Answer::Done(told)) = &answer {
            self.paid.inc_by(paid(*told));
        }
        self.told(operation, answer)
    }

    fn refused(&self, refusal: Refusal) -> Problem {
        let problem = problems::problem(refusal);
        if refusal == Refusal::Unconfirmed {
            return problem.retry_after(self.retries.schedule_anybody());
        }
        problem
    }
}

impl Entity for PoolState {
    const SECTION: &'static str = "pools";
    const LABEL: &'static str = "pool";
    const UNKNOWN: Code = Code::UNKNOWN_POOL;
}

/// The pools of a new configuration. One that stays keeps its lanes and what it has seen.
pub(crate) fn reload(
    config: &Config,
    before: Option<&Entities<PoolState>>,
    context: &EntityContext<'_>,
    metrics: &PoolFamilies,
) -> Entities<PoolState> {
    let none = Entities::default();
    before.unwrap_or(&none).reload(&config.pools, |name, config, before| {
        let audits = before.map_or_else(Arc::default, |before| before.audits.clone());
        let rules = config.rules.clone();
        let pool = match before {
            Some(before) => {
                before.pool.set_rules(rules);
                before.pool.clone()
            }
            None => Pool::open(context.store, name, rules, context.lane_bound),
        };
        let (operations, retries) = (metrics.operations.clone(), context.retries.clone());
        let paid = metrics.paid.with_label_values(&[name]);
        PoolState { pool, operations, paid, retries, audits }
    })
}
