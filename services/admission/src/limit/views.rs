//! Answers to checks: the body, and the header fields.

use std::time::Duration;

use anteroom_authorize::durations::{millis, whole_seconds};
use anteroom_authorize::limit::{LIMIT, Left, LimitState, POLICY, policies, remaining};
use anteroom_core::limit::{Checked, Outcome};
use axum::body::Body;
use axum::response::Response;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use serde::Serialize;
use utoipa::ToSchema;

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
        let body = serde_json::to_vec(self);
        response(self, body, &[(limit, self.left())])
    }

    fn left(&self) -> Left {
        let reset_ms = if self.allowed { self.reset_ms } else { self.retry_after_ms };
        Left { units: self.remaining, reset: Duration::from_millis(reset_ms) }
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

    /// The answer: 200, or 429 with `Retry-After`.
    pub fn response(&self, limits: &[&LimitState]) -> Response {
        let left = self.results.iter().map(CheckView::left);
        let checks: Vec<_> = limits.iter().copied().zip(left).collect();
        response(&self.tightest, serde_json::to_vec(self), &checks)
    }
}

fn response(
    view: &CheckView,
    body: serde_json::Result<Vec<u8>>,
    checks: &[(&LimitState, Left)],
) -> Response {
    // Flags and numbers only: this cannot fail.
    let mut response = Response::new(Body::from(body.unwrap_or_default()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(POLICY, policies(checks.iter().map(|(limit, _)| *limit)));
    if view.degraded.is_none() {
        headers.insert(LIMIT, remaining(checks));
    }
    if !view.allowed {
        let after = whole_seconds(Duration::from_millis(view.retry_after_ms));
        headers.insert(RETRY_AFTER, HeaderValue::from(after));
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    }
    response
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
