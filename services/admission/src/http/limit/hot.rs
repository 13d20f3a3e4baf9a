//! The limits' call that is nearly all of theirs, answered without the router.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use http::Method;

use super::check;
use crate::http::fast_path::{HotRoute, for_backend};
use crate::http::shell::{ResponseFuture, Shell};
use crate::metrics::RouteMetrics;

/// Those of backends.
pub const SERVICE: &[HotRoute] = &[HotRoute {
    method: Some(Method::POST),
    template: "/v1/limits/{limit}/check",
    handler: check_one,
}];

fn check_one(
    shell: &Arc<Shell>,
    route: &Arc<RouteMetrics>,
    request: Request,
    peer: IpAddr,
) -> ResponseFuture {
    let app = State(shell.app().clone());
    for_backend(shell, route, request, peer, |backend, body| check::check(app, backend, body))
}
