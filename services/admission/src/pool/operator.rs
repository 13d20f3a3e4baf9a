//! What operators call: funds, confirmation, the ledger and its audit.

use std::time::Duration;

use anteroom_authorize::problem::{Code, Problem};
use anteroom_core::pool::{Answer, LedgerFrom, MAX_LINES};
use anteroom_core::rules::MAX_AMOUNT;
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use serde_json::json;

use super::body::{FundsBody, amount};
use super::problems::{ConfirmProblems, FundProblems, LedgerProblems, PoolProblems};
use super::views::{AuditView, BalanceView, LedgerView, PoolView};
use crate::http::audit::CallerGone;
use crate::http::caller::{Operator, Viewer};
use crate::http::extract::JsonBody;
use crate::http::pagination::{Parameters, ParsedQuery, Query};
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
    Operator { entry, entity: pool, key }: Operator<PoolState>,
    JsonBody(body): JsonBody<FundsBody>,
) -> Result<Response, Problem> {
    let operation_id = body.operation_id.checked("operation_id")?;
    let amount = amount(body.amount, 1)?;
    let funded = pool.counted("fund", pool.pool.by(&key).fund(amount, &operation_id).await)?;
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
    Operator { entry, entity: pool, key }: Operator<PoolState>,
) -> Result<Response, Problem> {
    let answer = pool.pool.by(&key).confirm().await;
    let was_unconfirmed = matches!(answer, Ok(Answer::Done(())));
    pool.counted("confirm", answer)?;
    entry.before(json!({ "unconfirmed": was_unconfirmed }));
    let snapshot = pool.pool.snapshot().await?;
    entry.after(json!({ "unconfirmed": snapshot.unconfirmed, "balance": snapshot.sums.balance }));
    Ok(Json(PoolView::new(&snapshot, Duration::ZERO)).into_response())
}

/// Which part of the ledger to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerPage {
    after: Option<u64>,
    before: Option<u64>,
    limit: u64,
}

impl Query for LedgerPage {
    const NAMES: &'static [&'static str] = &["after", "before", "limit"];

    fn of(parameters: &Parameters<'_>) -> Result<Self, String> {
        let optional = |name, least| {
            let given = parameters.text(name).is_some();
            given.then(|| parameters.number(name, least, MAX_AMOUNT, least)).transpose()
        };
        Ok(Self {
            after: optional("after", 0)?,
            before: optional("before", 1)?,
            limit: parameters.number("limit", 1, MAX_LINES, DEFAULT_LINES)?,
        })
    }
}

/// Read the ledger of a pool.
///
/// Page by page: oldest first, or with `before` newest first. To read on, send `next` of a page as
/// `after` or as `before` until it is null. To begin with the newest, send 9007199254740991 as
/// `before`. Movements older than `ledger_keep` are summed up in `opening`.
#[utoipa::path(
    get, path = "/v1/admin/pools/{pool}/ledger", tag = "operators", operation_id = "pool_ledger",
    params(
        ("after" = Option<u64>, Query),
        ("before" = Option<u64>, Query),
        ("limit" = Option<u64>, Query),
    ),
    responses((status = 200, description = "the movements", body = LedgerView), LedgerProblems),
)]
pub async fn ledger(
    Viewer { entity: pool, .. }: Viewer<PoolState>,
    ParsedQuery(page): ParsedQuery<LedgerPage>,
) -> Result<Response, Problem> {
    let from = match (page.after, page.before) {
        (Some(_), Some(_)) => return Err(Problem::invalid_value("send after or before, not both")),
        (None, Some(before)) => LedgerFrom::Before(before),
        (after, None) => LedgerFrom::After(after.unwrap_or(0)),
    };
    let ledger = pool.pool.ledger(from, page.limit).await?;
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
    Operator { entry, entity: pool, .. }: Operator<PoolState>,
    Extension(CallerGone(gone)): Extension<CallerGone>,
) -> Result<Response, Problem> {
    let _alone = pool.audits_alone()?;
    let audit = gone.run_until_cancelled(pool.pool.audit()).await;
    let audit = audit.ok_or_else(|| Problem::new(Code::REQUEST_TIMEOUT))??;
    entry.after(json!({ "holds": audit.holds(), "movements": audit.lines }));
    Ok(Json(AuditView::from(audit)).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_names_a_part_of_the_ledger() {
        let page = |after, before, limit| Ok(LedgerPage { after, before, limit });
        assert_eq!(LedgerPage::read(""), page(None, None, 100));
        assert_eq!(LedgerPage::read("limit=200&after=7"), page(Some(7), None, 200));
        assert_eq!(LedgerPage::read("before=7"), page(None, Some(7), 100));
        for query in ["after=-1", "before=0", "limit=0", "limit=201", "after=1&after=2", "page=1"] {
            assert!(LedgerPage::read(query).is_err(), "{query}");
        }
        let rule = "unknown parameter `page`, expected after, before or limit";
        assert_eq!(LedgerPage::read("page=1"), Err(rule.to_owned()));
    }
}
