//! The codes of queues, and the refusals of each call for the API document.

use std::collections::BTreeMap;

use utoipa::IntoResponses;
use utoipa::openapi::RefOr;
use utoipa::openapi::response::Response;

use crate::http::document::{problems, responses};
use crate::problem::Code;
use crate::problem::code::codes;
use crate::problem::edge::{ANY, BODY, CALLER, VALUE};
use crate::problem::store::STORE;

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
    /// The token's place has ended, and a backend must sign the identity of its visitor again.
    ASSERTION_MISSING = UNAUTHORIZED, "assertion_missing",
        "The place has ended: a backend must sign the visitor's identity again";
    /// The gate: it is not this visitor's turn.
    NOT_ADMITTED = FORBIDDEN, "not_admitted", "Not admitted";
    /// A claim of a place that still waits.
    NOT_READY = CONFLICT, "not_ready", "It is not this place's turn yet";
    /// A renewal of a place that is not active.
    NOT_ACTIVE = CONFLICT, "not_active", "The place is not active";
    /// A purge of a queue that the configuration names.
    QUEUE_CONFIGURED = CONFLICT, "queue_configured", "The configuration names this queue";
    /// The place has ended; `reason` says why.
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

problems! {
    /// Refusals of a join.
    JoinProblems of Code::UNKNOWN_QUEUE: &[Code::BAD_REQUEST], BODY, &[Code::TOKEN_INVALID,
        Code::ASSERTION_INVALID, Code::ASSERTION_MISSING, Code::ORIGIN_REFUSED, Code::JOIN_LIMITED,
        Code::SLOW_DOWN, Code::QUEUE_FULL, Code::QUEUE_CLOSED];
    /// Refusals to who reads a place.
    HolderProblems of Code::UNKNOWN_QUEUE: TOKEN, &[Code::PLACE_GONE, Code::SLOW_DOWN];
    /// Refusals of a claim.
    ClaimProblems of Code::UNKNOWN_QUEUE: TOKEN, &[Code::ORIGIN_REFUSED, Code::PLACE_GONE,
        Code::NOT_READY, Code::SLOW_DOWN];
    /// Refusals of a renewal.
    RenewProblems of Code::UNKNOWN_QUEUE: TOKEN, &[Code::ORIGIN_REFUSED, Code::PLACE_GONE,
        Code::NOT_ACTIVE, Code::SLOW_DOWN];
    /// Refusals of a leave.
    LeaveProblems of Code::UNKNOWN_QUEUE: TOKEN, &[Code::ORIGIN_REFUSED, Code::SLOW_DOWN];
    /// Refusals to who reads a queue.
    QueueProblems of Code::UNKNOWN_QUEUE:;
    /// Refusals of a join on a visitor's behalf.
    BackendJoinProblems of Code::UNKNOWN_QUEUE: CALLER, BODY, VALUE,
        &[Code::QUEUE_FULL, Code::QUEUE_CLOSED];
    /// Refusals of a renewal by the protected service.
    BackendRenewProblems of Code::UNKNOWN_QUEUE: CALLER, &[Code::PLACE_GONE, Code::NOT_ACTIVE];
    /// Refusals of calls with a key that take nothing but the name of a queue, or of a place in it.
    KeyProblems of Code::UNKNOWN_QUEUE: CALLER;
    /// Refusals of overrides.
    OverrideProblems of Code::UNKNOWN_QUEUE: CALLER, BODY, VALUE;
    /// Refusals of an operator's look at a ticket, or its eviction.
    TicketProblems of Code::UNKNOWN_QUEUE: CALLER, &[Code::NOT_FOUND];
    /// Refusals of a purge, which needs no configured queue.
    PurgeProblems: CALLER, &[Code::BAD_REQUEST, Code::QUEUE_CONFIGURED], STORE;
}

/// Refusals at the gate: 401 and 403, whatever the reason.
pub struct GateProblems;

impl IntoResponses for GateProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let place = &[Code::NOT_ADMITTED, Code::PLACE_GONE, Code::SLOW_DOWN];
        let join =
            &[Code::ASSERTION_MISSING, Code::JOIN_LIMITED, Code::QUEUE_FULL, Code::QUEUE_CLOSED];
        let groups = [TOKEN, place, join, ANY, &[Code::UNKNOWN_QUEUE], STORE];
        responses(&groups, Code::gate_status)
    }
}
