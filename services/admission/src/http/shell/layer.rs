//! The shell around a router, as a layer.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::extract::{MatchedPath, Request};
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use http::HeaderValue;
use tower::{Layer, Service};

use super::{Passage, Shell};
use crate::http::gate;
use crate::http::problem::{Code, Problem};
use crate::metrics::RouteMetrics;
use crate::origin::Cors;

/// Puts a [`Shell`] around a router.
#[derive(Clone)]
pub struct ShellLayer(pub Arc<Shell>);

impl<S> Layer<S> for ShellLayer {
    type Service = ShellService<S>;

    fn layer(&self, inner: S) -> Self::Service {
        ShellService { inner, shell: self.0.clone() }
    }
}

/// A route with its [`Shell`] around it.
#[derive(Clone)]
pub struct ShellService<S> {
    inner: S,
    shell: Arc<Shell>,
}

impl<S> Service<Request> for ShellService<S>
where
    S: Service<Request, Response = Response, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let shell = &self.shell;
        let template = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
        let route = shell.route(template);
        let passage = shell.enter(route.clone(), request.method(), request.headers());
        if let Some(turned_away) = turned_away(&passage) {
            // Whoever is turned away at the gate for want of room is sent to the waiting page.
            let room = || gate::room_of(shell.app(), request.uri().path());
            let refuse = |problem| refusal(&route, problem, room());
            let answer = passage.mark(turned_away.unwrap_or_else(refuse));
            return Box::pin(std::future::ready(Ok(answer)));
        }
        let limit = shell.request_timeout;
        let returning = shell.app().returning.clone();
        let answer = tokio::time::timeout(limit, self.inner.call(request)).map(move |answer| {
            // The inner service cannot fail.
            answer.map(|Ok(response)| response).map_err(|_| {
                Problem::new(Code::RequestTimeout).retry_after(returning.tell_anybody())
            })
        });
        let refuse = move |problem| refusal(&route, problem, None);
        Box::pin(passage.answered_by(answer, refuse).map(Ok))
    }
}

/// What needs no handler: a preflight of an allowed origin, and one request too many.
fn turned_away(passage: &Passage) -> Option<Result<Response, Problem>> {
    if let Some(preflight) = passage.cors.as_ref().and_then(Cors::preflight) {
        return Some(Ok(preflight));
    }
    (!passage.has_room()).then(|| {
        let retry_after = passage.shell.app().returning.tell_anybody();
        Err(Problem::new(Code::Overloaded).retry_after(retry_after))
    })
}

/// A refusal by the shell itself, in the form that the route's callers understand.
fn refusal(route: &RouteMetrics, problem: Problem, room: Option<HeaderValue>) -> Response {
    if route.is_gate() { gate::refusal(problem, room) } else { problem.into_response() }
}
