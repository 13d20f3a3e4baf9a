//! The calls of a backend: join on a visitor's behalf, renew and finish for the protected service,
//! and the state of a queue.

use std::sync::Arc;

use anteroom_authorize::problem::{Code, Problem};
use anteroom_authorize::queue::state::QueueState;
use anteroom_authorize::queue::visits;
use anteroom_core::queue::{JoinedFrom, PlaceId, PlaceRef};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use utoipa::ToSchema;

use super::calls::present_state;
use super::problems::{BackendJoinProblems, BackendRenewProblems, KeyProblems};
use super::views::place::{joined_view, view};
use crate::app::App;
use crate::http::caller::{Backend, Reader};
use crate::http::extract::JsonBody;
use crate::http::identifier::Identifier;
use crate::queue::views::place::PlaceView;
use crate::queue::views::queue::QueueView;

/// The body of a join on behalf.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BackendJoin {
    /// The visitor, named by an id of yours; `.` and `..` are not allowed.
    visitor_id: Identifier,
}

/// The path of a place; the queue in it is read by the caller's extractor.
#[derive(Debug, Deserialize)]
pub struct PlacePath {
    place: String,
}

/// Join on behalf of a visitor.
///
/// Returns the visitor's present place, or a new one. Idempotent for each `visitor_id`.
///
/// Give the token in the answer to the visitor unchanged.
#[utoipa::path(
    post, path = "/v1/queues/{queue}/tokens", tag = "backends", operation_id = "join_on_behalf",
    request_body = BackendJoin,
    responses(
        (status = 201, description = "a new place", body = PlaceView<'static>),
        (status = 200, description = "the visitor already has this place", body = PlaceView<'static>),
        BackendJoinProblems,
    ),
)]
pub async fn join(
    State(app): State<Arc<App>>,
    Backend(queue): Backend<QueueState>,
    JsonBody(BackendJoin { visitor_id }): JsonBody<BackendJoin>,
) -> Result<Response, Problem> {
    let visitor_id = visitor_id.visitor_id()?;
    let id = PlaceId::of_visitor(queue.name(), &visitor_id);
    let joined = visits::join(&queue, id, JoinedFrom::default(), || true).await?;
    let mut view = joined_view(&queue, &joined);
    view.token = Some(joined.token(&app.process, &queue, Some(visitor_id)));
    Ok(view.response(if joined.created { StatusCode::CREATED } else { StatusCode::OK }))
}

/// Extend a visitor's session.
///
/// The path names the place by its handle: the `x-anteroom-place` header of authorize.
#[utoipa::path(
    post, path = "/v1/queues/{queue}/places/{place}/renew", tag = "backends",
    operation_id = "renew_place",
    responses(
        (status = 200, description = "the place", body = PlaceView<'static>),
        BackendRenewProblems,
    ),
)]
pub async fn renew(
    Backend(queue): Backend<QueueState>,
    path: Result<Path<PlacePath>, PathRejection>,
) -> Result<Response, Problem> {
    let place = visits::renew(&queue, named(path)?).await?;
    Ok(view(&queue, &place).response(StatusCode::OK))
}

/// Finish a visitor's session.
///
/// The slot is free at once. Idempotent. The path names the place by its handle: the
/// `x-anteroom-place` header of authorize.
#[utoipa::path(
    delete, path = "/v1/queues/{queue}/places/{place}", tag = "backends",
    operation_id = "finish_place",
    responses((status = 204, description = "the place has ended"), KeyProblems),
)]
pub async fn finish(
    Backend(queue): Backend<QueueState>,
    path: Result<Path<PlacePath>, PathRejection>,
) -> Result<StatusCode, Problem> {
    visits::leave(&queue, named(path)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Get the public state of a queue.
///
/// At most 1 s old, or 5 s if Redis is down.
#[utoipa::path(
    get, path = "/v1/queues/{queue}", tag = "backends", operation_id = "queue_state",
    responses((status = 200, description = "the state", body = QueueView<'static>), KeyProblems),
)]
pub async fn state(Reader(queue): Reader<QueueState>) -> Result<Response, Problem> {
    present_state(&queue).await
}

/// The place that a handle names. A handle that is none costs the store nothing.
fn named(path: Result<Path<PlacePath>, PathRejection>) -> Result<PlaceRef, Problem> {
    path.ok().and_then(|Path(PlacePath { place })| PlaceRef::from_handle(&place)).ok_or_else(|| {
        Problem::new(Code::BAD_REQUEST).detail("the place must be an x-anteroom-place of authorize")
    })
}
