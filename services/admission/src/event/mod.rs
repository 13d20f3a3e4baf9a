//! Events over HTTP: what visitors, backends and operators call.

pub mod backend;
pub mod calls;
pub mod early;
mod live;
pub mod metrics;
pub mod operator;
pub mod problems;
pub mod state;
pub mod views;

use std::sync::Arc;

use anteroom_core::event::MAX_DEAD;
use anteroom_core::rules::MAX_AMOUNT;
use utoipa::PartialSchema as _;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::entities::Routes;
use crate::event::state::EventState;
use crate::http::audit::Audit;
use crate::http::document::{self, number};
use crate::http::identifier::Identifier;

impl Routes for EventState {
    fn public() -> OpenApiRouter<Arc<App>> {
        OpenApiRouter::new().routes(routes!(calls::mine))
    }

    fn service(audit: &Audit) -> OpenApiRouter<Arc<App>> {
        OpenApiRouter::new()
            .routes(routes!(backend::apply))
            .routes(routes!(backend::status))
            .routes(routes!(backend::look))
            .routes(audit.around::<Self>("event.add_stock", routes!(operator::add_stock)))
            .routes(audit.around::<Self>("event.dead", routes!(operator::dead)))
            .routes(audit.around::<Self>("event.retry_dead", routes!(operator::retry_all_dead)))
            .routes(audit.around::<Self>("event.retry_dead", routes!(operator::retry_dead)))
            .routes(audit.around::<Self>("event.give_up", routes!(operator::give_up)))
    }

    fn parameter(name: &str) -> Option<(&'static str, ObjectBuilder)> {
        Some(match name {
            "event" => ("name of the event", document::name()),
            "visitor_id" => match Identifier::schema() {
                RefOr::T(Schema::Object(rule)) => ("the visitor who applied", rule.into()),
                _ => return None,
            },
            "after" => (
                "the page begins after this number: `next` of the page before",
                number(0, MAX_AMOUNT),
            ),
            "limit" => ("the maximum number on the page", number(1, MAX_DEAD)),
            _ => return None,
        })
    }
}
