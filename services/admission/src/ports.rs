//! The routes of the two ports, and the shell around them.
//!
//! Routes and their documentation are one: each handler carries its own, and `/openapi.json` is
//! made from them. The gate answers any method, so its documentation is added by hand.

use std::sync::Arc;

use anteroom_authorize::problem::{Code, Problem};
use anteroom_core::for_each_kind;
use axum::Router;
use axum::body::Body;
use futures_util::FutureExt as _;
use futures_util::future::Either;
use http::Request;
use tower::Service as _;
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use crate::entities::{Routes as _, Served};
use crate::http::audit::Audit;
use crate::http::extract::Peer;
use crate::http::fast_path::{FastPath, HotRoute};
use crate::http::route::RouteInfo;
use crate::http::shell::{InFlight, ResponseFuture, Shell, ShellLayer};
use crate::http::{document, openapi};
use crate::{changes, console, live};

/// What one port answers with.
pub struct PortService {
    /// All its routes, each inside the shell.
    router: Router,
    /// Its calls that need no router, inside the same shell.
    fast_path: FastPath,
    /// Its requests in flight.
    pub in_flight: InFlight,
}

impl PortService {
    /// The answer to a request from this peer.
    pub fn answer(&self, mut request: Request<Body>, peer: Peer) -> ResponseFuture {
        if let Some(row) = self.fast_path.find(&request) {
            return self.fast_path.answer(row, request, peer.0.ip());
        }
        request.extensions_mut().insert(peer);
        // A router is always ready, its clone is a counted reference, and it cannot fail.
        let routed = self.router.clone().call(request);
        Either::Right(Box::pin(routed.map(|Ok(response)| response)))
    }
}

/// What visitors and gateways reach.
pub fn public(app: &Arc<App>) -> PortService {
    fn add<K: Served>(routes: &mut PortRoutes) {
        routes.add::<K>(K::State::public(), K::State::HOT.public);
    }
    let mut routes = PortRoutes::of(document::PublicDocument::openapi());
    for_each_kind!(add(&mut routes));
    port(app, true, routes.all, &routes.hot)
}

/// What backends and operators reach.
pub fn service(app: &Arc<App>) -> PortService {
    fn add<K: Served>(routes: &mut PortRoutes, audit: &Audit) {
        let mut calls = K::State::service(audit);
        document::require_key(calls.get_openapi_mut());
        routes.add::<K>(calls, K::State::HOT.service);
    }
    let mut routes = PortRoutes::of(document::ServiceDocument::openapi());
    let audit = Audit::default();
    for_each_kind!(add(&mut routes, &audit));
    let of_all_kinds = [live::service(&audit), changes::service(&audit)];
    let console = app.has_console.then(|| console::service(&audit));
    for mut calls in of_all_kinds.into_iter().chain(console) {
        document::require_key(calls.get_openapi_mut());
        routes.all = routes.all.merge(calls);
    }
    port(app, false, routes.all, &routes.hot)
}

/// The routes of a port, kind by kind.
struct PortRoutes {
    all: OpenApiRouter<Arc<App>>,
    hot: Vec<HotRoute>,
}

impl PortRoutes {
    fn of(document: OpenApi) -> Self {
        Self { all: OpenApiRouter::with_openapi(document), hot: Vec::new() }
    }

    fn add<K: Served>(&mut self, mut routes: OpenApiRouter<Arc<App>>, hot: &[HotRoute]) {
        document::complete::<K::State>(routes.get_openapi_mut());
        self.all = std::mem::take(&mut self.all).merge(routes);
        self.hot.extend_from_slice(hot);
    }
}

/// A port of these routes, with its document, the fallbacks and the shell; `hot` are those of them
/// that go around the router.
pub fn port(
    app: &Arc<App>,
    is_public: bool,
    routes: OpenApiRouter<Arc<App>>,
    hot: &[HotRoute],
) -> PortService {
    let (router, mut document) = routes.split_for_parts();
    document::add::<openapi::Documented>(&mut document);
    document::list_codes(&mut document);
    let port = if is_public { "public" } else { "service" };
    let documented = document.paths.paths.keys().map(|path| (&**path, RouteInfo::default()));
    fn add<K: Served>(special: &mut Vec<(&str, RouteInfo)>) {
        special.extend_from_slice(K::State::INFO);
    }
    let mut special = Vec::new();
    for_each_kind!(add(&mut special));
    let metrics = app.metrics.http(port, documented.chain(special));
    let shell = Arc::new(Shell::new(app.clone(), is_public, metrics));
    let fast_path = FastPath::new(shell.clone(), hot);
    let in_flight = shell.in_flight.clone();
    let router = router
        .route(openapi::PATH, openapi::route(&document))
        .fallback(async || Problem::new(Code::NOT_FOUND))
        .method_not_allowed_fallback(async || Problem::new(Code::METHOD_NOT_ALLOWED))
        .layer(ShellLayer(shell))
        .with_state(app.clone());
    PortService { router, fast_path, in_flight }
}
