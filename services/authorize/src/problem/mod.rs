//! A refusal on its way out: a [`Code`], and the details of this request.
//!
//! The body is `application/problem+json` (RFC 9457) with a stable `code` member. A caller decides
//! by `code`; `title` and `detail` are for people and may change.

pub mod code;
pub mod edge;
pub mod event;
pub mod limit;
pub mod pool;
pub mod queue;
#[cfg(test)]
mod reference;
pub mod retry;
pub mod store;
pub mod target;

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, Response, StatusCode};
use serde::Serialize;

use anteroom_core::queue::GoneReason;

use crate::durations::{millis, whole_seconds};

pub use self::code::Code;

/// The page that explains errors. One for the process: a refusal is made where no configuration is
/// at hand.
static DOCS_URL: ArcSwapOption<String> = ArcSwapOption::const_empty();

/// Sets the page that explains errors; empty for none.
pub fn set_docs_url(page: &str) {
    DOCS_URL.store((!page.is_empty()).then(|| Arc::new(page.to_owned())));
}

/// The body of a refusal, as the API document shows it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "http-api", derive(utoipa::ToSchema), schema(as = Problem))]
pub struct ProblemBody<'a> {
    /// `urn:anteroom:problem:` and the code.
    #[cfg_attr(feature = "http-api", schema(example = "urn:anteroom:problem:not_ready"))]
    r#type: String,
    /// What the code means, for people.
    title: &'static str,
    /// The status of the answer.
    status: u16,
    /// The stable code: what a caller decides by.
    code: &'static str,
    /// What was wrong with this request, or what to do, for people.
    detail: &'a str,
    /// Why a place has ended: completed, left, unclaimed, expired, abandoned, evicted, lost or
    /// ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// The page that explains this error.
    #[cfg_attr(feature = "http-api", schema(example = "https://docs.example/errors.md#not_ready"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    docs: Option<String>,
    /// When to ask again, in milliseconds; `Retry-After` says the same in whole seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    /// What is in force, with `revision_changed`.
    #[cfg_attr(feature = "http-api", schema(value_type = Option<Object>))]
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<&'a serde_json::Value>,
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
    current: Option<serde_json::Value>,
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
            current: None,
        }))
    }

    /// 422: a field breaks its rule.
    pub fn invalid_value(rule: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::INVALID_VALUE).detail(rule)
    }

    /// 410 with the reason.
    pub fn gone(reason: GoneReason) -> Self {
        Self::new(Code::PLACE_GONE).reason(reason)
    }

    /// 500 after a panic; its message is for the log.
    pub fn panicked(panic: &(dyn Any + Send)) -> Self {
        let message = panic
            .downcast_ref::<&'static str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let cause = format!("panic: {}", message.unwrap_or("without a message"));
        Self::new(Code::INTERNAL).cause(cause)
    }

    /// Says what was wrong with this request. Never put secrets or long input here.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<Cow<'static, str>>) -> Self {
        self.0.detail = Some(detail.into());
        self
    }

    /// What was wrong with this request; empty if the remedy of the code says it all.
    pub fn detail_text(&self) -> &str {
        self.0.detail.as_deref().unwrap_or_default()
    }

    /// Says why the place is gone.
    #[must_use]
    pub fn reason(mut self, reason: GoneReason) -> Self {
        self.0.reason = Some(reason);
        self
    }

    /// Says when to retry, within an hour; also sent as `Retry-After`.
    #[must_use]
    pub fn retry_after(mut self, after: Duration) -> Self {
        // In whole milliseconds, so that body and header say the same.
        self.0.retry_after = Some(Duration::from_millis(millis(after.min(retry::MAX_DELAY))));
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

    /// Says what is in force, instead of what the caller expects.
    #[must_use]
    pub fn current(mut self, current: serde_json::Value) -> Self {
        self.0.current = Some(current);
        self
    }

    /// The code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// Why the place has ended, if that is the refusal.
    pub fn gone_reason(&self) -> Option<GoneReason> {
        self.0.reason
    }

    /// When to retry, if that is known.
    pub fn retry_delay(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The answer. Its extensions have the [`Code`], and the [`Cause`] if there is one.
    pub fn into_answer(self) -> Response<Bytes> {
        let inner = *self.0;
        let status = if inner.at_gate { inner.code.gate_status() } else { inner.code.status() };
        let body = ProblemBody {
            r#type: format!("urn:anteroom:problem:{}", inner.code.name()),
            title: inner.code.title(),
            status: status.as_u16(),
            code: inner.code.name(),
            detail: inner.detail.as_deref().unwrap_or(inner.code.remedy()),
            reason: inner.reason.map(GoneReason::name),
            docs: DOCS_URL.load().as_deref().map(|page| format!("{page}#{}", inner.code.name())),
            retry_after_ms: inner.retry_after.map(millis),
            current: inner.current.as_ref(),
        };
        // All keys are strings: this cannot fail, and an empty body would still carry the status.
        let body = serde_json::to_vec(&body).unwrap_or_default();
        let mut response = Response::new(Bytes::from(body));
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

#[cfg(feature = "http-api")]
impl axum_core::response::IntoResponse for Problem {
    fn into_response(self) -> axum_core::response::Response {
        self.into_answer().map(axum_core::body::Body::from)
    }
}

#[cfg(test)]
mod tests {
    use super::code::all_codes;
    use super::*;

    fn body(answer: &Response<Bytes>) -> serde_json::Value {
        serde_json::from_slice(answer.body()).expect("JSON")
    }

    #[test]
    fn the_gate_answers_401_or_403_whatever_the_code() {
        for code in all_codes() {
            let status = Problem::new(code).at_gate().into_answer().status().as_u16();
            assert!(status == 401 || status == 403, "{code:?} gave {status}");
        }
    }

    #[test]
    fn the_body_says_code_reason_and_when_to_come_back() {
        let response = Problem::gone(GoneReason::Lost)
            .detail("join again")
            .retry_after(Duration::from_millis(1_500))
            .into_answer();
        assert_eq!(response.status(), StatusCode::GONE);
        assert_eq!(response.headers()[CONTENT_TYPE], "application/problem+json");
        assert_eq!(response.headers()[RETRY_AFTER], "2");
        assert_eq!(
            body(&response),
            serde_json::json!({
                "type": "urn:anteroom:problem:place_gone",
                "title": "The place has ended",
                "status": 410,
                "code": "place_gone",
                "detail": "join again",
                "reason": "lost",
                "retry_after_ms": 1500,
            })
        );
    }

    #[test]
    fn header_and_body_say_the_same_time_within_an_hour() {
        for (after, ms, seconds) in
            [(Duration::from_nanos(4_000_000_300), 4_000, "4"), (Duration::MAX, 3_600_000, "3600")]
        {
            let response = Problem::new(Code::QUEUE_CLOSED).retry_after(after).into_answer();
            assert_eq!(response.headers()[RETRY_AFTER], seconds);
            assert_eq!(body(&response)["retry_after_ms"], ms);
        }
    }
}
