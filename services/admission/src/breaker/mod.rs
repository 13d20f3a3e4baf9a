//! Targets over HTTP: what backends report and ask.

pub mod backend;
pub mod body;
pub mod last_known;
mod live;
pub mod metrics;
pub mod problems;
pub mod state;
pub mod views;

use std::sync::Arc;

use http::Method;
use utoipa::openapi::schema::ObjectBuilder;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::breaker::state::BreakerState;
use crate::entities::{Hot, Routes};
use crate::http::audit::Audit;
use crate::http::document;
use crate::http::fast_path::HotRoute;

impl Routes for BreakerState {
    /// The calls that accompany each call to a target.
    const HOT: Hot = Hot {
        public: &[],
        service: &[
            HotRoute {
                method: Some(Method::POST),
                template: "/v1/targets/{target}/outcomes",
                handler: |call| call.for_backend(backend::record),
            },
            HotRoute {
                method: Some(Method::POST),
                template: "/v1/targets/{target}/permits",
                handler: |call| call.for_backend(backend::permit),
            },
        ],
    };
    const MAY_BE_EMPTY: &[&str] = &["ask_for_permit"];

    fn service(_audit: &Audit) -> OpenApiRouter<Arc<App>> {
        OpenApiRouter::new()
            .routes(routes!(backend::record))
            .routes(routes!(backend::permit))
            .routes(routes!(backend::look))
    }

    fn parameter(name: &str) -> Option<(&'static str, ObjectBuilder)> {
        (name == "target").then(|| ("name of the target", document::name()))
    }
}
