//! The routes of the two ports, and the shell around them.
//!
//! Routes and their documentation are one: each handler carries its own, and `/openapi.json` is
//! made from them. The gate answers any method, so its documentation is added by hand.

pub mod admin;
pub mod audit;
pub mod caller;
pub mod code;
pub mod document;
pub mod events;
pub mod extract;
mod fast_path;
pub mod gate;
pub mod original;
pub mod overrides;
pub mod page;
pub mod places;
pub mod problem;
pub mod queue;
pub mod service;
pub mod shell;
pub mod visitor;

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::middleware::from_fn;
use axum::routing::{MethodRouter, any, get};
use futures_util::FutureExt as _;
use futures_util::future::Either;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request};
use tower::Service as _;
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt as _};
use utoipa_axum::routes;

use self::audit::Audit;
use self::extract::Peer;
use self::fast_path::{Call, FastPath};
use self::problem::{Code, Problem};
use self::shell::{InFlight, ResponseFuture, Shell, ShellLayer};
use crate::app::App;

const OPENAPI: &str = "/openapi.json";
const GATE: &str = "/v1/queues/{queue}/authorize";
const GATE_BEHIND: &str = "/v1/queues/{queue}/authorize/{*path}";
/// The original path may be `/`, which a wildcard does not match.
const GATE_BEHIND_ROOT: &str = "/v1/queues/{queue}/authorize/";

/// What one port answers with.
pub struct Port {
    /// All its routes, each inside the shell.
    router: Router,
    /// Its calls that need no router, inside the same shell.
    fast_path: Option<FastPath>,
    /// Its requests in flight.
    pub in_flight: InFlight,
}

impl Port {
    /// The answer to a request from this peer.
    pub fn answer(&self, mut request: Request<Body>, peer: Peer) -> ResponseFuture {
        if let Some(fast_path) = &self.fast_path
            && let Some(call) = Call::of(&request)
        {
            return fast_path.answer(call, request, peer.0.ip());
        }
        request.extensions_mut().insert(peer);
        // A router is always ready, its clone is a counted reference, and it cannot fail.
        let routed = self.router.clone().call(request);
        Either::Right(Box::pin(routed.map(|Ok(response)| response)))
    }
}

/// What visitors and gateways reach.
pub fn public(app: &Arc<App>) -> Port {
    let mut routes = OpenApiRouter::with_openapi(document::Public::openapi())
        .routes(routes!(queue::join))
        .routes(routes!(queue::place, queue::leave))
        .routes(routes!(events::events))
        .routes(routes!(queue::claim))
        .routes(routes!(queue::renew))
        .routes(routes!(queue::state))
        .routes(routes!(page::page, page::join))
        .route(GATE, any(gate::authorize))
        .route(GATE_BEHIND, any(gate::authorize_behind))
        .route(GATE_BEHIND_ROOT, any(gate::authorize_behind));
    document::add::<gate::__path_authorize>(routes.get_openapi_mut());
    document::add::<gate::__path_authorize_behind>(routes.get_openapi_mut());
    port(app, true, routes)
}

/// What backends and operators reach.
pub fn service(app: &Arc<App>) -> Port {
    let audit = Audit::default();
    let audited = |operation| {
        let audit = audit.clone();
        from_fn(move |request, next| audit.clone().answer(operation, request, next))
    };
    let routes = OpenApiRouter::with_openapi(document::Service::openapi())
        .routes(routes!(service::join))
        .routes(routes!(service::renew))
        .routes(routes!(service::finish))
        .routes(routes!(service::state))
        .routes(routes!(admin::look).layer(audited("queue.snapshot")))
        .routes(routes!(admin::change).layer(audited("queue.override_rules")))
        .routes(routes!(admin::purge).layer(audited("queue.purge")))
        .routes(routes!(admin::reset).layer(audited("queue.reset")))
        .routes(routes!(places::places).layer(audited("queue.places")))
        .routes(routes!(admin::inspect).layer(audited("queue.inspect")))
        .routes(routes!(admin::evict).layer(audited("queue.evict")));
    port(app, false, routes)
}

/// A port of these routes, with its document, the fallbacks and the shell.
pub fn port(app: &Arc<App>, is_public: bool, routes: OpenApiRouter<Arc<App>>) -> Port {
    let (router, mut document) = routes.split_for_parts();
    document::add::<__path_document_route>(&mut document);
    document::complete(&mut document);
    let undocumented = [GATE, GATE_BEHIND, GATE_BEHIND_ROOT].map(str::to_owned);
    let templates: Vec<String> = document.paths.paths.keys().cloned().chain(undocumented).collect();
    let port = if is_public { "public" } else { "service" };
    let metrics = app.metrics.http(port, templates.iter().map(String::as_str));
    let shell = Arc::new(Shell::new(app.clone(), is_public, metrics));
    let fast_path = is_public.then(|| FastPath::new(shell.clone()));
    let in_flight = shell.in_flight.clone();
    let router = router
        .route(OPENAPI, document_route(&document))
        .fallback(async || Problem::new(Code::NotFound))
        .method_not_allowed_fallback(async || Problem::new(Code::MethodNotAllowed))
        .layer(ShellLayer(shell))
        .with_state(app.clone());
    Port { router, fast_path, in_flight }
}

/// This document.
#[utoipa::path(
    get, path = "/openapi.json", tag = "documentation", operation_id = "openapi",
    responses(
        (status = 200, description = "this document", body = Object,
            content_type = "application/json"),
        document::ShellProblems,
    ),
)]
fn document_route(document: &OpenApi) -> MethodRouter<Arc<App>> {
    // A document of our own types always has a JSON form; if not, an empty one says so.
    let json = Bytes::from(document.to_pretty_json().unwrap_or_default());
    let json_type = HeaderValue::from_static("application/json");
    get(async move || ([(CONTENT_TYPE, json_type)], json))
}
