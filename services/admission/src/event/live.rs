//! An event on a live stream.

use anteroom_authorize::snapshots::Snapshots as _;
use anteroom_core::event::Issue;
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
        let mut view = serde_json::to_value(view).unwrap_or_default();
        // Only an event that hands out codes can run out of them.
        if seen.snapshot.rules.issue != Issue::Codes
            && let Some(fields) = view.as_object_mut()
        {
            fields.remove("codes");
        }
        view
    }
}
