//! The calls that are nearly all requests, answered without the router: authorize, place and join.
//!
//! The router finds a route in a tree, collects the parameters of its path, and passes the request
//! through a box for each layer: twice the time of all that these three calls do themselves. Their
//! paths are told apart by two slashes, so they are recognised here and go straight to their
//! handlers, through the same shell. Everything else, and every mistake in a path, is the router's.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::IntoResponse as _;
use http::{Method, Request};

use super::problem::Problem;
use super::shell::{Answering, Passage, Shell};
use super::visitor::Visitor;
use super::{GATE, gate, queue};
use crate::app::App;
use crate::metrics::RouteMetrics;

const PLACE: &str = "/v1/queues/{queue}/token";
const JOIN: &str = "/v1/queues/{queue}/tokens";

/// The three calls of one port.
pub struct Straight {
    shell: Arc<Shell>,
    gate: Arc<RouteMetrics>,
    place: Arc<RouteMetrics>,
    join: Arc<RouteMetrics>,
}

enum Call {
    Authorize,
    Place,
    Join,
}

impl Call {
    /// The call, and the queue that the path names.
    fn of<'a>(method: &Method, path: &'a str) -> Option<(Self, &'a str)> {
        let (name, rest) = path.strip_prefix("/v1/queues/")?.split_once('/')?;
        let call = match rest {
            "authorize" => Self::Authorize,
            "token" if method == Method::GET => Self::Place,
            "tokens" if method == Method::POST => Self::Join,
            _ => return None,
        };
        Some((call, name))
    }
}

impl Straight {
    /// The calls inside this shell.
    pub fn new(shell: Arc<Shell>) -> Self {
        let [gate, place, join] = [GATE, PLACE, JOIN].map(|template| shell.route(Some(template)));
        Self { shell, gate, place, join }
    }

    /// Takes the request in when it is one of the three, and there is room; else it is the router's.
    pub fn enter(&self, request: &Request<Body>, peer: IpAddr) -> Option<Entered> {
        let live = self.shell.app().live();
        let (call, name) = Call::of(request.method(), request.uri().path())?;
        let queue = live.queue(name)?;
        let route = match call {
            Call::Authorize => &self.gate,
            Call::Place => &self.place,
            Call::Join => &self.join,
        };
        let passage = self.shell.enter(route.clone(), request.method(), request.headers());
        if !passage.has_room() {
            return None;
        }
        let visitor = Visitor::new(&live, queue, request.headers(), Some(peer));
        Some(Entered { call, passage, visitor, app: self.shell.app().clone() })
    }
}

/// One of the three calls, inside the shell.
pub struct Entered {
    call: Call,
    passage: Passage,
    visitor: Visitor,
    app: Arc<App>,
}

impl Entered {
    /// The answer.
    pub fn answer(self, request: Request<Body>) -> Answering {
        let Self { call, passage, visitor, app } = self;
        let (parts, body) = request.into_parts();
        match call {
            Call::Authorize => match gate::begin(&app, &visitor, &parts) {
                Ok(response) => Answering::Now(Some(passage.mark(response))),
                Err(open) => passage.answered_by(
                    async move { Ok(gate::finish(&app, &visitor, &parts, open).await) },
                    |problem| gate::refusal(problem, None),
                ),
            },
            Call::Place => passage.answered_by(queue::place(visitor), Problem::into_response),
            Call::Join => {
                let request = Request::from_parts(parts, body);
                passage
                    .answered_by(queue::join(State(app), visitor, request), Problem::into_response)
            }
        }
    }
}
