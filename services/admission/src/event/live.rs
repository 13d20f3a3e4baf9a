//! An event on a live stream.

use anteroom_authorize::snapshots::Snapshots as _;
use serde_json::{Value, json};

use super::state::EventState;
use super::views::EventView;
use crate::live::Live;

impl Live for EventState {
    type View = EventView<'static>;

    fn live_view(&self) -> Value {
        let Some(seen) = self.latest().get() else { return json!({"event": self.name()}) };
        // Texts and numbers only: this cannot fail.
        let view = EventView::new(self.name(), &seen.snapshot, seen.age());
        serde_json::to_value(view).unwrap_or_default()
    }
}
