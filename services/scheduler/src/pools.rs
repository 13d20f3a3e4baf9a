//! The task of one pool: its rules are kept written, and its ticks come.

use std::sync::Arc;

use anteroom_core::pool::{Pool, Rules};
use anteroom_core::store::Error;
use anteroom_runtime::{Changes, Config};
use tokio_util::sync::CancellationToken;

use crate::served::{Entity, Served};
use crate::shared::Shared;
use crate::tick::Tick;
use crate::{rules, ticks};

/// No caller comes here, so nothing ever waits in a pool's lanes.
const LANE_BOUND: usize = 1;
/// Calls of one sweep, 50 holds each: 10 000 may end in a second.
const SWEEP_CALLS: u32 = 200;

/// A pool and its part of the configuration.
struct ScheduledPool {
    pool: Pool,
    served: Served,
}

impl Entity for ScheduledPool {
    type Rules = Rules;

    fn rules_in(&self, config: &Config) -> Option<Rules> {
        config.pools.get(self.pool.name()).map(|pool| pool.rules.clone())
    }

    fn set_rules(&self, rules: Rules) {
        self.pool.set_rules(rules);
    }

    async fn apply_rules(&self, rules: &Rules) -> Result<bool, Error> {
        self.pool.apply_rules(rules).await
    }

    fn served(&self) -> &Served {
        &self.served
    }
}

/// Serves one pool until it is stopped. Nothing ticks before the file's rules are written.
pub async fn serve(shared: Arc<Shared>, name: String, changes: Changes, stop: CancellationToken) {
    let config = changes.borrow().clone();
    let Some(rules) = config.pools.get(&name).map(|pool| pool.rules.clone()) else { return };
    let pool = ScheduledPool {
        pool: Pool::open(&shared.store, &name, rules, LANE_BOUND),
        served: Served::new(&shared, "pool", &name, changes, stop),
    };
    tracing::info!(pool = name, "served");
    let ticks = async {
        pool.served.rules_written().await;
        tokio::join!(
            ticks::keep(Tick::PoolSweep, &pool, sweep),
            ticks::keep(Tick::PoolSnapshot, &pool, snapshot),
        );
    };
    tokio::join!(rules::keep(&pool), ticks);
    shared.metrics.pools.forget(&name);
    shared.failures.forget("pool", &name);
    tracing::info!(pool = name, "no longer served");
}

async fn sweep(pool: &ScheduledPool) -> Result<(), Error> {
    for _ in 0..SWEEP_CALLS {
        let swept = pool.pool.sweep().await?;
        if swept.failed_over {
            let name = pool.pool.name();
            tracing::warn!(
                pool = name,
                "the store's primary has changed, and may lack the latest movements"
            );
        }
        if !swept.more || pool.served.stop.is_cancelled() {
            break;
        }
    }
    Ok(())
}

async fn snapshot(pool: &ScheduledPool) -> Result<(), Error> {
    let snapshot = pool.pool.snapshot().await?;
    pool.served.shared.metrics.pools.show(pool.pool.name(), &snapshot);
    Ok(())
}
