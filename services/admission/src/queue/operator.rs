//! The calls of an operator: overrides, a new life for a queue, its purge, a look at a ticket,
//! eviction.
//!
//! Each one notes in its entry of the audit log what it found and what it left.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anteroom_authorize::problem::{Code, Problem};
use anteroom_authorize::queue::state::QueueState;
use anteroom_authorize::snapshots::Snapshots as _;
use anteroom_core::queue::{MAX_TICKET, Queue, Snapshot, Ticket};
use anteroom_core::store;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use http::header::ETAG;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::overrides::{Change, Overrides};
use super::problems::{KeyProblems, OverrideProblems, PurgeProblems, TicketProblems};
use super::revision::{etag, expected};
use crate::app::App;
use crate::http::audit::AuditEntry;
use crate::http::caller::{Operator, OperatorOfAny, Viewer};
use crate::http::extract::JsonBody;
use crate::queue::views::admin::{AdminView, TicketView};
use crate::queue::views::queue::QueueView;

/// Get a queue.
///
/// Returns its public state, the rules in force and the overrides with their ends.
#[utoipa::path(
    get, path = "/v1/admin/queues/{queue}", tag = "operators", operation_id = "look_at_queue",
    responses(
        (status = 200, description = "the rules", body = AdminView<'static>,
            headers(("etag" = String, description = "the revision of the rules, for `If-Match`"))),
        KeyProblems,
    ),
)]
pub async fn look(Viewer { entity: queue, .. }: Viewer<QueueState>) -> Result<Response, Problem> {
    let snapshot = queue.queue.snapshot().await?;
    let view = AdminView::new(queue.name(), &snapshot);
    Ok(([(ETAG, etag(snapshot.revision))], axum::Json(view)).into_response())
}

/// Override rules of a queue.
///
/// Each field that you send overrides the configuration until `until`; without `until` the override
/// has no end. `null` removes an override. Fields that you do not send stay as they are. A new
/// `state` without `reason` removes the old reason.
///
/// With `If-Match`, the `ETag` of the rules that you have read, nothing is changed if other rules
/// are in force.
#[utoipa::path(
    patch, path = "/v1/admin/queues/{queue}", tag = "operators", operation_id = "override_rules",
    params(("If-Match" = Option<String>, Header)),
    request_body = Overrides,
    responses(
        (status = 200, description = "the public state", body = QueueView<'static>,
            headers(("etag" = String, description = "the new revision of the rules"))),
        OverrideProblems,
    ),
)]
pub async fn change(
    Operator { entry, entity: queue, key }: Operator<QueueState>,
    headers: HeaderMap,
    JsonBody(overrides): JsonBody<Overrides>,
) -> Result<Response, Problem> {
    let expected = expected(&headers)?;
    let found = queue.queue.snapshot().await?;
    entry.before(AdminView::new(queue.name(), &found).rules());
    if expected.is_some_and(|revision| revision != found.revision) {
        return Err(changed(&queue, &found));
    }
    let now = found.store_time_us / 1_000_000;
    let Change { overrides, until } = overrides.check(now, &found.rules, &found.file)?;
    let by_operator = queue.queue.by(&key);
    let revision = if overrides.is_empty() {
        found.revision
    } else if expected.is_some() {
        match by_operator.override_rules_of(&found, &overrides, until).await? {
            Some(revision) => revision,
            None => return Err(changed(&queue, &queue.queue.snapshot().await?)),
        }
    } else {
        by_operator.override_rules_after(&found, &overrides, until).await?
    };
    let requested_at = Instant::now();
    // The change is made: a failure from here on must not say that nothing was changed.
    let after = queue.queue.snapshot().await;
    let after = after.map_err(|error| store::Error::Unknown(error.to_string()))?;
    entry.after(AdminView::new(queue.name(), &after).rules());
    let view = QueueView::new(queue.name(), &after, Duration::ZERO);
    // Not that of `after`, which another operator may have changed.
    let view = ([(ETAG, etag(revision))], axum::Json(view)).into_response();
    // This process acts on it at once; the others see it within their next second.
    queue.observe(requested_at, after);
    Ok(view)
}

/// The refusal of a change for other rules than these, which are in force.
fn changed(queue: &QueueState, in_force: &Snapshot) -> Problem {
    let rules = AdminView::new(queue.name(), in_force).rules();
    Problem::new(Code::REVISION_CHANGED).current(rules).header(ETAG, etag(in_force.revision))
}

/// Reset a queue.
///
/// Removes all waiting and admitted visitors; tickets restart at 1. Tokens from before the reset
/// return 410 `place_gone` with the reason `lost`. The waiting page then joins again automatically.
/// Rules and overrides stay.
#[utoipa::path(
    post, path = "/v1/admin/queues/{queue}/reset", tag = "operators", operation_id = "reset_queue",
    responses((status = 202, description = "the queue is reset"), KeyProblems),
)]
pub async fn reset(
    Operator { entry, entity: queue, key }: Operator<QueueState>,
) -> Result<StatusCode, Problem> {
    entry.before(counts(&queue).await);
    queue.queue.by(&key).reset().await?;
    // Redis may fail before a snapshot shows the new epoch.
    queue.active_cache.clear();
    queue.line.lose();
    entry.after(counts(&queue).await);
    Ok(StatusCode::ACCEPTED)
}

/// Remove all Redis data of a queue that is no longer configured.
///
/// Idempotent. First remove the queue from the configuration of every admission and scheduler. Then
/// wait for `store.request_timeout`. Otherwise a late PATCH, or a service that still has the queue
/// in its configuration, writes the rules to Redis again.
#[utoipa::path(
    delete, path = "/v1/admin/queues/{queue}", tag = "operators", operation_id = "purge_queue",
    params((
        "queue" = String, Path, description = "name of a queue that is not configured",
        pattern = "^[a-z0-9-]{1,40}$"
    )),
    responses((status = 204, description = "Redis has no data of this queue"), PurgeProblems),
)]
pub async fn purge(
    State(app): State<Arc<App>>,
    OperatorOfAny { entry, name, .. }: OperatorOfAny<QueueState>,
) -> Result<StatusCode, Problem> {
    if app.queue(&name).is_some() {
        return Err(Problem::new(Code::QUEUE_CONFIGURED));
    }
    let found = Queue::purge(&app.process.store, &name).await?;
    entry.before(json!({
        "keys": found.keys, "in_line": found.in_line, "admitted": found.admitted,
    }));
    Ok(StatusCode::NO_CONTENT)
}

/// Look up a ticket.
#[utoipa::path(
    get, path = "/v1/admin/queues/{queue}/places/{ticket}", tag = "operators",
    operation_id = "inspect_ticket",
    responses((status = 200, description = "the ticket", body = TicketView), TicketProblems),
)]
pub async fn inspect(
    Viewer { entry, entity: queue }: Viewer<QueueState>,
    path: Result<Path<TicketPath>, PathRejection>,
) -> Result<Response, Problem> {
    let ticket = ticket(path, &entry)?;
    let found = queue.queue.inspect(ticket).await?.ok_or_else(never_given)?;
    Ok(axum::Json(TicketView::new(ticket, &found)).into_response())
}

/// End the place of a ticket (evict the visitor).
///
/// Idempotent.
#[utoipa::path(
    delete, path = "/v1/admin/queues/{queue}/places/{ticket}", tag = "operators",
    operation_id = "evict_ticket",
    responses((status = 204, description = "the place has ended"), TicketProblems),
)]
pub async fn evict(
    Operator { entry, entity: queue, key }: Operator<QueueState>,
    path: Result<Path<TicketPath>, PathRejection>,
) -> Result<StatusCode, Problem> {
    let ticket = ticket(path, &entry)?;
    let before = queue.queue.inspect(ticket).await?.ok_or_else(never_given)?;
    entry.before(TicketView::new(ticket, &before).to_json());
    let evicted = queue.queue.by(&key).evict(ticket).await;
    queue.line.forget(ticket);
    let evicted = evicted?;
    match evicted {
        Some(place) => {
            queue.active_cache.forget(place);
            queue.metrics.evicted.inc();
        }
        // It had ended, or an earlier attempt of this call ended it and its reply was lost.
        None => queue.active_cache.forget_ticket(ticket),
    }
    entry.after(json!({ "evicted": evicted.is_some() }));
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
        .ok_or_else(|| Problem::new(Code::BAD_REQUEST).detail(format!("the {}", ticket_rule())))?;
    entry.ticket(ticket);
    Ok(ticket)
}

/// What a ticket number must be.
pub fn ticket_rule() -> String {
    format!("ticket must be a whole number from 1 to {MAX_TICKET}")
}

fn never_given() -> Problem {
    Problem::new(Code::NOT_FOUND)
        .detail("no visitor has got this ticket since the queue was last reset")
}

/// The number of places in each state for the audit log. `Null` if Redis does not answer. Also
/// stores the snapshot as the newest of this process.
async fn counts(queue: &QueueState) -> Value {
    let requested_at = Instant::now();
    let Ok(snapshot) = queue.queue.snapshot().await else { return Value::Null };
    let counts = json!({
        "waiting": snapshot.depth, "away": snapshot.away, "ready": snapshot.ready,
        "active": snapshot.active, "last_ticket": snapshot.last_ticket,
    });
    queue.observe(requested_at, snapshot);
    counts
}
