//! Requests that the shell answers by itself, before routing.

use anteroom_authorize::problem::{Code, Problem};
use anteroom_authorize::queue::gate;
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use http::header::HOST;
use http::{HeaderMap, StatusCode, Version};

use super::RequestContext;
use crate::metrics::RouteMetrics;
use crate::queue::{QueueState, authorize};

impl RequestContext {
    /// The answer to a request that needs no handler: a preflight of an allowed origin, a request
    /// over the limit, or one without exactly one Host header.
    pub(super) fn refused(&self, request: &Request) -> Option<Response> {
        if self.cors.as_ref().is_some_and(|cors| cors.is_preflight) {
            return Some(StatusCode::NO_CONTENT.into_response());
        }
        let problem = if self.in_flight.is_none() {
            let retry_after = self.shell.app.retries.schedule_default();
            Problem::new(Code::OVERLOADED).retry_after(retry_after)
        } else if request.version() == Version::HTTP_11 && !has_one_host(request.headers()) {
            Problem::new(Code::BAD_REQUEST).detail("a request has exactly one Host header")
        } else {
            return None;
        };
        // A refusal at the gate names the waiting page.
        let is_gate = self.route.info.is_gate();
        let queue = is_gate.then(|| self.shell.app.at::<QueueState>(request.uri().path()).ok());
        Some(refusal(&self.route, problem, queue.flatten().as_deref()))
    }
}

/// HTTP/1.1 wants it (RFC 9112, section 3.2): with none or two of them, a proxy in front and we
/// could take the request for one of different hosts.
fn has_one_host(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    hosts.next().is_some() && hosts.next().is_none()
}

/// A refusal by the shell itself, in the form that the route's callers understand.
pub(super) fn refusal(
    route: &RouteMetrics,
    problem: Problem,
    queue: Option<&QueueState>,
) -> Response {
    if route.info.is_gate() {
        authorize::response(gate::refusal(problem, queue))
    } else {
        problem.into_response()
    }
}
