//! Calls of visitors.

use std::sync::Arc;

use anteroom_authorize::problem::{Code, Problem};
use axum::Json;
use axum::extract::State;
use http::{HeaderMap, HeaderName};

use super::backend::of_visitor;
use super::problems::MineProblems;
use super::state::EventState;
use super::views::ApplicationView;
use crate::app::App;
use crate::http::extract::At;

/// Carries the application token of a visitor.
pub const APPLICATION: HeaderName = HeaderName::from_static("x-anteroom-application");

/// Get your application.
///
/// Send the `application_token` that the backend got when it applied for the visitor.
#[utoipa::path(
    get, path = "/v1/events/{event}/application", tag = "visitors", operation_id = "my_application",
    security(("application" = [])),
    responses((status = 200, description = "the application", body = ApplicationView), MineProblems),
)]
pub async fn mine(
    State(app): State<Arc<App>>,
    At(event): At<EventState>,
    headers: HeaderMap,
) -> Result<Json<ApplicationView>, Problem> {
    let mut tokens = headers.get_all(APPLICATION).iter();
    let token = tokens.next().ok_or_else(|| Problem::new(Code::TOKEN_MISSING))?;
    // If two differ, a proxy in between may have meant either.
    let is_one = tokens.all(|other| other == token);
    let text = token.to_str().ok().filter(|_| is_one).unwrap_or_default();
    let visitor_id = app.live().applications.verify(event.name(), text);
    let visitor_id = visitor_id.ok_or_else(|| Problem::new(Code::TOKEN_INVALID))?;
    of_visitor(&event, &visitor_id).await
}
