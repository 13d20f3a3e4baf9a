//! Calls of backends: apply for a visitor, read an application or the event.

use std::sync::Arc;

use anteroom_authorize::problem::{Code, Problem};
use anteroom_authorize::snapshots::Snapshots as _;
use anteroom_core::event::Apply;
use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use serde::Deserialize;
use utoipa::ToSchema;

use super::problems::{ApplyProblems, LookProblems, StatusProblems};
use super::views::{ApplicationView, EventView};
use crate::app::App;
use crate::event::state::EventState;
use crate::http::caller::{Backend, Reader};
use crate::http::extract::JsonBody;
use crate::http::identifier::Identifier;

/// The body of an application.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplyBody {
    /// The visitor who applies, named by an id of yours; `.` and `..` are not allowed.
    visitor_id: Identifier,
}

/// Apply for an item of the event, on behalf of a visitor.
///
/// Idempotent: a visitor has one application to an event, for ever.
#[utoipa::path(
    post, path = "/v1/events/{event}/applications", tag = "backends", operation_id = "apply",
    request_body = ApplyBody,
    responses(
        (status = 202, description = "a new application", body = ApplicationView),
        (status = 200, description = "the visitor's earlier application", body = ApplicationView),
        ApplyProblems,
    ),
)]
pub async fn apply(
    State(app): State<Arc<App>>,
    Backend(event): Backend<EventState>,
    JsonBody(ApplyBody { visitor_id }): JsonBody<ApplyBody>,
) -> Result<Response, Problem> {
    let visitor_id = visitor_id.visitor_id()?;
    let (status, application) = match event.event.apply(&visitor_id).await? {
        Apply::Accepted(application) => {
            event.metrics.accepted.inc();
            (StatusCode::ACCEPTED, application)
        }
        Apply::Same(application) => {
            event.metrics.repeated.inc();
            (StatusCode::OK, application)
        }
        Apply::SoldOut => {
            event.metrics.sold_out.inc();
            return Err(Problem::new(Code::SOLD_OUT));
        }
        Apply::NotOpen { opens_in } => {
            event.metrics.not_open.inc();
            let problem = Problem::new(Code::EVENT_NOT_OPEN);
            return Err(match opens_in {
                Some(opens_in) => problem.retry_after(event.early.schedule(&visitor_id, opens_in)),
                None => problem.detail("the event is over"),
            });
        }
    };
    let token = app.live().applications.sign(event.name(), &visitor_id);
    let view = ApplicationView::new(application, Some(token));
    Ok((status, Json(view)).into_response())
}

/// Get a visitor's application.
#[utoipa::path(
    get, path = "/v1/events/{event}/applications/{visitor_id}", tag = "backends",
    operation_id = "application",
    responses((status = 200, description = "the application", body = ApplicationView),
        StatusProblems),
)]
pub async fn status(
    Backend(event): Backend<EventState>,
    path: Result<Path<VisitorPath>, PathRejection>,
) -> Result<Json<ApplicationView>, Problem> {
    of_visitor(&event, &visitor_in(path)?).await
}

/// Get an event.
///
/// Returns its stock, and the number of applications of each status.
#[utoipa::path(
    get, path = "/v1/events/{event}", tag = "backends", operation_id = "event",
    responses((status = 200, description = "the event", body = EventView<'static>), LookProblems),
)]
pub async fn look(Reader(event): Reader<EventState>) -> Result<Response, Problem> {
    let seen = event.recent().await?;
    Ok(Json(EventView::new(event.name(), &seen.snapshot, seen.age())).into_response())
}

/// The answer with a visitor's application; 404 `not_found` without one.
pub async fn of_visitor(
    event: &EventState,
    visitor_id: &str,
) -> Result<Json<ApplicationView>, Problem> {
    let application = event.event.status(visitor_id).await?;
    let none = || Problem::new(Code::NOT_FOUND).detail("this visitor made no application");
    Ok(Json(ApplicationView::new(application.ok_or_else(none)?, None)))
}

/// The path of a visitor's application; the event in it is read by the caller's extractor.
#[derive(Debug, Deserialize)]
pub struct VisitorPath {
    visitor_id: Identifier,
}

/// The visitor that a path names.
pub fn visitor_in(path: Result<Path<VisitorPath>, PathRejection>) -> Result<String, Problem> {
    let Path(VisitorPath { visitor_id }) =
        path.map_err(|_| Problem::invalid_value("the visitor_id must be UTF-8"))?;
    visitor_id.visitor_id()
}
