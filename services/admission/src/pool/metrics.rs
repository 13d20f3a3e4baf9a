//! What admission counts of pools, and shows of them.

use anteroom_core::pool::Snapshot;
use anteroom_runtime::{Families, SnapshotGauges, counters};
use prometheus::{IntCounterVec, Registry};

/// The metrics of all pools, by name.
#[derive(Debug)]
pub struct PoolFamilies {
    /// `anteroom_pool_operations_total{pool,operation,outcome}`: the outcome is `done`, `repeated`,
    /// or the code of the refusal.
    pub(crate) operations: IntCounterVec,
    /// `anteroom_pool_paid_total{pool}`: units paid through this process.
    pub(crate) paid: IntCounterVec,
    /// What the snapshots show.
    pub(crate) gauges: SnapshotGauges<Snapshot>,
}

impl Families for PoolFamilies {
    fn register(registry: &Registry) -> prometheus::Result<Self> {
        Ok(Self {
            operations: counters(
                registry,
                "anteroom_pool_operations_total",
                "Operations: `hold`, `extend`, `settle`, `cancel`, `draw`, `fund`, `confirm`. \
                 Outcome: `done`, `repeated` (an earlier call with the same `operation_id` \
                 decided), or the error code of the refusal.",
                &["pool", "operation", "outcome"],
            )?,
            paid: counters(
                registry,
                "anteroom_pool_paid_total",
                "Units paid by draws (payments) and settlements (captures) through this process.",
                &["pool"],
            )?,
            gauges: SnapshotGauges::register(registry, "pool", Snapshot::GAUGES, [])?,
        })
    }

    fn forget(&self, name: &str) {
        self.gauges.forget(name);
    }
}
