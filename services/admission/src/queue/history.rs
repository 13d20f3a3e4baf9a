//! `GET …/history`: the last 15 minutes of a queue, from the memory of this process.

use anteroom_authorize::problem::Problem;
use anteroom_authorize::queue::state::QueueState;
use axum::Json;
use axum::response::{IntoResponse as _, Response};

use super::problems::HistoryProblems;
use super::views::history::HistoryView;
use crate::http::caller::Viewer;

/// Get the last 15 minutes of a queue.
///
/// In steps of 5 seconds, from the memory of this process, which is empty after a start. The call
/// sends no command to Redis. Steps in which this process read nothing are left out, for example
/// while Redis was down.
///
/// `admitted`, `missed` and the waits are those of the whole queue, from all processes. Calls and
/// missed turns of a scheduler or an admission of version 0.2.0 are not counted.
#[utoipa::path(
    get, path = "/v1/admin/queues/{queue}/history", tag = "operators",
    operation_id = "queue_history",
    responses(
        (status = 200, description = "the steps", body = HistoryView<'static>),
        HistoryProblems,
    ),
)]
pub async fn history(
    Viewer { entity: queue, .. }: Viewer<QueueState>,
) -> Result<Response, Problem> {
    Ok(Json(HistoryView::new(queue.name(), queue.history.steps())).into_response())
}
