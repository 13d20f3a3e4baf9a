//! Pools over HTTP: what backends and operators call.

pub mod backend;
pub mod body;
pub mod metrics;
pub mod operator;
pub mod problems;
pub mod state;
pub mod views;

use std::sync::Arc;
use std::time::Duration;

use anteroom_core::pool::MAX_LINES;
use anteroom_core::rules::MAX_AMOUNT;
use axum::middleware::from_fn;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt as _};
use utoipa_axum::routes;

use self::operator::DEFAULT_LINES;
use crate::app::App;
use crate::http::audit::Audit;
use crate::http::document;
use crate::http::route::{RouteInfo, RouteStyle};
use crate::pool::state::PoolState;

/// These operations take an empty body for `{}`.
const MAY_BE_EMPTY: &[&str] = &[];

/// Routes with more time than others: an audit reads some 10^8 lines.
pub const ROUTES: &[(&str, RouteInfo)] = &[(
    "/v1/admin/pools/{pool}/audit",
    RouteInfo { style: RouteStyle::Api, timeout: Some(Duration::from_secs(300)) },
)];

/// What backends and operators call.
pub fn service(audit: &Audit) -> OpenApiRouter<Arc<App>> {
    let audited = |operation| {
        let audit = audit.clone();
        from_fn(move |request, next| audit.clone().answer::<PoolState>(operation, request, next))
    };
    let mut routes = OpenApiRouter::new()
        .routes(routes!(backend::pool))
        .routes(routes!(backend::hold))
        .routes(routes!(backend::look, backend::cancel))
        .routes(routes!(backend::extend))
        .routes(routes!(backend::settle))
        .routes(routes!(backend::draw))
        .routes(routes!(operator::fund).layer(audited("pool.fund")))
        .routes(routes!(operator::confirm).layer(audited("pool.confirm")))
        .routes(routes!(operator::ledger).layer(audited("pool.ledger")))
        .routes(routes!(operator::audit).layer(audited("pool.audit")));
    document::complete(routes.get_openapi_mut(), parameter, MAY_BE_EMPTY);
    routes
}

/// What the parameters of these names look like, in whichever of the calls they stand.
fn parameter(name: &str) -> Option<ObjectBuilder> {
    let text = ObjectBuilder::new().schema_type(Type::String);
    let number = |least: u64, most: u64| {
        ObjectBuilder::new()
            .schema_type(Type::Integer)
            .minimum(Some(least as f64))
            .maximum(Some(most as f64))
    };
    Some(match name {
        "pool" => text.pattern(Some("^[a-z0-9-]{1,40}$")),
        "hold_id" => text.pattern(Some("^[A-Za-z0-9_-]{22}$")),
        "after" => number(0, MAX_AMOUNT),
        "limit" => number(1, MAX_LINES).default(Some(DEFAULT_LINES.into())),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_routes_with_more_time_exist() {
        let routes = service(&Audit::default());
        for (template, _) in ROUTES {
            assert!(routes.get_openapi().paths.paths.contains_key(*template), "{template}");
        }
    }
}
