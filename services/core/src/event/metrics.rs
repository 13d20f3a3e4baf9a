//! The metrics of events that several services export, and so under the same names.

use super::Snapshot;

/// A gauge: its name, its meaning, and its value in a snapshot.
type Gauge = (&'static str, &'static str, fn(&Snapshot) -> Option<f64>);

impl Snapshot {
    /// What a snapshot shows of an event. All have the one label `event`.
    pub const GAUGES: [Gauge; 6] = [
        ("anteroom_event_stock", "Units given since the event was born.", |it| {
            Some(it.stock as f64)
        }),
        ("anteroom_event_issued", "Units issued.", |it| Some(it.issued as f64)),
        (
            "anteroom_event_pending",
            "Applications that wait to be claimed, those that are to be tried again included.",
            |it| Some(it.pending as f64),
        ),
        ("anteroom_event_claimed", "Applications that issuers have in hand.", |it| {
            Some(it.claimed as f64)
        }),
        ("anteroom_event_dead", "Dead letters.", |it| Some(it.dead as f64)),
        ("anteroom_event_codes", "Codes that are left to be given out.", |it| {
            Some(it.codes as f64)
        }),
    ];
}
