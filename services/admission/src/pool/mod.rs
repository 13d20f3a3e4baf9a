//! Pools over HTTP: what backends and operators call.

pub mod backend;
pub mod body;
mod live;
pub mod metrics;
pub mod operator;
pub mod problems;
pub mod state;
pub mod views;

use std::sync::Arc;
use std::time::Duration;

use anteroom_core::pool::MAX_LINES;
use anteroom_core::rules::MAX_AMOUNT;
use utoipa::openapi::schema::ObjectBuilder;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use self::operator::DEFAULT_LINES;
use crate::app::App;
use crate::entities::Routes;
use crate::http::audit::Audit;
use crate::http::document::{self, number, text};
use crate::http::route::{RouteInfo, RouteStyle};
use crate::pool::state::PoolState;

impl Routes for PoolState {
    /// An audit has more time than other calls: it reads some 10^8 lines.
    const INFO: &[(&str, RouteInfo)] = &[(
        "/v1/admin/pools/{pool}/audit",
        RouteInfo { style: RouteStyle::Api, timeout: Some(Duration::from_secs(300)) },
    )];

    fn service(audit: &Audit) -> OpenApiRouter<Arc<App>> {
        OpenApiRouter::new()
            .routes(routes!(backend::pool))
            .routes(routes!(backend::hold))
            .routes(routes!(backend::look, backend::cancel))
            .routes(routes!(backend::extend))
            .routes(routes!(backend::settle))
            .routes(routes!(backend::draw))
            .routes(audit.around::<Self>("pool.fund", routes!(operator::fund)))
            .routes(audit.around::<Self>("pool.confirm", routes!(operator::confirm)))
            .routes(audit.around::<Self>("pool.ledger", routes!(operator::ledger)))
            .routes(audit.around::<Self>("pool.audit", routes!(operator::audit)))
    }

    fn parameter(name: &str) -> Option<(&'static str, ObjectBuilder)> {
        let of_ledger = |limit: ObjectBuilder| limit.default(Some(DEFAULT_LINES.into()));
        Some(match name {
            "pool" => ("name of the pool", document::name()),
            "hold_id" => ("the id of the hold", text("^[A-Za-z0-9_-]{22}$")),
            "after" => (
                "the page begins after this number: `next` of the page before",
                number(0, MAX_AMOUNT),
            ),
            "before" => (
                "the page has movements with smaller numbers, newest first; not with `after`",
                number(1, MAX_AMOUNT),
            ),
            "limit" => ("the maximum number on the page", of_ledger(number(1, MAX_LINES))),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_routes_with_more_time_exist() {
        let routes = PoolState::service(&Audit::default());
        for (template, _) in PoolState::INFO {
            assert!(routes.get_openapi().paths.paths.contains_key(*template), "{template}");
        }
    }
}
