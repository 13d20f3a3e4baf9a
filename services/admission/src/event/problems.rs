//! The codes of events, and the refusals of each call for the API document.

use crate::http::document::problems;
use crate::problem::code::codes;
use crate::problem::edge::{BODY, CALLER, REPEATED, VALUE};
use crate::queue::problems::TOKEN;

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

problems! {
    /// Refusals of an application.
    ApplyProblems of Code::UNKNOWN_EVENT: CALLER, BODY, VALUE,
        &[Code::SOLD_OUT, Code::EVENT_NOT_OPEN];
    /// Refusals to who asks for the application of a visitor.
    StatusProblems of Code::UNKNOWN_EVENT: CALLER, VALUE, &[Code::NOT_FOUND];
    /// Refusals to who asks for their own.
    MineProblems of Code::UNKNOWN_EVENT: TOKEN, &[Code::NOT_FOUND];
    /// Refusals to who reads an event.
    LookProblems of Code::UNKNOWN_EVENT: CALLER;
    /// Refusals of more stock.
    StockProblems of Code::UNKNOWN_EVENT: CALLER, BODY, VALUE, REPEATED;
    /// Refusals to who reads the dead letters.
    DeadProblems of Code::UNKNOWN_EVENT: CALLER, &[Code::BAD_REQUEST];
}
