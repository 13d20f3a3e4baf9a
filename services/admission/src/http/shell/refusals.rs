//! Requests that the shell answers by itself, before routing.

use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use http::header::{HOST, HeaderValue};
use http::{HeaderMap, Version};

use super::RequestContext;
use crate::callers::origin::Cors;
use crate::metrics::RouteMetrics;
use crate::problem::{Code, Problem};
use crate::queue::gate;

impl RequestContext {
    /// The answer to a request that needs no handler: a preflight of an allowed origin, a request
    /// over the limit, or one without exactly one Host header.
    pub(super) fn refused(&self, request: &Request) -> Option<Response> {
        if let Some(preflight) = self.cors.as_ref().and_then(Cors::preflight) {
            return Some(preflight);
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
        let room = is_gate.then(|| gate::room_of(&self.shell.app, request.uri().path())).flatten();
        Some(refusal(&self.route, problem, room))
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
    room: Option<HeaderValue>,
) -> Response {
    if route.info.is_gate() { gate::refusal(problem, room) } else { problem.into_response() }
}
