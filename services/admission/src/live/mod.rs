//! `GET /v1/admin/live`: everything that a key may see, as one stream for an operator's console.
//!
//! It costs Redis nothing: it shows the newest snapshots, which this process reads anyway
//! (`anteroom_authorize::snapshots`). Once a second one task makes a frame of all entities while a
//! stream is open ([`feed`]). Each stream sends what its caller may see of it, as the difference
//! from its event before ([`frame`]).

mod feed;
mod frame;
mod merge_patch;
mod slots;
mod stream;
mod views;

use std::sync::Arc;

use anteroom_authorize::durations::{moment, since_1970};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use self::feed::Feed;
use crate::app::App;
use crate::entities::Entity;
use crate::http::audit::Audit;

/// An entity as live streams show it.
pub trait Live: Entity {
    /// What it shows, for the API document.
    type View: ToSchema;

    /// What this process knows of it without asking Redis, as JSON. An entity whose snapshot was
    /// never read has what the configuration has.
    fn live_view(&self) -> Value;
}

/// The stream, with its document.
pub fn service(audit: &Audit) -> OpenApiRouter<Arc<App>> {
    let follow = audit.around_any("live.follow", routes!(stream::live));
    let mut routes = OpenApiRouter::new().routes(follow);
    views::add(routes.get_openapi_mut());
    routes
}

/// The clock of this process, as RFC 3339.
fn present_time() -> Value {
    moment(since_1970().as_secs()).map_or(Value::Null, Value::from)
}
