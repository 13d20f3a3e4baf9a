//! The queue's calls that are nearly all requests, answered without the router.

use std::net::IpAddr;

use anteroom_authorize::problem::Problem;
use anteroom_authorize::queue::gate::{self, Begun, GateRequest};
use anteroom_authorize::queue::visitor::Visitor;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use http::Method;
use http::request::Parts;

use super::authorize::response;
use super::board::{self, BOARD};
use super::caller::ByVisitor;
use super::{authorize as check, backend, calls};
use crate::app::App;
use crate::http::extract::At;
use crate::http::fast_path::{HotCall, HotRoute};
use crate::http::shell::{Handled, ResponseFuture};
use crate::queue::QueueState;

const TOKEN: &str = "/v1/queues/{queue}/token";
const TOKENS: &str = "/v1/queues/{queue}/tokens";

/// Those of visitors and gateways.
pub const PUBLIC: &[HotRoute] = &[
    HotRoute { method: None, template: check::PLAIN, handler: authorize },
    HotRoute { method: Some(Method::GET), template: TOKEN, handler: place },
    HotRoute { method: Some(Method::POST), template: TOKENS, handler: join },
    HotRoute { method: Some(Method::GET), template: BOARD, handler: board },
];

/// Those of backends.
pub const SERVICE: &[HotRoute] =
    &[HotRoute { method: Some(Method::POST), template: TOKENS, handler: join_on_behalf }];

fn authorize(call: HotCall<'_>) -> ResponseFuture {
    let (app, peer) = (call.app().clone(), call.peer);
    call.answer(|request| {
        let (parts, _body) = request.into_parts();
        let queue = match app.at::<QueueState>(parts.uri.path()) {
            Ok(queue) => queue,
            Err(problem) => return Handled::Ready(response(gate::refusal(problem, None))),
        };
        let visitor = Visitor::at_gate(&app.process, queue, &parts.headers, peer);
        match gate::begin(&app.process, &visitor, GateRequest::Http(&parts)) {
            Begun::Answered(answer) => Handled::Ready(response(answer)),
            Begun::NeedsStore(open) => Handled::Pending(async move {
                let request = GateRequest::Http(&parts);
                response(gate::finish(&app.process, &visitor, request, open).await)
            }),
        }
    })
}

fn place(call: HotCall<'_>) -> ResponseFuture {
    let (app, peer) = (call.app().clone(), call.peer);
    call.answer(|request| {
        let held = visitor(&app, &request, peer)
            .and_then(|visitor| Ok((visitor.holder()?.place, visitor)));
        match held {
            Ok((of, visitor)) => match calls::local_place_of(&visitor, of) {
                Some(response) => Handled::Ready(response),
                None => Handled::Pending(calls::place_of(visitor, of).map(answered)),
            },
            Err(problem) => Handled::Ready(problem.into_response()),
        }
    })
}

fn join(call: HotCall<'_>) -> ResponseFuture {
    let app = State(call.app().clone());
    for_visitor(call, |visitor, request| {
        let (Parts { headers, .. }, body) = request.into_parts();
        calls::join(app, ByVisitor(visitor), headers, body)
    })
}

fn board(call: HotCall<'_>) -> ResponseFuture {
    let app = call.app().clone();
    call.answer(|request| match app.at::<QueueState>(request.uri().path()) {
        Ok(queue) => {
            let (Parts { headers, .. }, _body) = request.into_parts();
            Handled::Pending(board::board(At(queue), headers).map(answered))
        }
        Err(problem) => Handled::Ready(problem.into_response()),
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
        Ok(visitor) => Handled::Pending(handler(visitor, request).map(answered)),
        Err(problem) => Handled::Ready(problem.into_response()),
    })
}

fn visitor(app: &App, request: &Request, peer: IpAddr) -> Result<Visitor, Problem> {
    let queue = app.at::<QueueState>(request.uri().path())?;
    Visitor::of(&app.process, queue, request.headers(), peer)
}

fn answered(answer: Result<Response, Problem>) -> Response {
    answer.unwrap_or_else(Problem::into_response)
}
