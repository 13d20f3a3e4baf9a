//! Every way a request can be refused: one exhaustive table from code to status and title. A caller
//! decides by the code's name, which is also its label in metrics.

use http::StatusCode;

/// Declares the table: each code with its status, its stable name and its title.
macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $status:ident, $name:literal, $title:literal;)*) => {
        /// Why a request was refused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code { $($(#[$doc])* $variant,)* }

        impl Code {
            /// Every code, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The status of the answer, except at the gate (see [`Code::gate_status`]).
            pub fn status(self) -> StatusCode {
                match self { $(Self::$variant => StatusCode::$status,)* }
            }

            /// The stable name: the `code` member of the body, and the label in metrics.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it means, for people.
            pub fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }
        }
    };
}

codes! {
    /// The request is malformed outside its body: a parameter, a header, the path.
    BadRequest = BAD_REQUEST, "bad_request", "The request is malformed";
    /// The body is not the JSON that the call takes; the detail names the field.
    InvalidBody = BAD_REQUEST, "invalid_body", "The body is not what this call takes";
    /// No token came with a call that needs one.
    TokenMissing = UNAUTHORIZED, "token_missing", "No token was sent";
    /// The token was not signed by us for this queue.
    TokenInvalid = UNAUTHORIZED, "token_invalid", "The token is not valid for this queue";
    /// The assertion was not signed by a trusted backend for this queue, or is out of date.
    AssertionInvalid = UNAUTHORIZED, "assertion_invalid", "The assertion is not valid for this queue";
    /// The token's place is over, and its visitor is one for whom a backend must vouch anew.
    AssertionMissing = UNAUTHORIZED, "assertion_missing", "The place is over: the visitor must be vouched for anew";
    /// The service port needs a key and none came.
    KeyMissing = UNAUTHORIZED, "key_missing", "No key was sent";
    /// The key is not one of the configured ones.
    KeyInvalid = UNAUTHORIZED, "key_invalid", "The key is not valid";
    /// The key's role or scopes do not cover this call.
    KeyForbidden = FORBIDDEN, "key_forbidden", "The key does not allow this call";
    /// A request that came through a proxy reached the service port, which has no keys.
    ForwardedRefused = FORBIDDEN, "forwarded_refused", "Forwarded requests are refused on this port";
    /// A changing call authenticated by cookie came from another site.
    OriginRefused = FORBIDDEN, "origin_refused", "The request came from an origin that is not allowed";
    /// The gate: it is not this visitor's turn.
    NotAdmitted = FORBIDDEN, "not_admitted", "Not admitted";
    /// No such resource.
    NotFound = NOT_FOUND, "not_found", "There is nothing at this address";
    /// No queue of that name is configured.
    UnknownQueue = NOT_FOUND, "unknown_queue", "There is no such queue";
    /// The address is right, the method is not.
    MethodNotAllowed = METHOD_NOT_ALLOWED, "method_not_allowed", "The method is not allowed here";
    /// The body did not arrive in time.
    BodyTimeout = REQUEST_TIMEOUT, "body_timeout", "The body did not arrive in time";
    /// A claim of a place that still waits.
    NotReady = CONFLICT, "not_ready", "It is not this place's turn yet";
    /// A renewal of a place that is not active.
    NotActive = CONFLICT, "not_active", "The place is not active";
    /// A purge of a queue that the configuration names.
    QueueConfigured = CONFLICT, "queue_configured", "The configuration names this queue";
    /// The place is over; `reason` says why.
    PlaceGone = GONE, "place_gone", "The place is gone";
    /// The body is longer than 16 KiB.
    BodyTooLarge = PAYLOAD_TOO_LARGE, "body_too_large", "The body is too large";
    /// The body is not declared as JSON.
    UnsupportedMediaType = UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", "The body must be application/json";
    /// A field of the body holds a value that its rule forbids; the detail names both.
    InvalidValue = UNPROCESSABLE_ENTITY, "invalid_value", "A value is not allowed";
    /// Too many joins from this address.
    JoinLimited = TOO_MANY_REQUESTS, "join_limited", "Too many joins from this address";
    /// Too many requests for this place.
    SlowDown = TOO_MANY_REQUESTS, "slow_down", "Too many requests for this place";
    /// A fault on our side.
    Internal = INTERNAL_SERVER_ERROR, "internal", "Something went wrong on our side";
    /// Past a cap on connections, concurrency or calls in flight; nothing was done.
    Overloaded = SERVICE_UNAVAILABLE, "overloaded", "Too many requests at the moment";
    /// The store is away; nothing was done.
    StoreUnavailable = SERVICE_UNAVAILABLE, "store_unavailable", "The store is not available";
    /// The queue holds `max_waiting` places.
    QueueFull = SERVICE_UNAVAILABLE, "queue_full", "The queue is full";
    /// The queue takes no joins at the moment.
    QueueClosed = SERVICE_UNAVAILABLE, "queue_closed", "The queue is closed";
    /// The store did not answer; the call may have had its effect. Asking again is harmless.
    EffectUnknown = GATEWAY_TIMEOUT, "effect_unknown", "The effect of the call is not known";
    /// The request took longer than `request_timeout`.
    RequestTimeout = GATEWAY_TIMEOUT, "request_timeout", "The request took too long";
}

impl Code {
    /// The status at the gate. Gateways turn anything but 401 and 403 into an error of their own,
    /// and some fail open on 5xx, so a refusal is never anything else there.
    pub fn gate_status(self) -> StatusCode {
        match self.status() {
            StatusCode::UNAUTHORIZED => StatusCode::UNAUTHORIZED,
            _ => StatusCode::FORBIDDEN,
        }
    }

    /// Whether the fault is ours: such answers count against the success rate.
    pub fn is_our_fault(self) -> bool {
        match self {
            Self::Internal
            | Self::Overloaded
            | Self::StoreUnavailable
            | Self::EffectUnknown
            | Self::RequestTimeout => true,
            Self::BadRequest
            | Self::InvalidBody
            | Self::TokenMissing
            | Self::TokenInvalid
            | Self::AssertionInvalid
            | Self::AssertionMissing
            | Self::KeyMissing
            | Self::KeyInvalid
            | Self::KeyForbidden
            | Self::ForwardedRefused
            | Self::OriginRefused
            | Self::NotAdmitted
            | Self::NotFound
            | Self::UnknownQueue
            | Self::MethodNotAllowed
            | Self::BodyTimeout
            | Self::NotReady
            | Self::NotActive
            | Self::QueueConfigured
            | Self::PlaceGone
            | Self::BodyTooLarge
            | Self::UnsupportedMediaType
            | Self::InvalidValue
            | Self::JoinLimited
            | Self::SlowDown
            | Self::QueueFull
            | Self::QueueClosed => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_code_has_its_own_name_and_an_error_status() {
        let names: HashSet<_> = Code::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for &code in Code::ALL {
            let status = code.status();
            assert!(status.is_client_error() || status.is_server_error(), "{code:?}");
            assert!(code.name().bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{code:?}");
            assert_eq!(
                code.is_our_fault(),
                code.status().is_server_error() && !is_rule(code),
                "{code:?}"
            );
        }
    }

    #[test]
    fn every_code_stands_in_the_readme_with_its_status() {
        let readme = include_str!("../../../../README.md");
        for &code in Code::ALL {
            let row = format!("| `{}` | {} |", code.name(), code.status().as_u16());
            assert!(readme.contains(&row), "{row}");
        }
    }

    /// A 503 that says no by a rule of the queue is no fault of ours.
    fn is_rule(code: Code) -> bool {
        matches!(code, Code::QueueFull | Code::QueueClosed)
    }
}
