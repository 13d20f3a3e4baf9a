//! What admission counts of pools, and shows of them.

use anteroom_core::pool::Snapshot;
use anteroom_runtime::{Families, SnapshotGauges};
use prometheus::{IntCounterVec, Opts, Registry};

/// The metrics of all pools, by name.
#[derive(Debug)]
pub struct PoolFamilies {
    /// `anteroom_pool_operations_total{pool,operation,outcome}`: the outcome is `done`, `repeated`,
    /// or the code of the refusal.
    pub(crate) operations: IntCounterVec,
    /// `anteroom_pool_paid_total{pool}`: units that this process was told were paid.
    pub(crate) paid: IntCounterVec,
    /// What the snapshots show.
    pub(crate) gauges: SnapshotGauges<Snapshot>,
}

impl Families for PoolFamilies {
    fn register(registry: &Registry) -> prometheus::Result<Self> {
        let operations = IntCounterVec::new(
            Opts::new(
                "anteroom_pool_operations_total",
                "Operations on a pool, by what came of them: done, repeated, or the refusal.",
            ),
            &["pool", "operation", "outcome"],
        )?;
        let paid = IntCounterVec::new(
            Opts::new("anteroom_pool_paid_total", "Units paid, by draws and settlements."),
            &["pool"],
        )?;
        registry.register(Box::new(operations.clone()))?;
        registry.register(Box::new(paid.clone()))?;
        let gauges = SnapshotGauges::register(registry, "pool", Snapshot::GAUGES, [])?;
        Ok(Self { operations, paid, gauges })
    }

    fn forget(&self, name: &str) {
        self.gauges.forget(name);
    }
}
