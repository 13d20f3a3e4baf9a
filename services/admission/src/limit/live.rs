//! A limit on a live stream. It has no snapshot, because each key has its own counter. The stream
//! shows the rates that this process counts.

use std::time::Instant;

use anteroom_authorize::durations::millis;
use anteroom_authorize::limit::LimitState;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::live::Live;

/// A limit on a live stream.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LiveLimit)]
pub struct LiveLimitView {
    /// The number of units in a window.
    limit: u32,
    /// The length of the window in milliseconds.
    window_ms: u64,
    /// Checks per second that this process answered in the last 5 seconds, with any outcome. Absent
    /// in the first second, if no stream was open before.
    #[serde(skip_serializing_if = "Option::is_none")]
    checks_per_second: Option<f64>,
    /// Checks per second that were refused. A limit in shadow mode refuses none.
    #[serde(skip_serializing_if = "Option::is_none")]
    refusals_per_second: Option<f64>,
}

impl Live for LimitState {
    type View = LiveLimitView;

    fn live_view(&self) -> Value {
        let rates = self.recent.rates(Instant::now(), self.metrics.totals());
        let view = LiveLimitView {
            limit: self.config.limit,
            window_ms: millis(self.config.window),
            checks_per_second: rates.map(|[checks, _]| checks),
            refusals_per_second: rates.map(|[_, refusals]| refusals),
        };
        // Finite numbers only: this cannot fail.
        serde_json::to_value(view).unwrap_or_default()
    }
}
