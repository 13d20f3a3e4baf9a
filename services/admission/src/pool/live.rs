//! A pool on a live stream.

use anteroom_authorize::snapshots::Snapshots as _;
use serde_json::{Value, json};

use super::state::PoolState;
use super::views::PoolView;
use crate::live::Live;

impl Live for PoolState {
    type View = PoolView;

    fn live_view(&self) -> Value {
        let Some(seen) = self.latest().get() else { return json!({}) };
        // Texts, flags and numbers only: this cannot fail.
        serde_json::to_value(PoolView::new(&seen.snapshot, seen.age())).unwrap_or_default()
    }
}
