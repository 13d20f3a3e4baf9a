//! Answers to checks: the body, and the header fields `RateLimit-Policy` and `RateLimit`
//! (draft-ietf-httpapi-ratelimit-headers-11).

use std::fmt::Write as _;
use std::time::Duration;

use anteroom_authorize::durations::{millis, whole_seconds};
use anteroom_authorize::limit::state::LimitState;
use anteroom_core::limit::{Checked, Outcome};
use axum::body::Body;
use axum::response::Response;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use serde::Serialize;
use utoipa::ToSchema;

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = LimitCheck)]
pub struct CheckView {
    /// Whether the call is allowed.
    pub allowed: bool,
    /// The number of units in a window.
    #[schema(minimum = 1, example = 5)]
    pub limit: u32,
    /// The number of units left. 0 in a degraded answer, because it is unknown.
    #[schema(example = 4)]
    pub remaining: u32,
    /// Milliseconds until all units are available, if no more are taken.
    #[schema(example = 60_000)]
    pub reset_ms: u64,
    /// Milliseconds until the call would be allowed, if no more units are taken. 0 if it is
    /// allowed.
    #[schema(example = 0)]
    pub retry_after_ms: u64,
    /// True if a limit in shadow mode would have refused the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shadow: Option<bool>,
    /// True if Redis was down and `on_store_error` decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degraded: Option<bool>,
}

/// The result of several checks: the tightest one, and each of them in the order of the request.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LimitChecks)]
pub struct ChecksView {
    /// Whether the whole call is allowed. The figures are those of the check with the fewest units
    /// left. If the call is refused, they are those of the check that refuses longest.
    #[serde(flatten)]
    pub tightest: CheckView,
    /// Each check. If the call is refused, `allowed` shows which checks were not the reason.
    pub results: Vec<CheckView>,
}

impl CheckView {
    /// The result that Redis returned.
    pub fn new(limit: u32, checked: &Checked) -> Self {
        let allowed = checked.outcome != Outcome::Refused;
        Self {
            allowed,
            limit,
            remaining: checked.remaining,
            reset_ms: millis(checked.reset),
            retry_after_ms: if allowed { 0 } else { millis(checked.retry_after) },
            shadow: (checked.outcome == Outcome::ShadowRefused).then_some(true),
            degraded: None,
        }
    }

    /// The answer while Redis is down: refused for this time, or allowed.
    pub fn degraded(limit: u32, refused_for: Option<Duration>) -> Self {
        let wait = refused_for.map_or(0, millis);
        Self {
            allowed: refused_for.is_none(),
            limit,
            remaining: 0,
            reset_ms: wait,
            retry_after_ms: wait,
            shadow: None,
            degraded: Some(true),
        }
    }

    /// The answer: 200, or 429 with `Retry-After`.
    pub fn response(&self, limit: &LimitState) -> Response {
        let mut response = response(self.allowed, self.retry_after_ms, serde_json::to_vec(self));
        let headers = response.headers_mut();
        headers.insert(POLICY, limit.policy.clone());
        if self.degraded.is_none() {
            let mut items = String::with_capacity(64);
            self.append(&limit.name, &mut items);
            headers.insert(LIMIT, header(items));
        }
        response
    }

    /// Appends what is left of the limit, as a list item of `RateLimit`.
    fn append(&self, name: &str, items: &mut String) {
        // Of a refusal no later than `Retry-After`, which it must not contradict.
        let window = if self.allowed { self.reset_ms } else { self.retry_after_ms };
        let (remaining, seconds) = (self.remaining, window.div_ceil(1_000));
        // Writing into a String cannot fail.
        let _ = write!(items, "\"{name}\";r={remaining};t={seconds}");
    }
}

impl ChecksView {
    /// The results and the tightest of them.
    pub fn new(results: Vec<CheckView>) -> Self {
        let looser =
            |view: &&CheckView| (view.allowed, u64::MAX - view.retry_after_ms, view.remaining);
        let tightest = results.iter().min_by_key(looser).copied();
        // A call has a check; without one nothing would be allowed.
        let tightest = tightest.unwrap_or(CheckView::degraded(0, Some(Duration::ZERO)));
        let degraded = results.iter().any(|view| view.degraded.is_some()).then_some(true);
        Self { tightest: CheckView { degraded, ..tightest }, results }
    }

    /// The answer: 200, or 429 with `Retry-After`. The fields name each limit once, with the check
    /// that has the fewest units left.
    pub fn response(&self, limits: &[&LimitState]) -> Response {
        let Self { tightest, results } = self;
        let body = serde_json::to_vec(self);
        let mut response = response(tightest.allowed, tightest.retry_after_ms, body);
        let (mut policies, mut items) = (Vec::new(), String::new());
        for (at, limit) in limits.iter().enumerate() {
            let same = |other: &LimitState| other.name == limit.name;
            if limits[..at].iter().any(|other| same(other)) {
                continue;
            }
            let of_it = limits.iter().zip(results).filter(|(other, _)| same(other));
            let least = of_it.map(|(_, view)| view).min_by_key(|view| view.remaining);
            policies.push(limit.policy.as_bytes());
            if let Some(view) = least {
                if !items.is_empty() {
                    items.push_str(", ");
                }
                view.append(&limit.name, &mut items);
            }
        }
        let headers = response.headers_mut();
        let policies = HeaderValue::from_bytes(&policies.join(&b", "[..]));
        headers.insert(POLICY, policies.unwrap_or(HeaderValue::from_static("")));
        if tightest.degraded.is_none() {
            headers.insert(LIMIT, header(items));
        }
        response
    }
}

fn response(allowed: bool, retry_after_ms: u64, body: serde_json::Result<Vec<u8>>) -> Response {
    // Flags and numbers only: this cannot fail.
    let mut response = Response::new(Body::from(body.unwrap_or_default()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if !allowed {
        let after = whole_seconds(Duration::from_millis(retry_after_ms));
        headers.insert(RETRY_AFTER, HeaderValue::from(after));
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    }
    response
}

/// Names and numbers are always a header's.
fn header(text: String) -> HeaderValue {
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(allowed: bool, remaining: u32, retry_after_ms: u64) -> CheckView {
        let degraded = CheckView::degraded(9, None);
        CheckView { allowed, remaining, retry_after_ms, degraded: None, ..degraded }
    }

    #[test]
    fn the_tightest_refuses_longest_or_has_least_left() {
        let (few, many) = (view(true, 1, 0), view(true, 7, 0));
        let (short, long) = (view(false, 0, 10), view(false, 3, 20));
        for (results, tightest) in
            [(vec![many, few], few), (vec![few, short, long], long), (vec![short], short)]
        {
            assert_eq!(ChecksView::new(results).tightest, tightest);
        }
    }
}
