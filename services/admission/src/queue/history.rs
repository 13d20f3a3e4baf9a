//! `GET …/history`: the last 15 minutes of a queue, as this process has read them.

use anteroom_authorize::problem::Problem;
use anteroom_authorize::queue::state::QueueState;
use axum::Json;
use axum::response::{IntoResponse as _, Response};

use super::problems::HistoryProblems;
use super::views::history::HistoryView;
use crate::http::caller::Viewer;

/// Get the last 15 minutes of a queue.
///
/// In steps of 5 seconds, from the memory of this process: empty after a start. It costs Redis
/// nothing. Steps in which this process read nothing are left out, such as while Redis was down.
///
/// `admitted`, `missed` and the waits are those of the whole queue, whichever process did it. What
/// a scheduler of version 0.2.0 does is not counted.
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
