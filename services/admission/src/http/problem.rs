//! Every way a request can be refused: one exhaustive table from code to status and title.
//!
//! The body is `application/problem+json` (RFC 9457) with a stable `code` member. A caller decides
//! by `code`; `title` and `detail` are for people and may change.

use std::borrow::Cow;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use utoipa::ToSchema;

use anteroom_core::queue::GoneReason;
use anteroom_core::store;

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

/// The body of a refusal, as the API document shows it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemBody<'a> {
    /// `urn:anteroom:problem:` and the code.
    #[schema(example = "urn:anteroom:problem:not_ready")]
    r#type: String,
    /// What the code means, for people.
    title: &'static str,
    /// The status of the answer.
    status: u16,
    /// The stable code: what a caller decides by.
    code: &'static str,
    /// What was wrong with this very request, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    /// Why a place is gone: completed, left, unclaimed, expired, abandoned, evicted, lost or ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// When to ask again, in milliseconds; `Retry-After` says the same in whole seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
}

/// A refusal on its way out.
#[derive(Debug)]
pub struct Problem(Box<Inner>);

#[derive(Debug)]
struct Inner {
    code: Code,
    detail: Option<Cow<'static, str>>,
    reason: Option<GoneReason>,
    retry_after: Option<Duration>,
    headers: HeaderMap,
    cause: Option<String>,
    at_gate: bool,
}

/// What went wrong on our side, for the log line of the shell; it never reaches the caller.
#[derive(Clone, Debug)]
pub struct Cause(pub String);

impl Problem {
    /// A refusal with nothing to add to its title.
    pub fn new(code: Code) -> Self {
        Self(Box::new(Inner {
            code,
            detail: None,
            reason: None,
            retry_after: None,
            headers: HeaderMap::new(),
            cause: None,
            at_gate: false,
        }))
    }

    /// 410 with the reason.
    pub fn gone(reason: GoneReason) -> Self {
        Self::new(Code::PlaceGone).reason(reason)
    }

    /// Says what was wrong with this request. Never put secrets or long input here.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<Cow<'static, str>>) -> Self {
        self.0.detail = Some(detail.into());
        self
    }

    /// Says why the place is gone.
    #[must_use]
    pub fn reason(mut self, reason: GoneReason) -> Self {
        self.0.reason = Some(reason);
        self
    }

    /// Says when to ask again; also sent as `Retry-After`.
    #[must_use]
    pub fn retry_after(mut self, after: Duration) -> Self {
        self.0.retry_after = Some(after);
        self
    }

    /// What to write into the log; the caller never sees it.
    #[must_use]
    pub fn cause(mut self, cause: impl Into<String>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// Adds a header to the answer, such as the `Set-Cookie` that takes a dead token away.
    #[must_use]
    pub fn header(mut self, name: http::HeaderName, value: HeaderValue) -> Self {
        self.0.headers.append(name, value);
        self
    }

    /// Makes it an answer of the gate: 401 or 403, never anything else.
    #[must_use]
    pub fn at_gate(mut self) -> Self {
        self.0.at_gate = true;
        self
    }

    /// The code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// When to ask again, if that is known.
    pub fn when(&self) -> Option<Duration> {
        self.0.retry_after
    }
}

/// How long to wait before a call that the store or a cap refused is worth another try.
pub const RETRY_SOON: Duration = Duration::from_secs(1);

impl From<store::Error> for Problem {
    fn from(error: store::Error) -> Self {
        let code = match &error {
            store::Error::Unavailable(_) => Code::StoreUnavailable,
            store::Error::Unknown(_) => Code::EffectUnknown,
            store::Error::Overloaded => Code::Overloaded,
            store::Error::Reply { .. } => Code::Internal,
        };
        let problem = Self::new(code).cause(error.to_string());
        if code == Code::Internal { problem } else { problem.retry_after(RETRY_SOON) }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let inner = *self.0;
        let status = if inner.at_gate { inner.code.gate_status() } else { inner.code.status() };
        let body = ProblemBody {
            r#type: format!("urn:anteroom:problem:{}", inner.code.name()),
            title: inner.code.title(),
            status: status.as_u16(),
            code: inner.code.name(),
            detail: inner.detail.as_deref(),
            reason: inner.reason.map(GoneReason::name),
            retry_after_ms: inner.retry_after.map(millis),
        };
        // Strings and numbers only: this cannot fail, and an empty body would still carry the status.
        let body = serde_json::to_vec(&body).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        *headers = inner.headers;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"anteroom\""));
        }
        if let Some(after) = inner.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(whole_seconds(after)));
        }
        response.extensions_mut().insert(inner.code);
        if let Some(cause) = inner.cause {
            response.extensions_mut().insert(Cause(cause));
        }
        response
    }
}

/// A duration in whole milliseconds.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A duration in whole seconds, rounded up and at least one: what `Retry-After` can say.
pub fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs().saturating_add(u64::from(duration.subsec_nanos() > 0)).max(1)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use http_body_util::BodyExt as _;

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

    /// A 503 that says no by a rule of the queue is no fault of ours.
    fn is_rule(code: Code) -> bool {
        matches!(code, Code::QueueFull | Code::QueueClosed)
    }

    #[test]
    fn the_gate_answers_401_or_403_whatever_the_code() {
        for &code in Code::ALL {
            let status = Problem::new(code).at_gate().into_response().status().as_u16();
            assert!(status == 401 || status == 403, "{code:?} gave {status}");
        }
    }

    #[tokio::test]
    async fn the_body_says_code_reason_and_when_to_come_back() {
        let response = Problem::gone(GoneReason::Lost)
            .detail("join again")
            .retry_after(Duration::from_millis(1_500))
            .into_response();
        assert_eq!(response.status(), StatusCode::GONE);
        assert_eq!(response.headers()[CONTENT_TYPE], "application/problem+json");
        assert_eq!(response.headers()[RETRY_AFTER], "2");
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        let body: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!(
            body,
            serde_json::json!({
                "type": "urn:anteroom:problem:place_gone",
                "title": "The place is gone",
                "status": 410,
                "code": "place_gone",
                "detail": "join again",
                "reason": "lost",
                "retry_after_ms": 1500,
            })
        );
    }

    #[test]
    fn retry_after_is_never_zero() {
        assert_eq!(whole_seconds(Duration::ZERO), 1);
        assert_eq!(whole_seconds(Duration::from_secs(3)), 3);
        assert_eq!(whole_seconds(Duration::from_millis(3_001)), 4);
    }
}
