//! The codes of queues.

use super::Code;
use super::code::codes;
use super::edge::ANY;
use super::store::STORE;

codes! {
    /// What the token of a place, or who shows it, may meet.
    TOKEN by Rule;
    /// The call needs a token, and the request has none.
    TOKEN_MISSING = UNAUTHORIZED, "token_missing", "No token was sent",
        No, "Join with `POST …/tokens`, then send the token in `x-anteroom-token` or the cookie \
            of the queue. If all visitors get this, the gateway does not pass the cookie on.";
    /// The token was signed with another secret or for another queue or event, or is incomplete.
    TOKEN_INVALID = UNAUTHORIZED, "token_invalid", "The token is not valid here",
        No, "Join without this token. If all visitors get this, set the same `token_secrets` for \
            all processes. Without any, each restart makes all tokens invalid.";
}

codes! {
    /// What the queue itself refuses.
    QUEUE by Rule;
    /// No queue of this name is configured.
    UNKNOWN_QUEUE = NOT_FOUND, "unknown_queue", "There is no such queue",
        No, "Check the name, `[queues.NAME]` in the configuration, and the queue that the gateway \
            names (NGINX: `$anteroom_queue`, Envoy over gRPC: `context_extensions.queue`).";
    /// The signed identity is not from a trusted backend for this queue, or has expired.
    ASSERTION_INVALID = UNAUTHORIZED, "assertion_invalid",
        "The assertion is not valid for this queue",
        No, "Sign a new identity with this queue, the `visitor_id` and an expiry at most 5 \
            minutes ahead.";
    /// A join with the token of an ended place: only a backend can identify this visitor.
    ASSERTION_MISSING = UNAUTHORIZED, "assertion_missing",
        "The place has ended: a backend must sign the visitor's identity again",
        No, "Send the visitor to a page of your site that signs the identity and joins with it. \
            The waiting page leads to `return_to` for this.";
    /// Gateway check: the visitor has a place, but is not called yet.
    NOT_ADMITTED = FORBIDDEN, "not_admitted", "Not admitted",
        Later, "Send the visitor to the waiting page in `x-anteroom-room`, or repeat the check \
            after `Retry-After`.";
    /// The place is still waiting, so it cannot be claimed.
    NOT_READY = CONFLICT, "not_ready", "It is not this place's turn yet",
        Later, "Poll the place. Claim it when its `status` is `ready`.";
    /// The place is not active, so it cannot be renewed.
    NOT_ACTIVE = CONFLICT, "not_active", "The place is not active",
        No, "Claim the place first.";
    /// `If-Match` names other rules than those in force. `current` has these. Nothing was changed.
    REVISION_CHANGED = PRECONDITION_FAILED, "revision_changed",
        "The rules have changed since you read them",
        No, "Compare `current` with what you want. Then send the call again, with the `ETag` of \
            this answer as `If-Match`.";
    /// The configuration still names the queue, so its data is not removed.
    QUEUE_CONFIGURED = CONFLICT, "queue_configured", "The configuration names this queue",
        No, "Remove the queue from the configuration of all services first.";
    /// The place has ended. `reason` shows why.
    PLACE_GONE = GONE, "place_gone", "The place has ended",
        No, "Join. The new place is at the end of the line. A visitor with a signed identity needs \
            a new one.";
    /// This address has made too many joins, or has too many places.
    JOIN_LIMITED = TOO_MANY_REQUESTS, "join_limited", "Too many joins from this address",
        Later, "Retry after `Retry-After`. Operators: if many visitors get this, check that \
            `trusted_proxies` names your proxy. See also `joins_per_address`, \
            `places_per_address` and `exempt`.";
    /// Too many requests for this place. In the console: too many sign-ins from this address.
    SLOW_DOWN = TOO_MANY_REQUESTS, "slow_down", "Too many requests",
        Later, "Wait for `poll_after_ms` between two polls. Sign in at most 10 times a minute.";
    /// The queue has `max_waiting` places.
    QUEUE_FULL = SERVICE_UNAVAILABLE, "queue_full", "The queue is full",
        Later, "Retry after `Retry-After`.";
    /// The queue takes no joins at this time.
    QUEUE_CLOSED = SERVICE_UNAVAILABLE, "queue_closed", "The queue is closed",
        Later, "Retry after `Retry-After`.";
}

/// What the gate refuses.
pub const GATE: [&[Code]; 6] = [
    TOKEN,
    &[Code::NOT_ADMITTED, Code::PLACE_GONE, Code::SLOW_DOWN],
    &[Code::ASSERTION_MISSING, Code::JOIN_LIMITED, Code::QUEUE_FULL, Code::QUEUE_CLOSED],
    ANY,
    &[Code::UNKNOWN_QUEUE],
    STORE,
];
