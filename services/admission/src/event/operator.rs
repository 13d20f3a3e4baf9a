//! What operators call: more stock, and the dead letters.
//!
//! Each one notes in its entry of the audit log what it left.

use anteroom_authorize::problem::{Code, Problem};
use anteroom_core::event::{AddStock, MAX_DEAD, Retried};
use anteroom_core::rules::MAX_AMOUNT;
use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use super::backend::{VisitorPath, visitor_in};
use super::problems::{DeadProblems, LookProblems, StatusProblems, StockProblems};
use super::views::{DeadLettersView, RetriedView, StockView};
use crate::event::state::EventState;
use crate::http::caller::{Operator, Viewer};
use crate::http::extract::JsonBody;
use crate::http::identifier::Identifier;
use crate::http::pagination::{Page, ParsedQuery};
use crate::http::whole::whole;

/// The body of a call that adds stock.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddStockBody {
    /// The number of items: a whole number, in digits only.
    #[serde(deserialize_with = "whole")]
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_i64)]
    add: u64,
    /// The name of this call. A retry with the same name within 24 h adds nothing.
    operation_id: Identifier,
}

/// Add stock to an event.
///
/// Visitors who already got the answer sold out stay sold out.
#[utoipa::path(
    post, path = "/v1/admin/events/{event}/stock", tag = "operators", operation_id = "add_stock",
    request_body = AddStockBody,
    responses((status = 200, description = "the stock is added", body = StockView), StockProblems),
)]
pub async fn add_stock(
    Operator { entry, entity: event, key }: Operator<EventState>,
    JsonBody(AddStockBody { add, operation_id }): JsonBody<AddStockBody>,
) -> Result<Response, Problem> {
    let operation_id = operation_id.checked("operation_id")?;
    if !(1..=MAX_AMOUNT).contains(&add) {
        let rule = format!("add must be a whole number from 1 to {MAX_AMOUNT}");
        return Err(Problem::invalid_value(rule));
    }
    let (stock, repeated) = match event.event.by(&key).add_stock(&operation_id, add).await? {
        AddStock::Added(stock) => (stock, false),
        AddStock::Repeated(stock) => (stock, true),
        AddStock::Mismatch => return Err(Problem::new(Code::OPERATION_MISMATCH)),
        AddStock::TooLarge => {
            let rule = format!("add would make the stock more than {MAX_AMOUNT}");
            return Err(Problem::invalid_value(rule));
        }
    };
    entry.after(json!({ "stock": stock, "added": add, "repeated": repeated }));
    Ok(Json(StockView { stock }).into_response())
}

/// List the failed applications (dead letters).
///
/// In the order of the applications, page by page. To read on, send `next` of a page as `after`
/// until it is null.
#[utoipa::path(
    get, path = "/v1/admin/events/{event}/dead", tag = "operators",
    operation_id = "list_dead_letters",
    params(("after" = Option<u64>, Query), ("limit" = Option<u64>, Query)),
    responses((status = 200, description = "a page", body = DeadLettersView), DeadProblems),
)]
pub async fn dead(
    Viewer { entity: event, .. }: Viewer<EventState>,
    ParsedQuery(Page { after, limit }): ParsedQuery<Page<MAX_DEAD, MAX_DEAD>>,
) -> Result<Response, Problem> {
    let found = event.event.dead(after, limit).await?;
    Ok(Json(DeadLettersView::from(found)).into_response())
}

/// Retry all failed applications (dead letters).
///
/// They go to the front of the line in their old order, with all attempts restored. One call
/// retries as many as it has time for: repeat it while `dead` is not 0. An application that fails
/// again meanwhile stays a dead letter.
#[utoipa::path(
    post, path = "/v1/admin/events/{event}/dead/retry", tag = "operators",
    operation_id = "retry_dead_letters",
    responses((status = 202, description = "they are retried", body = RetriedView),
        LookProblems),
)]
pub async fn retry_all_dead(
    Operator { entry, entity: event, key }: Operator<EventState>,
) -> Result<Response, Problem> {
    let Retried { retried, dead } = event.event.by(&key).retry_all_dead().await?;
    entry.after(json!({ "retried": retried, "dead": dead }));
    Ok((StatusCode::ACCEPTED, Json(RetriedView { retried, dead })).into_response())
}

/// Retry a failed application (dead letter).
///
/// It goes to the front of the line in its old order, with all attempts restored. Idempotent.
#[utoipa::path(
    post, path = "/v1/admin/events/{event}/dead/{visitor_id}/retry", tag = "operators",
    operation_id = "retry_dead_letter",
    responses((status = 202, description = "it is retried"), StatusProblems),
)]
pub async fn retry_dead(
    Operator { entry, entity: event, key }: Operator<EventState>,
    path: Result<Path<VisitorPath>, PathRejection>,
) -> Result<StatusCode, Problem> {
    if event.event.by(&key).retry_dead(&[&visitor_in(path)?]).await?.retried == 0 {
        return Err(none());
    }
    // The visitor is in no log.
    entry.after(json!({ "retried": true }));
    Ok(StatusCode::ACCEPTED)
}

/// Give up a failed application (dead letter).
///
/// It has failed permanently. Its item goes to the next applicant, or back to the stock. Write the
/// visitor id `retry` as `%72etry`: without that, the path is that of the call that retries all.
#[utoipa::path(
    delete, path = "/v1/admin/events/{event}/dead/{visitor_id}", tag = "operators",
    operation_id = "give_up_dead_letter",
    responses((status = 204, description = "it has failed permanently"), StatusProblems),
)]
pub async fn give_up(
    Operator { entry, entity: event, key }: Operator<EventState>,
    path: Result<Path<VisitorPath>, PathRejection>,
) -> Result<StatusCode, Problem> {
    if !event.event.by(&key).give_up(&visitor_in(path)?).await? {
        return Err(none());
    }
    entry.after(json!({ "given_up": true }));
    Ok(StatusCode::NO_CONTENT)
}

fn none() -> Problem {
    Problem::new(Code::NOT_FOUND).detail("this visitor has no dead letter")
}
