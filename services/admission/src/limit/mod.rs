//! Limits over HTTP: what backends and operators call.

pub mod backend;
pub mod body;
pub mod hot;
pub mod metrics;
pub mod operator;
pub mod problems;
pub mod state;
pub mod views;

use std::sync::Arc;

use axum::middleware::from_fn;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt as _};
use utoipa_axum::routes;

use crate::app::App;
use crate::http::audit::Audit;
use crate::http::document;
use crate::limit::state::LimitState;

/// What backends and operators call.
pub fn service(audit: &Audit) -> OpenApiRouter<Arc<App>> {
    let audit = audit.clone();
    let audited = from_fn(move |request, next| {
        audit.clone().answer::<LimitState>("limit.forget", request, next)
    });
    let mut routes = OpenApiRouter::new()
        .routes(routes!(backend::check))
        .routes(routes!(backend::check_several))
        .routes(routes!(operator::forget).layer(audited));
    document::complete(routes.get_openapi_mut(), parameter, &[]);
    routes
}

/// What the parameters of these names look like, in whichever of the calls they stand.
fn parameter(name: &str) -> Option<ObjectBuilder> {
    let text = ObjectBuilder::new().schema_type(Type::String);
    (name == "limit").then(|| text.pattern(Some("^[a-z0-9-]{1,40}$")))
}
