//! What operators call.

use std::sync::Arc;

use anteroom_authorize::limit::state::LimitState;
use anteroom_authorize::problem::Problem;
use anteroom_core::changes::By;
use axum::extract::State;
use http::StatusCode;
use serde_json::json;

use super::body::ForgetBody;
use super::problems::ForgetProblems;
use crate::app::App;
use crate::http::caller::Operator;
use crate::http::extract::JsonBody;

/// Reset a key of a limit.
///
/// All its units are available at once. Other processes can refuse the key for up to 1 s more.
/// Idempotent.
#[utoipa::path(
    post, path = "/v1/admin/limits/{limit}/forget", tag = "operators",
    operation_id = "forget_limit_key",
    request_body = ForgetBody,
    responses((status = 204, description = "the key is reset"), ForgetProblems),
)]
pub async fn forget(
    State(app): State<Arc<App>>,
    Operator { entry, entity: limit, key: by }: Operator<LimitState>,
    JsonBody(ForgetBody { key, group }): JsonBody<ForgetBody>,
) -> Result<StatusCode, Problem> {
    let key = key.checked("key")?;
    let group = group.map(|group| group.checked("group")).transpose()?;
    let by = By::operator(&by);
    let found = app.limits.forget(&limit.name, &key, group.as_deref(), &by).await?;
    // The key is not audited: it may identify a person.
    entry.before(json!({ "found": found }));
    Ok(StatusCode::NO_CONTENT)
}
