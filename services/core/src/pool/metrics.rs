//! What the snapshots of a pool say, for the gauges of every service that shows them.

use super::Snapshot;

/// A gauge: its name, its meaning, and how a snapshot gives its value.
type Gauge = (&'static str, &'static str, fn(&Snapshot) -> Option<f64>);

impl Snapshot {
    /// What a snapshot shows of a pool. All have the one label `pool`.
    pub const GAUGES: [Gauge; 8] = [
        ("anteroom_pool_balance", "Units to be given out.", |it| Some(it.sums.balance as f64)),
        ("anteroom_pool_held", "Units that holds have reserved.", |it| Some(it.sums.held as f64)),
        ("anteroom_pool_paid", "Units ever paid.", |it| Some(it.sums.paid as f64)),
        ("anteroom_pool_funded", "Units ever put in.", |it| Some(it.sums.funded as f64)),
        ("anteroom_pool_holds", "Holds that are not over.", |it| Some(it.holds as f64)),
        (
            "anteroom_pool_unconfirmed",
            "1 while no money moves until an operator confirms, after a change of the store's \
             primary.",
            |it| Some(f64::from(u8::from(it.unconfirmed))),
        ),
        (
            "anteroom_pool_failovers",
            "How often the store's primary has changed since the pool was created.",
            |it| Some(it.failovers as f64),
        ),
        (
            "anteroom_pool_holds_expired",
            "How many holds have ever ended by themselves, neither settled nor cancelled in time.",
            |it| Some(it.holds_expired as f64),
        ),
    ];
}
