//! What admission counts of events.

use anteroom_runtime::{Families, counters};
use prometheus::{IntCounter, IntCounterVec, Registry};

/// The metrics of all events, by name.
#[derive(Debug)]
pub struct EventFamilies {
    applications: IntCounterVec,
}

/// What one event counts.
#[derive(Debug)]
pub struct EventMetrics {
    /// New ones.
    pub accepted: IntCounter,
    /// Of visitors who had applied before.
    pub repeated: IntCounter,
    /// Refused for want of units.
    pub sold_out: IntCounter,
    /// Refused before the opening, or after the end.
    pub not_open: IntCounter,
}

impl Families for EventFamilies {
    fn register(registry: &Registry) -> prometheus::Result<Self> {
        let applications = counters(
            registry,
            "anteroom_event_applications_total",
            "Applications: `accepted`, `repeated` (the visitor had applied before). Refused: \
             `sold_out`, `not_open`.",
            &["event", "outcome"],
        )?;
        Ok(Self { applications })
    }
}

impl EventFamilies {
    /// The children of one event, so that no request formats a label.
    pub fn of(&self, name: &str) -> EventMetrics {
        let child = |outcome| self.applications.with_label_values(&[name, outcome]);
        EventMetrics {
            accepted: child("accepted"),
            repeated: child("repeated"),
            sold_out: child("sold_out"),
            not_open: child("not_open"),
        }
    }
}
