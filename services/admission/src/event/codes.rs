//! What an event refuses.

use crate::problem::code::codes;

codes! {
    /// What the event itself refuses.
    EVENT by Rule;
    /// No event of that name is configured.
    UNKNOWN_EVENT = NOT_FOUND, "unknown_event", "There is no such event";
    /// No unit is left, or as many have applied as may.
    SOLD_OUT = CONFLICT, "sold_out", "The event is sold out";
    /// Applications are not taken yet, or not any more.
    EVENT_NOT_OPEN = SERVICE_UNAVAILABLE, "event_not_open", "The event takes no applications now";
}
