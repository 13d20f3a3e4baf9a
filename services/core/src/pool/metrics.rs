//! What the snapshots of a pool say, for the gauges of every service that shows them.

use super::Snapshot;

/// A gauge: its name, its meaning, and how a snapshot gives its value.
type Gauge = (&'static str, &'static str, fn(&Snapshot) -> Option<f64>);

impl Snapshot {
    /// What a snapshot shows of a pool. All have the one label `pool`.
    pub const GAUGES: [Gauge; 8] = [
        ("anteroom_pool_balance", "Units that are available: neither reserved nor paid.", |it| {
            Some(it.sums.balance as f64)
        }),
        ("anteroom_pool_held", "Units that holds reserve.", |it| Some(it.sums.held as f64)),
        ("anteroom_pool_paid", "Units paid since the pool was created.", |it| {
            Some(it.sums.paid as f64)
        }),
        (
            "anteroom_pool_funded",
            "Units deposited since the pool was created: balance + held + paid.",
            |it| Some(it.sums.funded as f64),
        ),
        ("anteroom_pool_holds", "Open holds (reservations).", |it| Some(it.holds as f64)),
        (
            "anteroom_pool_unconfirmed",
            "1 while no money moves: the primary of Redis has changed, and an operator must \
             confirm the budget.",
            |it| Some(f64::from(u8::from(it.unconfirmed))),
        ),
        (
            "anteroom_pool_failovers",
            "How often the primary of Redis has changed since the pool was created.",
            |it| Some(it.failovers as f64),
        ),
        (
            "anteroom_pool_holds_expired",
            "Holds that expired since the pool was created: neither settled (captured) nor \
             cancelled in time.",
            |it| Some(it.holds_expired as f64),
        ),
    ];
}
