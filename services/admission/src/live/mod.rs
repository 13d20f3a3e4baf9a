//! `GET /v1/admin/live`: all entities that a key covers, as one stream for the operator console.
//!
//! It sends no command to Redis: it shows the newest snapshots, which this process reads anyway
//! (`anteroom_authorize::snapshots`). While a stream is open, one task makes a frame of all
//! entities each second ([`feed`]). Each stream sends the part that its caller can see, as the
//! difference from its last event ([`frame`]).

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
    /// The type of the view, for the API document.
    type View: ToSchema;

    /// The entity from the memory of this process, as JSON. If its snapshot was never read, the
    /// view has only values of the configuration.
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
