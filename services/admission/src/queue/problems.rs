//! The refusals of each call for the API document.

use std::collections::BTreeMap;

use anteroom_authorize::problem::Code;
use anteroom_authorize::problem::edge::{BODY, CALLER, VALUE};
use anteroom_authorize::problem::queue::{GATE, TOKEN};
use anteroom_authorize::problem::store::STORE;
use utoipa::IntoResponses;
use utoipa::openapi::RefOr;
use utoipa::openapi::response::Response;

use crate::http::document::{problems, responses};

problems! {
    /// Refusals of a join.
    JoinProblems of Code::UNKNOWN_QUEUE: &[Code::BAD_REQUEST], BODY, &[Code::TOKEN_INVALID,
        Code::ASSERTION_INVALID, Code::ASSERTION_MISSING, Code::ORIGIN_REFUSED, Code::JOIN_LIMITED,
        Code::SLOW_DOWN, Code::QUEUE_FULL, Code::QUEUE_CLOSED];
    /// Refusals to who reads a place.
    HolderProblems: TOKEN, &[Code::UNKNOWN_QUEUE, Code::PLACE_GONE, Code::SLOW_DOWN,
        Code::STORE_UNAVAILABLE];
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
    /// Refusals to who reads a board.
    BoardProblems of Code::UNKNOWN_QUEUE: &[Code::NOT_FOUND];
    /// Refusals of a join on a visitor's behalf.
    BackendJoinProblems of Code::UNKNOWN_QUEUE: CALLER, BODY, VALUE,
        &[Code::QUEUE_FULL, Code::QUEUE_CLOSED];
    /// Refusals of a renewal by the protected service.
    BackendRenewProblems of Code::UNKNOWN_QUEUE: CALLER, &[Code::PLACE_GONE, Code::NOT_ACTIVE];
    /// Refusals of calls with a key that take nothing but the name of a queue, or of a place in it.
    KeyProblems of Code::UNKNOWN_QUEUE: CALLER;
    /// Refusals of a call that reads a queue from the memory of this process.
    HistoryProblems: CALLER, &[Code::UNKNOWN_QUEUE];
    /// Refusals of a preview.
    PreviewProblems of Code::UNKNOWN_QUEUE: CALLER, VALUE;
    /// Refusals of overrides.
    OverrideProblems of Code::UNKNOWN_QUEUE: CALLER, BODY, VALUE,
        &[Code::BAD_REQUEST, Code::REVISION_CHANGED];
    /// Refusals of an operator's look at a ticket, or its eviction.
    TicketProblems of Code::UNKNOWN_QUEUE: CALLER, &[Code::NOT_FOUND];
    /// Refusals to who looks for a place.
    FindProblems of Code::UNKNOWN_QUEUE: CALLER, BODY, VALUE, &[Code::NOT_FOUND];
    /// Refusals of a purge, which needs no configured queue.
    PurgeProblems: CALLER, &[Code::BAD_REQUEST, Code::QUEUE_CONFIGURED], STORE;
}

/// Refusals at the gate: 401 and 403, whatever the reason.
pub struct GateProblems;

impl IntoResponses for GateProblems {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        responses(&GATE, Code::gate_status)
    }
}
