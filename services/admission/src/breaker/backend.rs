//! The calls of backends about a target. A target is advice: while Redis is down the answer is the
//! last known window, and says so.

use anteroom_authorize::durations::millis;
use anteroom_authorize::problem::{Code, Problem};
use anteroom_authorize::snapshots::Snapshots as _;
use anteroom_core::breaker::{PermitId, Recorded};
use axum::Json;
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use utoipa::ToSchema;

use super::body::{OutcomeBody, too_many};
use super::problems::{LookProblems, PermitProblems, RecordProblems};
use super::views::{LookView, PermitView, StateView, TargetView};
use crate::breaker::state::{BreakerState, Degraded};
use crate::http::caller::{Backend, Reader};
use crate::http::extract::JsonBody;

/// Report the outcome of one or several calls to a target (circuit breaker).
///
/// Returns the window with the new outcomes, and whether to use the fallback. Without an `id`, a
/// retry counts again.
#[utoipa::path(
    post, path = "/v1/targets/{target}/outcomes", tag = "backends", operation_id = "record_outcome",
    request_body = OutcomeBody,
    responses(
        (status = 200, description = "the window, with the new outcomes", body = TargetView),
        RecordProblems,
    ),
)]
pub async fn record(
    Backend(target): Backend<BreakerState>,
    JsonBody(body): JsonBody<OutcomeBody>,
) -> Result<Response, Problem> {
    let rules = &target.rules;
    let outcome = body.outcome(rules)?;
    let window = match target.target.record(rules, &outcome).await {
        Ok(Recorded::Counted(window)) => {
            target.metrics.successes.inc_by(u64::from(outcome.successes));
            target.metrics.failures.inc_by(u64::from(outcome.failures));
            window
        }
        Ok(Recorded::Repeated(window)) => window,
        Ok(Recorded::Mismatch) => return Err(Problem::new(Code::OPERATION_MISMATCH)),
        Ok(Recorded::TooMany) => return Err(too_many(rules)),
        Err(error) => {
            let known = target.without_store(&error)?;
            return Ok(Json(TargetView::degraded(rules, known)).into_response());
        }
    };
    target.last_known.note(window);
    Ok(Json(TargetView::new(rules, window)).into_response())
}

/// The body of a request for a permit: no fields.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = PermitQuestion)]
#[serde(deny_unknown_fields)]
pub struct PermitBody {}

/// Ask for permission to call a target (circuit breaker).
///
/// While the target is half open, `probes` calls at a time are allowed, of all callers together.
/// Each gets a permit: send it with the outcome.
#[utoipa::path(
    post, path = "/v1/targets/{target}/permits", tag = "backends", operation_id = "ask_for_permit",
    request_body = PermitBody,
    responses(
        (status = 200, description = "whether the call is allowed", body = PermitView),
        PermitProblems,
    ),
)]
pub async fn permit(
    Backend(target): Backend<BreakerState>,
    JsonBody(PermitBody {}): JsonBody<PermitBody>,
) -> Result<Response, Problem> {
    let error = match target.target.permit(&target.rules, PermitId::random()).await {
        Ok(permission) => return Ok(Json(PermitView::new(permission)).into_response()),
        Err(error) => error,
    };
    let (allowed, state) = match target.without_store(&error)? {
        Degraded::Known(window) => (!window.state.is_fallback(), window.state.into()),
        Degraded::Unknown => (true, StateView::Unknown),
    };
    let retry_after_ms = (!allowed).then(|| millis(target.retries.schedule_default()));
    let view = PermitView { allowed, permit: None, retry_after_ms, state, degraded: true };
    Ok(Json(view).into_response())
}

/// Get the state of a target (circuit breaker).
///
/// Reads its window and counts nothing.
#[utoipa::path(
    get, path = "/v1/targets/{target}", tag = "backends", operation_id = "target",
    responses((status = 200, description = "the window", body = LookView), LookProblems),
)]
pub async fn look(Reader(target): Reader<BreakerState>) -> Result<Json<LookView>, Problem> {
    let rules = &target.rules;
    Ok(Json(match target.recent().await {
        Ok(seen) => LookView::new(rules, &seen.snapshot, seen.age()),
        Err(error) => LookView::degraded(rules, target.without_store(&error)?),
    }))
}
