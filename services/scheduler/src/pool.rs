//! The task of one pool: its rules are kept written, and its ticks come.

use std::time::Duration;

use anteroom_config::PoolConfig;
use anteroom_core::pool::{Pool, Rules, Snapshot};
use anteroom_core::store::Error;
use anteroom_runtime::{Families, SnapshotGauges};
use prometheus::Registry;

use crate::entity::{Entity, Scheduled, Served, Tasks};
use crate::tick::{self, NEVER_LATE, Tick};

/// No caller comes here, so nothing ever waits in a pool's lanes.
const LANE_BOUND: usize = 1;
/// Calls of one sweep, 50 holds each: 10 000 may end in a second.
const SWEEP_CALLS: u32 = 200;

/// What ended holds had reserved is taken back, within a second of their end.
const SWEEP: Tick = Tick {
    name: "pool_sweep",
    spread: NEVER_LATE,
    interval: |config, _| config.scheduler.sweep_tick.min(Duration::from_secs(1)),
};
const SNAPSHOT: Tick = Tick::snapshot("pool_snapshot");

/// A pool and its part of the configuration.
struct ScheduledPool {
    pool: Pool,
    served: Served,
}

/// What the snapshots show.
#[derive(Clone, Debug)]
pub struct PoolFamilies(SnapshotGauges<Snapshot>);

impl Families for PoolFamilies {
    fn register(registry: &Registry) -> prometheus::Result<Self> {
        SnapshotGauges::register(registry, "pool", Snapshot::GAUGES, []).map(Self)
    }

    fn forget(&self, name: &str) {
        self.0.forget(name);
    }
}

impl Scheduled for Pool {
    type Families = PoolFamilies;

    const TICKS: &'static [Tick] = &[SWEEP, SNAPSHOT];

    async fn serve(tasks: &Tasks) {
        tasks.keep::<ScheduledPool>().await;
    }
}

impl Entity for ScheduledPool {
    type Kind = Pool;
    type Rules = Rules;

    fn rules(table: &PoolConfig) -> &Rules {
        &table.rules
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
        tokio::join!(tick::keep(&SWEEP, self, sweep), tick::keep(&SNAPSHOT, self, snapshot),);
    }
}

async fn sweep(pool: &ScheduledPool) -> Result<(), Error> {
    for _ in 0..SWEEP_CALLS {
        let swept = pool.pool.sweep().await?;
        if swept.failed_over {
            let name = pool.pool.name();
            tracing::warn!(
                pool = name,
                "the Redis primary has changed and may lack the latest movements: check the pool"
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
    pool.served.shared.metrics.pool.0.show(pool.pool.name(), &snapshot);
    Ok(())
}
