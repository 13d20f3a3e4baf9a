//! A queue on a live stream.

use anteroom_authorize::queue::state::QueueState;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::admin::AdminView;
use crate::live::Live;

/// A queue on a live stream: as `GET /v1/admin/queues/{queue}` returns it, and what a console shows
/// beside it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LiveQueue)]
pub struct LiveQueueView<'a> {
    #[serde(flatten)]
    admin: AdminView<'a>,
    /// The target (circuit breaker) that the queue follows. Absent if it follows none.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a str>,
    /// Visitors called in the last minute. Absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    admitted_per_minute: Option<u64>,
    /// How long the visitor at the head of the line has waited, in milliseconds. Absent if no
    /// visitor waits, or if this is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    longest_wait_ms: Option<u64>,
    /// The expected wait of a visitor who joins now, in milliseconds. Absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_wait_ms: Option<u64>,
    /// Waiting visitors of the last 15 minutes, one value for each 15 seconds, oldest first.
    sparkline: Vec<u64>,
}

impl Live for QueueState {
    type View = LiveQueueView<'static>;

    fn live_view(&self) -> Value {
        let target = self.config.health.as_deref();
        let Some(seen) = self.latest.get() else {
            return json!({"queue": self.name(), "target": target});
        };
        let view = LiveQueueView {
            admin: AdminView::aged(self.name(), &seen.snapshot, seen.age()),
            target,
            admitted_per_minute: None,
            longest_wait_ms: None,
            expected_wait_ms: None,
            sparkline: Vec::new(),
        };
        // Texts, flags and finite numbers: this cannot fail.
        serde_json::to_value(view).unwrap_or_default()
    }
}
