//! The visitor who sends a request, as handlers take it.

use std::sync::Arc;

use anteroom_authorize::Problem;
use anteroom_authorize::queue::visitor::Visitor;
use axum::extract::FromRequestParts;
use http::request::Parts;

use crate::app::App;
use crate::http::extract::Peer;
use crate::queue::QueueState;

/// A request of a visitor of the queue that the path names.
pub struct ByVisitor(pub Visitor);

impl FromRequestParts<Arc<App>> for ByVisitor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, Problem> {
        let queue = app.at::<QueueState>(parts.uri.path())?;
        Visitor::of(&app.process, queue, &parts.headers, Peer::in_any(parts)).map(Self)
    }
}
