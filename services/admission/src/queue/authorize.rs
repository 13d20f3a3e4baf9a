//! `…/authorize`: the gateway check over HTTP.

use std::sync::Arc;

use anteroom_authorize::queue::gate::{self, Begun, GateRequest};
use anteroom_authorize::queue::visitor::Visitor;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::Response;

use super::problems::GateProblems;
use crate::app::App;
use crate::http::extract::Peer;
use crate::queue::QueueState;

/// Where a gateway asks that says the original path in a header, if at all.
pub const PLAIN: &str = "/v1/queues/{queue}/authorize";
/// Where one asks that puts the original path behind ours.
pub const BEHIND: &str = "/v1/queues/{queue}/authorize/{*path}";
/// The original path may be `/`, which a wildcard does not match. The document leaves this out, and
/// has a form of its own for the one above.
pub const BEHIND_ROOT: &str = "/v1/queues/{queue}/authorize/";

/// Authorize a request of a visitor.
///
/// For gateways. Any method; the body is ignored. A visitor whose turn has come enters. 200 has the
/// headers `x-anteroom-visitor` (the visitor_id, or the ticket of an anonymous visitor),
/// `x-anteroom-visitor-kind` (`identified` or `anonymous`), `x-anteroom-place` (the place handle
/// for the service port; not a token) and `x-anteroom-expires-in` (seconds). 401 and 403 have
/// `x-anteroom-room` (the address of the waiting page) and `x-anteroom-refusal` (the error code).
#[utoipa::path(
    method(get, put, post, delete, options, head, patch, trace),
    path = "/v1/queues/{queue}/authorize", tag = "gateways",
    params(
        ("join" = Option<String>, Query,
            description = "1: a visitor who opens a page and has no place joins"),
        ("on_refusal" = Option<String>, Query,
            description = "redirect: 302 to the waiting page for navigations"),
    ),
    security((), ("token" = []), ("cookie" = [])),
    responses(
        (status = 200, description = "allowed"),
        (status = 302, description = "a navigation is refused, and `on_refusal=redirect` is set"),
        GateProblems,
    ),
)]
pub async fn authorize(State(app): State<Arc<App>>, request: Request) -> Response {
    let (parts, _body) = request.into_parts();
    let queue = match app.at::<QueueState>(parts.uri.path()) {
        Ok(queue) => queue,
        Err(problem) => return response(gate::refusal(problem, None)),
    };
    let visitor = Visitor::at_gate(&app.process, queue, &parts.headers, Peer::in_any(&parts));
    let request = GateRequest::Http(&parts);
    response(match gate::begin(&app.process, &visitor, request) {
        Begun::Answered(answer) => answer,
        Begun::NeedsStore(open) => gate::finish(&app.process, &visitor, request, open).await,
    })
}

/// An answer of the check as axum has it.
pub fn response(answer: http::Response<Bytes>) -> Response {
    answer.map(|body| if body.is_empty() { Body::empty() } else { Body::from(body) })
}

/// Authorize a request; the original path follows the address.
///
/// For gateways such as Envoy that append the visitor's path. The waiting page sends the visitor
/// back to this path. The query is the visitor's own: set options in the header `x-anteroom-gate`,
/// and overwrite the client's value of it.
#[utoipa::path(
    method(get, put, post, delete, options, head, patch, trace),
    path = "/v1/queues/{queue}/authorize/{path}", tag = "gateways",
    params(
        ("path" = String, Path, description = "the original path, with slashes"),
        ("x-anteroom-gate" = Option<String>, Header,
            description = "with commas between: join (a visitor who opens a page and has no \
                place joins), redirect (302 to the waiting page for navigations)"),
    ),
    security((), ("token" = []), ("cookie" = [])),
    responses(
        (status = 200, description = "allowed"),
        (status = 302, description = "a navigation is refused, and `redirect` is set"),
        GateProblems,
    ),
)]
pub async fn authorize_behind(state: State<Arc<App>>, request: Request) -> Response {
    authorize(state, request).await
}
