//! The targets' calls that stand beside each call to a downstream, answered without the router.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::Request;
use http::Method;

use super::calls;
use crate::http::fast_path::{HotRoute, for_backend};
use crate::http::shell::{ResponseFuture, Shell};
use crate::metrics::RouteMetrics;

/// Those of backends.
pub const SERVICE: &[HotRoute] = &[
    HotRoute {
        method: Some(Method::POST),
        template: "/v1/targets/{target}/outcomes",
        handler: record,
    },
    HotRoute {
        method: Some(Method::POST),
        template: "/v1/targets/{target}/permits",
        handler: permit,
    },
];

fn record(
    shell: &Arc<Shell>,
    route: &Arc<RouteMetrics>,
    request: Request,
    peer: IpAddr,
) -> ResponseFuture {
    for_backend(shell, route, request, peer, calls::record)
}

fn permit(
    shell: &Arc<Shell>,
    route: &Arc<RouteMetrics>,
    request: Request,
    peer: IpAddr,
) -> ResponseFuture {
    for_backend(shell, route, request, peer, calls::permit)
}
