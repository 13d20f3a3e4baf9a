//! What operators call: funds, confirmation, the ledger and its audit.

use std::collections::BTreeMap;

use anteroom_core::pool::MAX_LINES;
use anteroom_core::rules::MAX_AMOUNT;
use axum::Json;
use axum::extract::FromRequestParts;
use axum::response::{IntoResponse as _, Response};
use http::request::Parts;
use serde_json::json;

use super::body::{FundsBody, amount};
use super::problems::{FundProblems, PoolProblems};
use super::view::{AuditView, BalanceView, LedgerView, PoolView};
use crate::http::caller::Operator;
use crate::http::extract::{JsonBody, shortened};
use crate::pool::PoolState;
use crate::problem::{Code, Problem};

/// How many movements a page shows when nobody says.
pub const DEFAULT_LINES: u64 = 100;

/// Puts money in.
#[utoipa::path(
    post, path = "/v1/admin/pools/{pool}/funds", tag = "operators", operation_id = "fund_pool",
    params(("pool" = String, Path, description = "name of the pool")),
    request_body = FundsBody,
    security((), ("key" = [])),
    responses((status = 200, description = "put in", body = BalanceView), FundProblems),
)]
pub async fn fund(
    Operator { entry, entity: pool }: Operator<PoolState>,
    JsonBody(body): JsonBody<FundsBody>,
) -> Result<Response, Problem> {
    let operation_id = body.operation_id.checked("operation_id")?;
    let amount = amount(body.amount, 1)?;
    let funded = pool.told("fund", pool.pool.fund(amount, &operation_id).await)?;
    entry.after(json!({ "amount": funded.amount, "balance": funded.balance }));
    let view = BalanceView { amount: funded.amount, balance: funded.balance };
    Ok(Json(view).into_response())
}

/// Lets money move again after a change of the store's primary. Look at the pool, its ledger and
/// what was paid outside before: the latest movements may be lost.
#[utoipa::path(
    post, path = "/v1/admin/pools/{pool}/confirm", tag = "operators", operation_id = "confirm_pool",
    params(("pool" = String, Path, description = "name of the pool")),
    security((), ("key" = [])),
    responses((status = 200, description = "the pool", body = PoolView), PoolProblems),
)]
pub async fn confirm(
    Operator { entry, entity: pool }: Operator<PoolState>,
) -> Result<Response, Problem> {
    let was_unconfirmed = pool.pool.confirm().await?;
    entry.before(json!({ "unconfirmed": was_unconfirmed }));
    let snapshot = pool.pool.snapshot().await?;
    entry.after(json!({ "unconfirmed": snapshot.unconfirmed, "balance": snapshot.sums.balance }));
    Ok(Json(PoolView::from(&snapshot)).into_response())
}

/// Which part of the ledger is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    after: u64,
    limit: u64,
}

/// The movements of a pool in order, page by page.
///
/// `next` of one page is `after` of the next, until it is null. Those older than `ledger_keep` are
/// summed up in `opening`.
#[utoipa::path(
    get, path = "/v1/admin/pools/{pool}/ledger", tag = "operators", operation_id = "pool_ledger",
    params(
        ("pool" = String, Path, description = "name of the pool"),
        ("after" = Option<u64>, Query, description = "the number behind which the page begins"),
        ("limit" = Option<u64>, Query, description = "how many movements at most"),
    ),
    security((), ("key" = [])),
    responses((status = 200, description = "the movements", body = LedgerView), PoolProblems),
)]
pub async fn ledger(
    Operator { entity: pool, .. }: Operator<PoolState>,
    part: Part,
) -> Result<Response, Problem> {
    let ledger = pool.pool.ledger(part.after, part.limit).await?;
    Ok(Json(LedgerView::from(ledger)).into_response())
}

/// Recomputes what the pool has from its ledger.
#[utoipa::path(
    post, path = "/v1/admin/pools/{pool}/audit", tag = "operators", operation_id = "audit_pool",
    params(("pool" = String, Path, description = "name of the pool")),
    security((), ("key" = [])),
    responses((status = 200, description = "what was found", body = AuditView), PoolProblems),
)]
pub async fn audit(
    Operator { entry, entity: pool }: Operator<PoolState>,
) -> Result<Response, Problem> {
    let audit = pool.pool.audit().await?;
    entry.after(json!({ "holds": audit.holds(), "movements": audit.lines }));
    Ok(Json(AuditView::from(audit)).into_response())
}

impl<S: Sync> FromRequestParts<S> for Part {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        read(parts.uri.query().unwrap_or_default())
            .map_err(|rule| Problem::new(Code::BAD_REQUEST).detail(shortened(rule)))
    }
}

/// Reads a query; else what is wrong with it.
fn read(query: &str) -> Result<Part, String> {
    let mut given = BTreeMap::new();
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        if !["after", "limit"].contains(&&*name) {
            return Err(format!("unknown parameter `{name}`, expected after or limit"));
        }
        if given.insert(name.clone(), value).is_some() {
            return Err(format!("{name} must come once"));
        }
    }
    let number = |name: &str, least: u64, most: u64, default: u64| match given.get(name) {
        None => Ok(default),
        Some(text) => text
            .parse()
            .ok()
            .filter(|number| (least..=most).contains(number))
            .ok_or_else(|| format!("{name} must be a whole number from {least} to {most}")),
    };
    Ok(Part {
        after: number("after", 0, MAX_AMOUNT, 0)?,
        limit: number("limit", 1, MAX_LINES, DEFAULT_LINES)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_names_a_part_of_the_ledger() {
        assert_eq!(read(""), Ok(Part { after: 0, limit: 100 }));
        assert_eq!(read("limit=200&after=7"), Ok(Part { after: 7, limit: 200 }));
        for query in ["after=-1", "limit=0", "limit=201", "after=1&after=2", "page=1"] {
            assert!(read(query).is_err(), "{query}");
        }
    }
}
