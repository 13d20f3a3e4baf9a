//! What a queue refuses.

use crate::problem::code::codes;

codes! {
    /// What the token of a place, or who shows it, may meet.
    TOKEN by Rule;
    /// No token came with a call that needs one.
    TOKEN_MISSING = UNAUTHORIZED, "token_missing", "No token was sent";
    /// The token was not signed by us for this queue or event.
    TOKEN_INVALID = UNAUTHORIZED, "token_invalid", "The token is not valid here";
}

codes! {
    /// What the queue itself refuses.
    QUEUE by Rule;
    /// No queue of that name is configured.
    UNKNOWN_QUEUE = NOT_FOUND, "unknown_queue", "There is no such queue";
    /// The assertion was not signed by a trusted backend for this queue, or is out of date.
    ASSERTION_INVALID = UNAUTHORIZED, "assertion_invalid",
        "The assertion is not valid for this queue";
    /// The token's place is over, and its visitor is one for whom a backend must vouch anew.
    ASSERTION_MISSING = UNAUTHORIZED, "assertion_missing",
        "The place is over: the visitor must be vouched for anew";
    /// The gate: it is not this visitor's turn.
    NOT_ADMITTED = FORBIDDEN, "not_admitted", "Not admitted";
    /// A claim of a place that still waits.
    NOT_READY = CONFLICT, "not_ready", "It is not this place's turn yet";
    /// A renewal of a place that is not active.
    NOT_ACTIVE = CONFLICT, "not_active", "The place is not active";
    /// A purge of a queue that the configuration names.
    QUEUE_CONFIGURED = CONFLICT, "queue_configured", "The configuration names this queue";
    /// The place is over; `reason` says why.
    PLACE_GONE = GONE, "place_gone", "The place is gone";
    /// Too many joins from this address.
    JOIN_LIMITED = TOO_MANY_REQUESTS, "join_limited", "Too many joins from this address";
    /// Too many requests for this place.
    SLOW_DOWN = TOO_MANY_REQUESTS, "slow_down", "Too many requests for this place";
    /// The queue holds `max_waiting` places.
    QUEUE_FULL = SERVICE_UNAVAILABLE, "queue_full", "The queue is full";
    /// The queue takes no joins at the moment.
    QUEUE_CLOSED = SERVICE_UNAVAILABLE, "queue_closed", "The queue is closed";
}
