//! The operator console on the service port: its page, and the session of a user who has signed in.
//! The page uses only documented calls of this port.

mod page;
mod problems;
mod session;

use std::sync::Arc;

use axum::routing::get;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::http::audit::Audit;

/// The routes of the console.
pub fn service(audit: &Audit) -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(audit.around_any("console.sign_in", routes!(session::sign_in)))
        .routes(audit.around_any("console.sign_out", routes!(session::sign_out)))
        .route(page::PAGE, get(page::page))
        .route(page::PAGE_WITH_SLASH, get(page::without_slash))
        .route(page::ASSET, get(page::asset))
}
