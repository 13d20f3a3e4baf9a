//! The calls that are nearly all requests of a port, answered without the router.
//!
//! The router finds a route in a tree, collects the parameters of its path, and passes the request
//! through a box for each layer: twice the time of all that such a call does itself. So each port
//! has a table of them. A call is recognised by the parts of its path before and behind the name,
//! and goes to its handler inside the same [`Shell`]. Everything else, and every mistake in a path,
//! goes to the router.

use std::net::IpAddr;
use std::sync::Arc;

use anteroom_authorize::problem::Problem;
use axum::extract::Request;
use axum::response::{IntoResponse as _, Response};
use http::Method;
use http::request::Parts;
use serde::de::DeserializeOwned;

use super::caller::Backend;
use super::extract::{JsonBody, json_body};
use super::shell::{Handled, ResponseFuture, Shell};
use crate::app::App;
use crate::callers::RequestHead;
use crate::entities::Listed;
use crate::metrics::RouteMetrics;

/// A call that goes around the router.
#[derive(Clone)]
pub struct HotRoute {
    /// Its method; none: any.
    pub method: Option<Method>,
    /// Its template, as the router has it, with one name in it.
    pub template: &'static str,
    /// What answers it, inside the shell.
    pub handler: fn(HotCall<'_>) -> ResponseFuture,
}

/// One request of it.
pub struct HotCall<'a> {
    shell: &'a Arc<Shell>,
    route: &'a Arc<RouteMetrics>,
    request: Request,
    /// The address of the client.
    pub peer: IpAddr,
}

impl<'a> HotCall<'a> {
    /// What all handlers share.
    pub fn app(&self) -> &'a Arc<App> {
        self.shell.app()
    }

    /// The answer of `handler`, inside the shell.
    pub fn answer<F>(self, handler: impl FnOnce(Request) -> Handled<F>) -> ResponseFuture
    where
        F: Future<Output = Response> + Send + 'static,
    {
        self.shell.answer(self.route, true, self.request, handler)
    }

    /// The answer of `handler` to a backend that may touch the entity of the path, and to its body.
    pub(crate) fn for_backend<T, B, F>(
        self,
        handler: impl FnOnce(Backend<T>, JsonBody<B>) -> F + Send + 'static,
    ) -> ResponseFuture
    where
        T: Listed,
        B: DeserializeOwned + Send + 'static,
        F: Future<Output = Result<Response, Problem>> + Send + 'static,
    {
        let (app, peer) = (self.app().clone(), self.peer);
        self.answer(|request| {
            let (Parts { method, uri, headers, .. }, body) = request.into_parts();
            let (method, uri) = (&method, &uri);
            let head = RequestHead { method, uri, headers: &headers, peer: Some(peer) };
            match Backend::of(&app, &head) {
                Ok(backend) => Handled::Pending(async move {
                    let answer = match json_body(&headers, body, &app).await {
                        Ok(body) => handler(backend, JsonBody(body)).await,
                        Err(problem) => Err(problem),
                    };
                    answer.unwrap_or_else(Problem::into_response)
                }),
                Err(problem) => Handled::Ready(problem.into_response()),
            }
        })
    }
}

/// The table of a port.
pub struct FastPath {
    shell: Arc<Shell>,
    rows: Vec<Row>,
}

/// One call of it.
pub struct Row {
    shape: Shape,
    route: HotRoute,
    metrics: Arc<RouteMetrics>,
}

/// What the requests of a route look like.
struct Shape {
    method: Option<Method>,
    before_name: &'static str,
    behind_name: &'static str,
}

impl FastPath {
    /// These calls inside this shell, the most frequent first.
    pub fn new(shell: Arc<Shell>, routes: &[HotRoute]) -> Self {
        let row = |route: &HotRoute| {
            let metrics = shell.route(Some(route.template));
            debug_assert_eq!(metrics.template(), route.template, "the router has it as well");
            Row { shape: Shape::of(route), route: route.clone(), metrics }
        };
        let rows = routes.iter().map(row).collect();
        Self { shell, rows }
    }

    /// The row of a request, if it has one.
    pub fn find(&self, request: &Request) -> Option<&Row> {
        let (method, path) = (request.method(), request.uri().path());
        self.rows.iter().find(|row| row.shape.fits(method, path))
    }

    /// The answer to a request of this row.
    pub fn answer(&self, row: &Row, request: Request, peer: IpAddr) -> ResponseFuture {
        let (shell, route) = (&self.shell, &row.metrics);
        (row.route.handler)(HotCall { shell, route, request, peer })
    }
}

impl Shape {
    fn of(route: &HotRoute) -> Self {
        let (before_name, rest) = route.template.split_once('{').unwrap_or((route.template, ""));
        let (_, behind_name) = rest.split_once('}').unwrap_or_default();
        Self { method: route.method.clone(), before_name, behind_name }
    }

    fn fits(&self, method: &Method, path: &str) -> bool {
        let rest = path.strip_prefix(self.before_name);
        rest.and_then(|rest| rest.strip_suffix(self.behind_name))
            .is_some_and(|name| !name.contains('/'))
            && self.method.as_ref().is_none_or(|only| only == method)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::breaker::state::BreakerState;
    use crate::entities::Routes as _;
    use crate::queue::hot::{PUBLIC, SERVICE};
    use anteroom_authorize::limit::state::LimitState;

    #[test]
    fn exactly_the_calls_of_the_table_are_recognised() {
        let (authorize, place, join, board) = (Some(0), Some(1), Some(2), Some(3));
        let (outcomes, permits) = (Some(2), Some(3));
        let of_service = [SERVICE, LimitState::HOT.service, BreakerState::HOT.service].concat();
        for (method, path, public, service) in [
            (Method::GET, "/v1/queues/a/authorize", authorize, None),
            (Method::POST, "/v1/queues/a/authorize", authorize, None),
            (Method::GET, "/v1/queues/a/token", place, None),
            (Method::POST, "/v1/queues/a/tokens", join, Some(0)),
            (Method::GET, "/v1/queues/a/board", board, None),
            (Method::DELETE, "/v1/queues/a/token", None, None),
            (Method::GET, "/v1/queues/a/tokens", None, None),
            (Method::GET, "/v1/queues/a/authorize/", None, None),
            (Method::GET, "/v1/queues/a/authorize/authorize", None, None),
            (Method::GET, "/v1/queues/a/token/events", None, None),
            (Method::GET, "/v1/queues/token", None, None),
            (Method::GET, "/v1/queues/a", None, None),
            (Method::GET, "/queues/a/token", None, None),
            (Method::POST, "/v1/limits/a/check", None, Some(1)),
            (Method::GET, "/v1/limits/a/check", None, None),
            (Method::POST, "/v1/limits/check", None, None),
            (Method::POST, "/v1/targets/a/outcomes", None, outcomes),
            (Method::POST, "/v1/targets/a/permits", None, permits),
            (Method::GET, "/v1/targets/a/outcomes", None, None),
            (Method::GET, "/v1/targets/a", None, None),
            (Method::POST, "/v1/targets/a/b/permits", None, None),
        ] {
            let row = |routes: &[HotRoute]| {
                routes.iter().position(|route| Shape::of(route).fits(&method, path))
            };
            assert_eq!((row(PUBLIC), row(&of_service)), (public, service), "{method} {path}");
        }
    }
}
