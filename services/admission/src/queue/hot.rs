//! The queue's calls that are nearly all requests, answered without the router.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use http::Method;
use http::request::Parts;

use super::gate::Begun;
use super::visitor::Visitor;
use super::{backend, calls, gate};
use crate::app::App;
use crate::http::fast_path::{HotCall, HotRoute};
use crate::http::shell::{Handled, ResponseFuture};
use crate::problem::Problem;

const TOKEN: &str = "/v1/queues/{queue}/token";
const TOKENS: &str = "/v1/queues/{queue}/tokens";

/// Those of visitors and gateways.
pub const PUBLIC: &[HotRoute] = &[
    HotRoute { method: None, template: gate::PLAIN, handler: authorize },
    HotRoute { method: Some(Method::GET), template: TOKEN, handler: place },
    HotRoute { method: Some(Method::POST), template: TOKENS, handler: join },
];

/// Those of backends.
pub const SERVICE: &[HotRoute] =
    &[HotRoute { method: Some(Method::POST), template: TOKENS, handler: join_on_behalf }];

fn authorize(call: HotCall<'_>) -> ResponseFuture {
    let (app, peer) = (call.app().clone(), call.peer);
    call.answer(|request| {
        let (uri, headers) = (request.uri(), request.headers());
        let visitor = match Visitor::at_gate(&app, uri, headers, Some(peer)) {
            Ok(visitor) => visitor,
            Err(problem) => return Handled::Ready(gate::refusal(problem, None)),
        };
        let (parts, _body) = request.into_parts();
        match gate::begin(&app, &visitor, &parts) {
            Begun::Answered(response) => Handled::Ready(response),
            Begun::NeedsStore(open) => {
                Handled::Pending(async move { gate::finish(&app, &visitor, &parts, open).await })
            }
        }
    })
}

fn place(call: HotCall<'_>) -> ResponseFuture {
    for_visitor(call, |visitor, _| calls::place(visitor))
}

fn join(call: HotCall<'_>) -> ResponseFuture {
    let app = State(call.app().clone());
    for_visitor(call, |visitor, request| {
        let (Parts { headers, .. }, body) = request.into_parts();
        calls::join(app, visitor, headers, body)
    })
}

fn join_on_behalf(call: HotCall<'_>) -> ResponseFuture {
    let app = State(call.app().clone());
    call.for_backend(|backend, body| backend::join(app, backend, body))
}

/// The answer of `handler` to the visitor who sent the request.
fn for_visitor<F>(call: HotCall<'_>, handler: impl FnOnce(Visitor, Request) -> F) -> ResponseFuture
where
    F: Future<Output = Result<Response, Problem>> + Send + 'static,
{
    let (app, peer) = (call.app(), call.peer);
    call.answer(|request| match visitor(app, &request, peer) {
        Ok(visitor) => Handled::Pending(handler(visitor, request).map(response)),
        Err(problem) => Handled::Ready(problem.into_response()),
    })
}

fn visitor(app: &App, request: &Request, peer: IpAddr) -> Result<Visitor, Problem> {
    Visitor::of(app, request.uri(), request.headers(), Some(peer))
}

fn response(answer: Result<Response, Problem>) -> Response {
    answer.unwrap_or_else(Problem::into_response)
}
