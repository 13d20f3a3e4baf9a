//! Targets over HTTP: what backends report and ask.

pub mod backend;
pub mod body;
pub mod hot;
pub mod last_known;
pub mod metrics;
pub mod problems;
pub mod state;
pub mod views;

use std::sync::Arc;

use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::http::audit::Audit;
use crate::http::document;

/// These operations take an empty body for `{}`.
const MAY_BE_EMPTY: &[&str] = &["ask_for_permit"];

/// What backends call.
pub fn service(_audit: &Audit) -> OpenApiRouter<Arc<App>> {
    let mut routes = OpenApiRouter::new()
        .routes(routes!(backend::record))
        .routes(routes!(backend::permit))
        .routes(routes!(backend::look));
    document::complete(routes.get_openapi_mut(), parameter, MAY_BE_EMPTY);
    routes
}

fn parameter(name: &str) -> Option<ObjectBuilder> {
    let text = ObjectBuilder::new().schema_type(Type::String);
    (name == "target").then(|| text.pattern(Some("^[a-z0-9-]{1,40}$")))
}
