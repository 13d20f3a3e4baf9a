//! Events over HTTP: what visitors, backends and operators call.

pub mod backend;
pub mod calls;
pub mod early;
pub mod metrics;
pub mod operator;
pub mod problems;
pub mod state;
pub mod views;

use std::sync::Arc;

use anteroom_core::event::MAX_DEAD;
use anteroom_core::rules::MAX_AMOUNT;
use axum::middleware::from_fn;
use utoipa::PartialSchema as _;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt as _};
use utoipa_axum::routes;

use crate::app::App;
use crate::event::state::EventState;
use crate::http::audit::Audit;
use crate::http::document;
use crate::http::identifier::Identifier;

/// What visitors call.
pub fn public() -> OpenApiRouter<Arc<App>> {
    let mut routes = OpenApiRouter::new().routes(routes!(calls::mine));
    document::complete(routes.get_openapi_mut(), parameter, &[]);
    routes
}

/// What backends and operators call.
pub fn service(audit: &Audit) -> OpenApiRouter<Arc<App>> {
    let audited = |operation| {
        let audit = audit.clone();
        from_fn(move |request, next| audit.clone().answer::<EventState>(operation, request, next))
    };
    let mut routes = OpenApiRouter::new()
        .routes(routes!(backend::apply))
        .routes(routes!(backend::status))
        .routes(routes!(backend::look))
        .routes(routes!(operator::add_stock).layer(audited("event.add_stock")))
        .routes(routes!(operator::dead).layer(audited("event.dead")))
        .routes(routes!(operator::retry_all_dead).layer(audited("event.retry_dead")))
        .routes(routes!(operator::retry_dead).layer(audited("event.retry_dead")))
        .routes(routes!(operator::give_up).layer(audited("event.give_up")));
    document::complete(routes.get_openapi_mut(), parameter, &[]);
    routes
}

/// What the parameters of these names look like, in whichever of the calls they stand.
fn parameter(name: &str) -> Option<ObjectBuilder> {
    let text = ObjectBuilder::new().schema_type(Type::String);
    let number = ObjectBuilder::new().schema_type(Type::Integer);
    Some(match name {
        "event" => text.pattern(Some("^[a-z0-9-]{1,40}$")),
        "visitor_id" => match Identifier::schema() {
            RefOr::T(Schema::Object(rule)) => rule.into(),
            _ => text,
        },
        "after" => number.minimum(Some(0)).maximum(Some(MAX_AMOUNT as f64)),
        "limit" => number.minimum(Some(1)).maximum(Some(MAX_DEAD as f64)),
        _ => return None,
    })
}
