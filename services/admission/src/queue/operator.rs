//! The calls of an operator: overrides, a new life for a queue, its purge, a look at a ticket,
//! eviction.
//!
//! Each one notes in its entry of the audit log what it found and what it left.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anteroom_core::queue::{MAX_TICKET, Queue, Ticket};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::overrides::Overrides;
use super::problems::{KeyProblems, OverrideProblems, PurgeProblems, TicketProblems};
use crate::app::App;
use crate::http::audit::AuditEntry;
use crate::http::caller::{Operator, OperatorOfAny};
use crate::http::extract::JsonBody;
use crate::problem::{Code, Problem};
use crate::queue::state::QueueState;
use crate::queue::views::admin::{AdminView, TicketView};
use crate::queue::views::queue::QueueView;

/// The rules of a queue as they stand: its public state, the rules in force, and which of them are
/// overridden until when.
#[utoipa::path(
    get, path = "/v1/admin/queues/{queue}", tag = "operators", operation_id = "look_at_queue",
    responses((status = 200, description = "the rules", body = AdminView<'static>), KeyProblems),
)]
pub async fn look(
    Operator { entity: queue, .. }: Operator<QueueState>,
) -> Result<Response, Problem> {
    let snapshot = queue.queue.snapshot().await?;
    Ok(axum::Json(AdminView::new(queue.name(), &snapshot)).into_response())
}

/// Overrides rules of a queue, each until its end.
///
/// A field that is named is set until `until`, or until it is taken back; null takes it back; all
/// others stay. Naming `state` without `reason` takes the old reason back.
#[utoipa::path(
    patch, path = "/v1/admin/queues/{queue}", tag = "operators", operation_id = "override_rules",
    request_body = Overrides,
    responses(
        (status = 200, description = "the public state", body = QueueView<'static>),
        OverrideProblems,
    ),
)]
pub async fn change(
    Operator { entry, entity: queue }: Operator<QueueState>,
    JsonBody(overrides): JsonBody<Overrides>,
) -> Result<Response, Problem> {
    let found = queue.queue.snapshot().await?;
    entry.before(AdminView::new(queue.name(), &found).rules());
    let now = found.store_time_us / 1_000_000;
    let change = overrides.check(now, &found.rules, &queue.config.rules)?;
    if !change.overrides.is_empty() {
        queue.queue.override_rules(&change.overrides, change.until).await?;
    }
    let requested_at = Instant::now();
    let after = queue.queue.snapshot().await?;
    entry.after(AdminView::new(queue.name(), &after).rules());
    let view = axum::Json(QueueView::new(queue.name(), &after, Duration::ZERO)).into_response();
    // This process acts on it at once; the others see it within their next second.
    queue.latest.set(requested_at, after);
    Ok(view)
}

/// Gives a queue a new life: nobody in line, nobody admitted, tickets from 1.
///
/// Every token of the old life is 410 `place_gone` with the reason `lost`; the waiting page joins
/// again by itself. Rules and overrides stay.
#[utoipa::path(
    post, path = "/v1/admin/queues/{queue}/reset", tag = "operators", operation_id = "reset_queue",
    responses((status = 202, description = "the new life has begun"), KeyProblems),
)]
pub async fn reset(
    Operator { entry, entity: queue }: Operator<QueueState>,
) -> Result<StatusCode, Problem> {
    entry.before(counts(&queue).await);
    queue.queue.reset().await?;
    entry.after(counts(&queue).await);
    Ok(StatusCode::ACCEPTED)
}

/// Takes all away that the store holds of a queue which the configuration no longer names.
///
/// The same again when there is nothing. Whoever still has the queue in its configuration, another
/// admission or a scheduler, gives the store its rules again: call this when all have left it out.
#[utoipa::path(
    delete, path = "/v1/admin/queues/{queue}", tag = "operators", operation_id = "purge_queue",
    params((
        "queue" = String, Path, description = "name of a queue that is not configured",
        pattern = "^[a-z0-9-]{1,40}$"
    )),
    responses((status = 204, description = "the store holds nothing of it"), PurgeProblems),
)]
pub async fn purge(
    State(app): State<Arc<App>>,
    OperatorOfAny { entry, name, .. }: OperatorOfAny<QueueState>,
) -> Result<StatusCode, Problem> {
    if app.queue(&name).is_some() {
        return Err(Problem::new(Code::QUEUE_CONFIGURED));
    }
    let found = Queue::purge(&app.store, &name).await?;
    entry.before(json!({
        "keys": found.keys, "in_line": found.in_line, "admitted": found.admitted,
    }));
    Ok(StatusCode::NO_CONTENT)
}

/// What the store knows of a ticket.
#[utoipa::path(
    get, path = "/v1/admin/queues/{queue}/places/{ticket}", tag = "operators",
    operation_id = "inspect_ticket",
    responses((status = 200, description = "the ticket", body = TicketView), TicketProblems),
)]
pub async fn inspect(
    Operator { entry, entity: queue }: Operator<QueueState>,
    path: Result<Path<TicketPath>, PathRejection>,
) -> Result<Response, Problem> {
    let ticket = ticket(path, &entry)?;
    let found = queue.queue.inspect(ticket).await?.ok_or_else(never_given)?;
    Ok(axum::Json(TicketView::new(ticket, &found)).into_response())
}

/// Takes away the place of a ticket. The same again when nobody holds it any more.
#[utoipa::path(
    delete, path = "/v1/admin/queues/{queue}/places/{ticket}", tag = "operators",
    operation_id = "evict_ticket",
    responses((status = 204, description = "gone"), TicketProblems),
)]
pub async fn evict(
    Operator { entry, entity: queue }: Operator<QueueState>,
    path: Result<Path<TicketPath>, PathRejection>,
) -> Result<StatusCode, Problem> {
    let ticket = ticket(path, &entry)?;
    let before = queue.queue.inspect(ticket).await?.ok_or_else(never_given)?;
    entry.before(TicketView::new(ticket, &before).to_json());
    let evicted = queue.queue.evict(ticket).await?;
    if evicted {
        queue.metrics.evicted.inc();
    }
    entry.after(json!({ "evicted": evicted }));
    Ok(StatusCode::NO_CONTENT)
}

/// The path of a ticket; the queue in it is read by the caller's extractor.
#[derive(Debug, Deserialize)]
pub struct TicketPath {
    ticket: Ticket,
}

fn ticket(
    path: Result<Path<TicketPath>, PathRejection>,
    entry: &AuditEntry,
) -> Result<Ticket, Problem> {
    let ticket = path
        .ok()
        .map(|Path(TicketPath { ticket })| ticket)
        .filter(|ticket| (1..=MAX_TICKET).contains(ticket))
        .ok_or_else(|| {
            let rule = format!("the ticket must be a whole number from 1 to {MAX_TICKET}");
            Problem::new(Code::BAD_REQUEST).detail(rule)
        })?;
    entry.ticket(ticket);
    Ok(ticket)
}

fn never_given() -> Problem {
    Problem::new(Code::NOT_FOUND).detail("this ticket was never given in the queue's present life")
}

/// The number of places in each state, for the audit log; null if Redis does not answer. Also takes
/// the snapshot as the newest of this process.
async fn counts(queue: &QueueState) -> Value {
    let requested_at = Instant::now();
    let Ok(snapshot) = queue.queue.snapshot().await else { return Value::Null };
    let counts = json!({
        "waiting": snapshot.depth, "away": snapshot.away, "ready": snapshot.ready,
        "active": snapshot.active, "last_ticket": snapshot.last_ticket,
    });
    queue.latest.set(requested_at, snapshot);
    counts
}
