//! Limits over HTTP: what backends and operators call.

pub mod backend;
pub mod body;
mod live;
pub mod operator;
pub mod problems;
mod state;
pub mod views;

use std::sync::Arc;

use anteroom_authorize::limit::state::LimitState;
use axum::extract::State;
use http::Method;
use utoipa::openapi::schema::ObjectBuilder;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::entities::{Hot, Routes};
use crate::http::audit::Audit;
use crate::http::document;
use crate::http::fast_path::HotRoute;

impl Routes for LimitState {
    /// Nearly all requests about limits.
    const HOT: Hot = Hot {
        public: &[],
        service: &[HotRoute {
            method: Some(Method::POST),
            template: "/v1/limits/{limit}/check",
            handler: |call| {
                let app = State(call.app().clone());
                call.for_backend(|backend, body| backend::check(app, backend, body))
            },
        }],
    };

    fn service(audit: &Audit) -> OpenApiRouter<Arc<App>> {
        OpenApiRouter::new()
            .routes(routes!(backend::check))
            .routes(routes!(backend::check_several))
            .routes(audit.around::<Self>("limit.forget", routes!(operator::forget)))
    }

    fn parameter(name: &str) -> Option<(&'static str, ObjectBuilder)> {
        (name == "limit").then(|| ("name of the limit", document::name()))
    }
}
