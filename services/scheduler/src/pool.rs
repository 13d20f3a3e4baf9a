//! The task of one pool: its rules are kept written, and its ticks come.

use anteroom_config::Config;
use anteroom_core::pool::{Pool, Rules};
use anteroom_core::store::Error;

use crate::entity::{Entity, Scheduled, Served, Tasks};
use crate::metrics::Metrics;
use crate::tick::{self, Tick};

/// No caller comes here, so nothing ever waits in a pool's lanes.
const LANE_BOUND: usize = 1;
/// Calls of one sweep, 50 holds each: 10 000 may end in a second.
const SWEEP_CALLS: u32 = 200;

/// A pool and its part of the configuration.
struct ScheduledPool {
    pool: Pool,
    served: Served,
}

impl Scheduled for Pool {
    async fn serve(tasks: &Tasks) {
        tasks.keep::<ScheduledPool>().await;
    }

    fn has_any(config: &Config) -> bool {
        !config.pools.is_empty()
    }
}

impl Entity for ScheduledPool {
    type Kind = Pool;
    type Rules = Rules;

    fn names(config: &Config) -> Vec<String> {
        config.pools.keys().cloned().collect()
    }

    fn rules_in(config: &Config, name: &str) -> Option<Rules> {
        config.pools.get(name).map(|pool| pool.rules.clone())
    }

    fn open(served: Served, rules: Rules) -> Self {
        Self { pool: Pool::open(&served.shared.store, &served.name, rules, LANE_BOUND), served }
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

    async fn tick(&self) {
        tokio::join!(
            tick::keep(Tick::PoolSweep, self, sweep),
            tick::keep(Tick::PoolSnapshot, self, snapshot),
        );
    }

    fn forget(metrics: &Metrics, name: &str) {
        metrics.pools.forget(name);
    }
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
