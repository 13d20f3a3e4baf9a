//! The calls of backends about a pool. Money is never advice: without the store all are refused.

use anteroom_authorize::problem::{Code, Problem};
use anteroom_authorize::snapshots::Snapshots as _;
use anteroom_core::pool::HoldId;
use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use serde::Deserialize;

use super::body::{AmountOrOption, AmountOrOptionBody, SettleBody, amount};
use super::problems::{
    CancelProblems, ExtendProblems, LookProblems, PoolProblems, ReserveProblems, SettleProblems,
};
use super::views::{BalanceView, HoldLookView, HoldView, PoolView};
use crate::http::caller::{Backend, Reader};
use crate::http::extract::JsonBody;
use crate::pool::state::PoolState;

/// The path of a hold; the pool in it is read by the caller's extractor.
#[derive(Debug, Deserialize)]
pub struct HoldPath {
    hold_id: String,
}

/// Get a pool.
///
/// Returns its sums, and whether the balance covers each option.
#[utoipa::path(
    get, path = "/v1/pools/{pool}", tag = "backends", operation_id = "pool",
    responses((status = 200, description = "the pool", body = PoolView), PoolProblems),
)]
pub async fn pool(Reader(pool): Reader<PoolState>) -> Result<Response, Problem> {
    let seen = pool.recent().await?;
    Ok(Json(PoolView::new(&seen.snapshot, seen.age())).into_response())
}

/// Create a hold: reserve an amount.
///
/// After `hold_ttl` the amount returns to the balance, unless you settle the hold before.
#[utoipa::path(
    post, path = "/v1/pools/{pool}/holds", tag = "backends", operation_id = "hold",
    request_body = AmountOrOption,
    responses((status = 201, description = "the hold", body = HoldView), ReserveProblems),
)]
pub async fn hold(
    Backend(pool): Backend<PoolState>,
    JsonBody(body): JsonBody<AmountOrOptionBody>,
) -> Result<Response, Problem> {
    let (requested, operation_id) = body.checked()?;
    let hold = pool.counted("hold", pool.pool.hold(&requested, &operation_id).await)?;
    Ok((StatusCode::CREATED, Json(HoldView::from(hold))).into_response())
}

/// Get a hold.
///
/// A hold can be read until 1 day after its end.
#[utoipa::path(
    get, path = "/v1/pools/{pool}/holds/{hold_id}", tag = "backends", operation_id = "look_at_hold",
    responses((status = 200, description = "the hold", body = HoldLookView), LookProblems),
)]
pub async fn look(
    Backend(pool): Backend<PoolState>,
    path: Result<Path<HoldPath>, PathRejection>,
) -> Result<Response, Problem> {
    let found = pool.pool.look(named(path)?).await?;
    let found = found.ok_or_else(|| Problem::new(Code::UNKNOWN_HOLD))?;
    Ok(Json(HoldLookView::from(found)).into_response())
}

/// Extend a hold to a full `hold_ttl` from now.
#[utoipa::path(
    post, path = "/v1/pools/{pool}/holds/{hold_id}/extend", tag = "backends",
    operation_id = "extend_hold",
    responses((status = 200, description = "the hold", body = HoldLookView), ExtendProblems),
)]
pub async fn extend(
    Backend(pool): Backend<PoolState>,
    path: Result<Path<HoldPath>, PathRejection>,
) -> Result<Response, Problem> {
    let hold = pool.counted("extend", pool.pool.extend(named(path)?).await)?;
    Ok(Json(HoldLookView::from(hold)).into_response())
}

/// Settle a hold: pay an amount of it and release the rest.
///
/// A hold that has ended is still paid if the balance covers it. Idempotent for the same amount.
#[utoipa::path(
    post, path = "/v1/pools/{pool}/holds/{hold_id}/settle", tag = "backends",
    operation_id = "settle_hold",
    request_body = SettleBody,
    responses((status = 200, description = "paid", body = BalanceView), SettleProblems),
)]
pub async fn settle(
    Backend(pool): Backend<PoolState>,
    path: Result<Path<HoldPath>, PathRejection>,
    JsonBody(body): JsonBody<SettleBody>,
) -> Result<Response, Problem> {
    let (hold, amount) = (named(path)?, amount(body.amount, 0)?);
    let settled = pool.pool.settle(hold, amount).await;
    let settled = pool.counted_payment("settle", settled, |settled| settled.amount)?;
    let view = BalanceView { amount: settled.amount, balance: settled.balance };
    Ok(Json(view).into_response())
}

/// Cancel a hold.
///
/// Nothing is paid. Idempotent, also for a hold that has expired.
#[utoipa::path(
    delete, path = "/v1/pools/{pool}/holds/{hold_id}", tag = "backends",
    operation_id = "cancel_hold",
    responses((status = 204, description = "the hold reserves nothing"), CancelProblems),
)]
pub async fn cancel(
    Backend(pool): Backend<PoolState>,
    path: Result<Path<HoldPath>, PathRejection>,
) -> Result<StatusCode, Problem> {
    pool.counted("cancel", pool.pool.cancel(named(path)?).await)?;
    Ok(StatusCode::NO_CONTENT)
}

/// Pay at once (draw): a hold and its settlement in one call.
#[utoipa::path(
    post, path = "/v1/pools/{pool}/draws", tag = "backends", operation_id = "draw",
    request_body = AmountOrOption,
    responses((status = 201, description = "paid", body = BalanceView), ReserveProblems),
)]
pub async fn draw(
    Backend(pool): Backend<PoolState>,
    JsonBody(body): JsonBody<AmountOrOptionBody>,
) -> Result<Response, Problem> {
    let (requested, operation_id) = body.checked()?;
    let drawn = pool.pool.draw(&requested, &operation_id).await;
    let drawn = pool.counted_payment("draw", drawn, |drawn| drawn.amount)?;
    let view = BalanceView { amount: drawn.amount, balance: drawn.balance };
    Ok((StatusCode::CREATED, Json(view)).into_response())
}

/// The hold that a path names; what is no name of a hold names none.
fn named(path: Result<Path<HoldPath>, PathRejection>) -> Result<HoldId, Problem> {
    let hold = path.ok().and_then(|Path(HoldPath { hold_id })| HoldId::parse(&hold_id));
    hold.ok_or_else(|| Problem::new(Code::UNKNOWN_HOLD))
}
