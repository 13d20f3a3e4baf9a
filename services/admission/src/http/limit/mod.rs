//! Limits over HTTP: what backends and operators call.

pub mod body;
pub mod check;
pub mod hot;
pub mod operator;
pub mod problems;
pub mod view;

use std::sync::Arc;

use axum::middleware::from_fn;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt as _};
use utoipa_axum::routes;

use super::audit::Audit;
use super::document;
use crate::app::App;
use crate::limit::LimitState;

/// What backends and operators call.
pub fn service(audit: &Audit) -> OpenApiRouter<Arc<App>> {
    let audit = audit.clone();
    let audited = from_fn(move |request, next| {
        audit.clone().answer::<LimitState>("limit.forget", request, next)
    });
    let mut routes = OpenApiRouter::new()
        .routes(routes!(check::check))
        .routes(routes!(check::check_several))
        .routes(routes!(operator::forget).layer(audited));
    document::complete(routes.get_openapi_mut(), parameter, &[]);
    routes
}

/// What the parameters of these names look like, in whichever of the calls they stand.
fn parameter(name: &str) -> Option<ObjectBuilder> {
    let text = ObjectBuilder::new().schema_type(Type::String);
    (name == "limit").then(|| text.pattern(Some("^[a-z0-9-]{1,40}$")))
}
