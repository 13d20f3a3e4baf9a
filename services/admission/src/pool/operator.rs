//! What operators call: funds, confirmation, the ledger and its audit.

use std::time::Duration;

use anteroom_authorize::problem::{Code, Problem};
use anteroom_core::pool::{Answer, MAX_LINES};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use serde_json::json;

use super::body::{FundsBody, amount};
use super::problems::{ConfirmProblems, FundProblems, PoolProblems};
use super::views::{AuditView, BalanceView, LedgerView, PoolView};
use crate::http::audit::CallerGone;
use crate::http::caller::Operator;
use crate::http::extract::JsonBody;
use crate::http::pagination::{Page, ParsedQuery};
use crate::pool::state::PoolState;

/// How many movements a page shows by default.
pub const DEFAULT_LINES: u64 = 100;

/// Deposit into a pool (budget).
///
/// Safe to retry with the same `operation_id`.
#[utoipa::path(
    post, path = "/v1/admin/pools/{pool}/funds", tag = "operators", operation_id = "fund_pool",
    request_body = FundsBody,
    responses((status = 200, description = "deposited", body = BalanceView), FundProblems),
)]
pub async fn fund(
    Operator { entry, entity: pool }: Operator<PoolState>,
    JsonBody(body): JsonBody<FundsBody>,
) -> Result<Response, Problem> {
    let operation_id = body.operation_id.checked("operation_id")?;
    let amount = amount(body.amount, 1)?;
    let funded = pool.counted("fund", pool.pool.fund(amount, &operation_id).await)?;
    entry.after(json!({ "amount": funded.amount, "balance": funded.balance }));
    let view = BalanceView { amount: funded.amount, balance: funded.balance };
    Ok(Json(view).into_response())
}

/// Confirm a pool after a change of the Redis primary.
///
/// Until then the pool accepts no reservations and payments. Before you confirm, compare the pool
/// and its ledger with the payments that you made: the latest movements can be lost.
#[utoipa::path(
    post, path = "/v1/admin/pools/{pool}/confirm", tag = "operators", operation_id = "confirm_pool",
    responses((status = 200, description = "the pool", body = PoolView), ConfirmProblems),
)]
pub async fn confirm(
    Operator { entry, entity: pool }: Operator<PoolState>,
) -> Result<Response, Problem> {
    let answer = pool.pool.confirm().await;
    let was_unconfirmed = matches!(answer, Ok(Answer::Done(())));
    pool.counted("confirm", answer)?;
    entry.before(json!({ "unconfirmed": was_unconfirmed }));
    let snapshot = pool.pool.snapshot().await?;
    entry.after(json!({ "unconfirmed": snapshot.unconfirmed, "balance": snapshot.sums.balance }));
    Ok(Json(PoolView::new(&snapshot, Duration::ZERO)).into_response())
}

/// Which part of the ledger to show.
pub type LedgerPage = Page<DEFAULT_LINES, MAX_LINES>;

/// Read the ledger of a pool.
///
/// In order, page by page. To read on, send `next` of a page as `after` until it is null. Movements
/// older than `ledger_keep` are summed up in `opening`. To get the newest n movements, read
/// `last_seq` first, and then send `last_seq` − n as `after`.
#[utoipa::path(
    get, path = "/v1/admin/pools/{pool}/ledger", tag = "operators", operation_id = "pool_ledger",
    params(("after" = Option<u64>, Query), ("limit" = Option<u64>, Query)),
    responses((status = 200, description = "the movements", body = LedgerView), PoolProblems),
)]
pub async fn ledger(
    Operator { entity: pool, .. }: Operator<PoolState>,
    ParsedQuery(page): ParsedQuery<LedgerPage>,
) -> Result<Response, Problem> {
    let ledger = pool.pool.ledger(page.after, page.limit).await?;
    Ok(Json(LedgerView::from(ledger)).into_response())
}

/// Audit a pool: recompute its sums from the ledger.
///
/// Can take 5 minutes, and stops if you close the connection. While this process already audits the
/// same pool it returns 503 `overloaded`.
#[utoipa::path(
    post, path = "/v1/admin/pools/{pool}/audit", tag = "operators", operation_id = "audit_pool",
    responses((status = 200, description = "what was found", body = AuditView), PoolProblems),
)]
pub async fn audit(
    Operator { entry, entity: pool }: Operator<PoolState>,
    Extension(CallerGone(gone)): Extension<CallerGone>,
) -> Result<Response, Problem> {
    let _alone = pool.audits_alone()?;
    let audit = gone.run_until_cancelled(pool.pool.audit()).await;
    let audit = audit.ok_or_else(|| Problem::new(Code::REQUEST_TIMEOUT))??;
    entry.after(json!({ "holds": audit.holds(), "movements": audit.lines }));
    Ok(Json(AuditView::from(audit)).into_response())
}
