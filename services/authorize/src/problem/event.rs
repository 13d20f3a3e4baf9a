//! The codes of events.

use super::code::codes;

codes! {
    /// What the event itself refuses.
    EVENT by Rule;
    /// No event of this name is configured.
    UNKNOWN_EVENT = NOT_FOUND, "unknown_event", "There is no such event",
        No, "Check the name, and `[events.NAME]` in the configuration.";
    /// No item is left, or as many applications are accepted as `stock` × `over_apply` allows.
    SOLD_OUT = CONFLICT, "sold_out", "The event is sold out",
        No, "Show the visitor that the event is sold out. An operator can add stock.";
    /// The event does not take applications yet, or has ended.
    EVENT_NOT_OPEN = SERVICE_UNAVAILABLE, "event_not_open", "The event takes no applications now",
        Later, "Retry after `Retry-After`. Without this header the event has ended: do not retry.";
}
