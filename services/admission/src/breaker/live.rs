//! A target on a live stream.

use anteroom_authorize::durations::millis;
use anteroom_authorize::snapshots::Snapshots as _;
use serde_json::{Value, json};

use super::state::BreakerState;
use super::views::LookView;
use crate::live::Live;

impl Live for BreakerState {
    type View = LookView;

    fn live_view(&self) -> Value {
        let Some(seen) = self.latest().get() else {
            return json!({"window_ms": millis(self.rules.window)});
        };
        // Texts, flags and finite numbers: this cannot fail.
        let view = LookView::new(&self.rules, &seen.snapshot, seen.age());
        serde_json::to_value(view).unwrap_or_default()
    }
}
