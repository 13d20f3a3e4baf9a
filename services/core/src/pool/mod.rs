//! Pools: a budget of integer units that is given out and never overdrawn.
//!
//! A [`Pool`] is one configured pool. A *hold* reserves what an option can pay at most, *settle*
//! pays the true amount and frees the rest; a *draw* is both in one. Each method is one script
//! under `lua/pool/`: `reserve` and `holds` for backends, `operate` for operators and the
//! configuration, `ticks` for the scheduler. At every instant what was funded is in the balance,
//! held or paid, and the ledger has a line for each movement.

mod holds;
mod ledger;
mod metrics;
mod operate;
mod reply;
mod reserve;
mod rules;
mod ticks;

crate::store::scripts!("pool");

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep, timeout_at};

pub use holds::{HoldState, HoldView, Settled};
pub use ledger::{Audit, Ledger, LedgerFrom, Line, MAX_LINES, Movement, Sums};
pub use reply::{Answer, Refusal};
pub use reserve::{AmountRequest, Drawn, Hold, HoldId};
pub use rules::{MAX_OPTIONS, OnFailover, RULES, Rules};
pub use ticks::{Snapshot, Sweep};

use reply::{Attempt, Receipt};

use crate::changes::By;
use crate::entity::{Entity, handle};
use crate::rules::MAX_AMOUNT;
use crate::store::{Clock, Constants, Error, Store};

/// What tables in Rust give to the scripts.
fn constants() -> Constants {
    Constants::shared()
        .codes(reply::Code::OWN)
        .codes(reply::RefusalCode::OWN)
        .numbered("", Movement::NAMES)
        .value("MAX_AMOUNT", MAX_AMOUNT)
        .rules(RULES)
}

/// One pool in the store. A clone is another handle.
#[derive(Clone)]
pub struct Pool(Arc<PoolInner>, By);

struct PoolInner {
    entity: Entity<Rules>,
    lanes: reserve::Lanes,
    /// Locked by the caller that goes on until ended holds are taken back.
    sweeping: Mutex<()>,
}

/// How long Redis serves others between two calls that take ended holds back.
const SWEEP_PAUSE: Duration = Duration::from_millis(1);

handle!(Pool);

impl Pool {
    /// [`open`](Self::open) with a time that a test gives.
    pub fn open_with_clock(
        store: &Store,
        name: &str,
        rules: Rules,
        lane_bound: usize,
        clock: Clock,
    ) -> Self {
        let inner = PoolInner {
            lanes: reserve::Lanes::start(store, name, &clock, lane_bound),
            entity: Entity::new(store, name, clock, rules),
            sweeping: Mutex::new(()),
        };
        Self(Arc::new(inner), By::default())
    }

    /// Calls until ended holds no longer prevent a decision: each call takes some back. One caller
    /// at a time goes on, with a pause after each call. The others wait for it, and call again.
    async fn retry_while_sweeping<A>(
        &self,
        mut call: impl FnMut() -> A,
    ) -> Result<Answer<Receipt>, Error>
    where
        A: Future<Output = Result<Attempt, Error>>,
    {
        let deadline = Instant::now() + self.entity().request_timeout();
        let mut sweeping = None;
        loop {
            if let Attempt::Decided(answer) = call().await? {
                return Ok(answer);
            }
            if Instant::now() >= deadline {
                return Err(Error::Overloaded);
            }
            if sweeping.is_none() {
                sweeping = self.0.sweeping.try_lock().ok();
            }
            if sweeping.is_some() {
                sleep(SWEEP_PAUSE).await;
            } else {
                let swept = timeout_at(deadline, self.0.sweeping.lock()).await;
                drop(swept.map_err(|_| Error::Overloaded)?);
            }
        }
    }
}
