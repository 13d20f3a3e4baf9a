//! The calls that are nearly all requests, answered without the router: authorize, place and join.
//!
//! The router finds a route in a tree, collects the parameters of its path, and passes the request
//! through a box for each layer: twice the time of all that these three calls do themselves. Their
//! paths are told apart by two slashes, so they are recognised here and handed to their handlers
//! inside the same [`Shell`]. Everything else, and every mistake in a path, is the router's.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use futures_util::future::{Either, Ready, ready};
use http::Method;

use super::queue::{calls, gate};
use super::shell::{ResponseFuture, Shell};
use crate::app::App;
use crate::http::queue::visitor::Visitor;
use crate::metrics::RouteMetrics;
use crate::problem::Problem;

const PLACE: &str = "/v1/queues/{queue}/token";
const JOIN: &str = "/v1/queues/{queue}/tokens";

/// The three calls of the public port.
pub struct FastPath {
    shell: Arc<Shell>,
    gate: Arc<RouteMetrics>,
    place: Arc<RouteMetrics>,
    join: Arc<RouteMetrics>,
}

/// Which of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Authorize,
    Place,
    Join,
}

impl Call {
    /// The call that a request is, if it is one of the three.
    pub fn of(request: &Request) -> Option<Self> {
        let (_, rest) = request.uri().path().strip_prefix(QUEUES)?.split_once('/')?;
        match rest {
            "authorize" => Some(Self::Authorize),
            "token" if request.method() == Method::GET => Some(Self::Place),
            "tokens" if request.method() == Method::POST => Some(Self::Join),
            _ => None,
        }
    }
}

const QUEUES: &str = "/v1/queues/";

impl FastPath {
    /// The calls inside this shell.
    pub fn new(shell: Arc<Shell>) -> Self {
        let [gate, place, join] =
            [gate::PLAIN, PLACE, JOIN].map(|template| shell.route(Some(template)));
        Self { shell, gate, place, join }
    }

    /// The answer to a request that is this call.
    pub fn answer(&self, call: Call, request: Request, peer: IpAddr) -> ResponseFuture {
        let app = self.shell.app().clone();
        match call {
            Call::Authorize => {
                self.shell.answer(&self.gate, request, |request| {
                    let visitor = match visitor(&app, &request, peer) {
                        Ok(visitor) => visitor,
                        Err(problem) => return now(gate::refusal(problem, None)),
                    };
                    let (parts, _body) = request.into_parts();
                    match gate::begin(&app, &visitor, &parts) {
                        Ok(response) => now(response),
                        Err(open) => Either::Right(async move {
                            gate::finish(&app, &visitor, &parts, open).await
                        }),
                    }
                })
            }
            Call::Place => self.shell.answer(&self.place, request, |request| {
                match visitor(&app, &request, peer) {
                    Ok(visitor) => Either::Right(calls::place(visitor).map(response)),
                    Err(problem) => now(problem.into_response()),
                }
            }),
            Call::Join => self.shell.answer(&self.join, request, |request| {
                match visitor(&app, &request, peer) {
                    Ok(visitor) => {
                        Either::Right(calls::join(State(app), visitor, request).map(response))
                    }
                    Err(problem) => now(problem.into_response()),
                }
            }),
        }
    }
}

/// Who asks, at the queue that the path names.
fn visitor(app: &App, request: &Request, peer: IpAddr) -> Result<Visitor, Problem> {
    let live = app.live();
    let queue = live.queues.at(request.uri().path())?;
    Ok(Visitor::new(&live, queue, request.headers(), Some(peer)))
}

fn now<F>(response: Response) -> Either<Ready<Response>, F> {
    Either::Left(ready(response))
}

fn response(answer: Result<Response, Problem>) -> Response {
    answer.unwrap_or_else(Problem::into_response)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn exactly_the_three_calls_are_recognised() {
        for (method, path, call) in [
            ("GET", "/v1/queues/a/authorize", Some(Call::Authorize)),
            ("POST", "/v1/queues/a/authorize?join=1", Some(Call::Authorize)),
            ("GET", "/v1/queues/a/token", Some(Call::Place)),
            ("POST", "/v1/queues/a/tokens", Some(Call::Join)),
            ("DELETE", "/v1/queues/a/token", None),
            ("GET", "/v1/queues/a/tokens", None),
            ("GET", "/v1/queues/a/authorize/", None),
            ("GET", "/v1/queues/a/token/events", None),
            ("GET", "/v1/queues/a", None),
            ("GET", "/queues/a/token", None),
        ] {
            let request = Request::builder().method(method).uri(path).body(Body::empty());
            assert_eq!(Call::of(&request.expect("a request")), call, "{method} {path}");
        }
    }
}
