//! The calls of an operator: overrides, a new life for a queue, its purge, a look at a ticket, eviction.
//!
//! Each one leaves a line in the audit log, with what it found and what it left.

use std::sync::Arc;

use anteroom_core::queue::{MAX_TICKET, Queue, Ticket};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use tracing::Instrument as _;

use super::caller::{Operator, OperatorOfAny};
use super::document::{KeyProblems, OverrideProblems, PurgeProblems, TicketProblems};
use super::extract::JsonBody;
use super::overrides::Overrides;
use super::problem::{Code, Problem};
use crate::admin_view::{AdminView, TicketView};
use crate::app::{App, QueueState};
use crate::audit::Entry;
use crate::keys::Caller;
use crate::queue_view::QueueView;

/// The rules of a queue as they stand: its public state, the rules in force, and which of them are
/// overridden until when.
#[utoipa::path(
    get, path = "/v1/admin/queues/{queue}", tag = "operators", operation_id = "look_at_queue",
    params(("queue" = String, Path, description = "name of the queue")),
    security((), ("key" = [])),
    responses((status = 200, description = "the rules", body = AdminView<'static>), KeyProblems),
)]
pub async fn look(Operator { caller, queue }: Operator) -> Result<Response, Problem> {
    let entry = entry(&caller, "queue.snapshot", &queue, None, Value::Null);
    let snapshot = audited(&entry, queue.queue.snapshot().await)?;
    let view = AdminView::new(queue.name(), &snapshot);
    entry.done(&Value::Null);
    Ok(axum::Json(view).into_response())
}

/// Overrides rules of a queue, each until its end.
///
/// A field that is named is set until `until`, or until it is taken back; null takes it back; all
/// others stay. Naming `state` without `reason` takes the old reason back.
#[utoipa::path(
    patch, path = "/v1/admin/queues/{queue}", tag = "operators", operation_id = "override_rules",
    params(("queue" = String, Path, description = "name of the queue")),
    request_body = Overrides,
    security((), ("key" = [])),
    responses(
        (status = 200, description = "the public state", body = QueueView<'static>),
        OverrideProblems,
    ),
)]
pub async fn change(
    Operator { caller, queue }: Operator,
    JsonBody(overrides): JsonBody<Overrides>,
) -> Result<Response, Problem> {
    to_the_end(async move { override_rules(&caller, &queue, &overrides).await }).await
}

async fn override_rules(
    caller: &Caller,
    queue: &Arc<QueueState>,
    overrides: &Overrides,
) -> Result<Response, Problem> {
    let found = queue.queue.snapshot().await?;
    let before = AdminView::new(queue.name(), &found).rules();
    let entry = entry(caller, "queue.override_rules", queue, None, before);
    let now = found.store_time_us / 1_000_000;
    let change = overrides
        .check(now, &found.rules, &queue.config.rules())
        .inspect_err(|_| entry.failed(Code::InvalidValue.name()))?;
    if !change.overrides.is_empty() {
        let done = queue.queue.override_rules(&change.overrides, change.until).await;
        audited(&entry, done)?;
    }
    let after = queue.queue.snapshot().await;
    entry.done(
        &after.as_ref().map_or(Value::Null, |after| AdminView::new(queue.name(), after).rules()),
    );
    let after = after?;
    let view = axum::Json(QueueView::new(queue.name(), &after)).into_response();
    // This process acts on it at once; the others see it within their next second.
    queue.latest.set(after);
    Ok(view)
}

/// Gives a queue a new life: nobody in line, nobody admitted, tickets from 1.
///
/// Every token of the old life is 410 `place_gone` with the reason `lost`; the waiting page joins
/// again by itself. Rules and overrides stay.
#[utoipa::path(
    post, path = "/v1/admin/queues/{queue}/reset", tag = "operators", operation_id = "reset_queue",
    params(("queue" = String, Path, description = "name of the queue")),
    security((), ("key" = [])),
    responses((status = 202, description = "the new life has begun"), KeyProblems),
)]
pub async fn reset(Operator { caller, queue }: Operator) -> Result<StatusCode, Problem> {
    to_the_end(async move {
        let before = counts(&queue).await;
        let entry = entry(&caller, "queue.reset", &queue, None, before);
        audited(&entry, queue.queue.reset().await)?;
        entry.done(&counts(&queue).await);
        Ok(StatusCode::ACCEPTED)
    })
    .await
}

/// Takes all away that the store holds of a queue which the configuration no longer names.
///
/// The same again when there is nothing. Whoever still has the queue in its configuration, another admission or a
/// scheduler, gives the store its rules again: call this when all have left it out.
#[utoipa::path(
    delete, path = "/v1/admin/queues/{queue}", tag = "operators", operation_id = "purge_queue",
    params((
        "queue" = String, Path, description = "name of a queue that is not configured",
        pattern = "^[a-z0-9-]{1,40}$"
    )),
    security((), ("key" = [])),
    responses((status = 204, description = "the store holds nothing of it"), PurgeProblems),
)]
pub async fn purge(
    State(app): State<Arc<App>>,
    OperatorOfAny { caller, name }: OperatorOfAny,
) -> Result<StatusCode, Problem> {
    to_the_end(async move {
        let entry = Entry {
            caller: &caller,
            operation: "queue.purge",
            queue: &name,
            ticket: None,
            before: Value::Null,
        };
        if app.queue(&name).is_some() {
            entry.failed(Code::QueueConfigured.name());
            return Err(Problem::new(Code::QueueConfigured));
        }
        let found = audited(&entry, Queue::purge(&app.store, &name).await)?;
        let before = json!({
            "keys": found.keys, "in_line": found.in_line, "admitted": found.admitted,
        });
        Entry { before, ..entry }.done(&Value::Null);
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

/// What the store knows of a ticket.
#[utoipa::path(
    get, path = "/v1/admin/queues/{queue}/places/{ticket}", tag = "operators",
    operation_id = "inspect_ticket",
    params(
        ("queue" = String, Path, description = "name of the queue"),
        ("ticket" = u64, Path, description = "the number of the place", minimum = 1),
    ),
    security((), ("key" = [])),
    responses((status = 200, description = "the ticket", body = TicketView), TicketProblems),
)]
pub async fn inspect(
    Operator { caller, queue }: Operator,
    path: Result<Path<TicketPath>, PathRejection>,
) -> Result<Response, Problem> {
    let ticket = ticket(path)?;
    let entry = entry(&caller, "queue.inspect", &queue, Some(ticket), Value::Null);
    let found = audited(&entry, queue.queue.inspect(ticket).await)?;
    entry.done(&Value::Null);
    let view = TicketView::new(ticket, &found.ok_or_else(never_given)?);
    Ok(axum::Json(view).into_response())
}

/// Takes away the place of a ticket. The same again when nobody holds it any more.
#[utoipa::path(
    delete, path = "/v1/admin/queues/{queue}/places/{ticket}", tag = "operators",
    operation_id = "evict_ticket",
    params(
        ("queue" = String, Path, description = "name of the queue"),
        ("ticket" = u64, Path, description = "the number of the place", minimum = 1),
    ),
    security((), ("key" = [])),
    responses((status = 204, description = "gone"), TicketProblems),
)]
pub async fn evict(
    Operator { caller, queue }: Operator,
    path: Result<Path<TicketPath>, PathRejection>,
) -> Result<StatusCode, Problem> {
    let ticket = ticket(path)?;
    to_the_end(async move {
        let before = queue.queue.inspect(ticket).await?.ok_or_else(never_given)?;
        let before = TicketView::new(ticket, &before).to_json();
        let entry = entry(&caller, "queue.evict", &queue, Some(ticket), before);
        let evicted = audited(&entry, queue.queue.evict(ticket).await)?;
        if evicted {
            queue.metrics.evicted.inc();
        }
        entry.done(&json!({ "evicted": evicted }));
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

/// Runs a change to its end, audit line included, also when the caller hangs up in the middle.
async fn to_the_end<T: Send + 'static>(
    change: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::spawn(change.in_current_span()).await;
    done.unwrap_or_else(|panic| Err(Problem::new(Code::Internal).cause(panic.to_string())))
}

/// The path of a ticket; the queue in it is read by the caller's extractor.
#[derive(Debug, Deserialize)]
pub struct TicketPath {
    ticket: Ticket,
}

fn ticket(path: Result<Path<TicketPath>, PathRejection>) -> Result<Ticket, Problem> {
    path.ok()
        .map(|Path(TicketPath { ticket })| ticket)
        .filter(|ticket| (1..=MAX_TICKET).contains(ticket))
        .ok_or_else(|| {
            let rule = format!("the ticket must be a whole number from 1 to {MAX_TICKET}");
            Problem::new(Code::BadRequest).detail(rule)
        })
}

fn never_given() -> Problem {
    Problem::new(Code::NotFound).detail("this ticket was never given in the queue's present life")
}

fn entry<'a>(
    caller: &'a Caller,
    operation: &'static str,
    queue: &'a Arc<QueueState>,
    ticket: Option<Ticket>,
    before: Value,
) -> Entry<'a> {
    Entry { caller, operation, queue: queue.name(), ticket, before }
}

/// The outcome of an operation; a failure is written down, for its effect may be unknown.
fn audited<T>(
    entry: &Entry<'_>,
    outcome: Result<T, anteroom_core::store::Error>,
) -> Result<T, Problem> {
    outcome.map_err(|error| {
        entry.failed(error.kind());
        error.into()
    })
}

/// How many there are of each kind, for the audit log; null when nobody can say. Puts what it finds
/// in force for this process.
async fn counts(queue: &QueueState) -> Value {
    let Ok(snapshot) = queue.queue.snapshot().await else { return Value::Null };
    let (waiting, away) = (snapshot.depth, snapshot.away);
    let (ready, active, last_ticket) = (snapshot.ready, snapshot.active, snapshot.last_ticket);
    queue.latest.set(snapshot);
    json!({
        "waiting": waiting, "away": away, "ready": ready, "active": active,
        "last_ticket": last_ticket,
    })
}
