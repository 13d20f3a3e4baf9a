//! An operator looks for a place by what is known of its visitor.

use anteroom_authorize::problem::{Code, Problem};
use anteroom_authorize::queue::state::QueueState;
use anteroom_core::queue::{MAX_TICKET, PlaceId, PlaceName, PlaceRef, Ticket};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use utoipa::ToSchema;

use super::operator::ticket_rule;
use super::problems::FindProblems;
use crate::http::caller::Viewer;
use crate::http::extract::JsonBody;
use crate::http::identifier::Identifier;
use crate::queue::views::admin::TicketView;

/// What an operator looks for: exactly one of these.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FindPlace {
    /// A ticket number.
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_u64, example = 1042)]
    ticket: Option<Ticket>,
    /// A place handle: the `x-anteroom-place` header of authorize.
    #[schema(pattern = "^[A-Za-z0-9_-]{40}$")]
    handle: Option<String>,
    /// The id of a visitor whom your backend identifies.
    visitor_id: Option<Identifier>,
}

impl FindPlace {
    fn named(self, queue: &QueueState) -> Result<PlaceName, Problem> {
        match (self.ticket, self.handle, self.visitor_id) {
            (Some(ticket), None, None) if (1..=MAX_TICKET).contains(&ticket) => {
                Ok(PlaceName::Ticket(ticket))
            }
            (Some(_), None, None) => Err(Problem::invalid_value(ticket_rule())),
            (None, Some(handle), None) => {
                let place = PlaceRef::from_handle(&handle).map(PlaceName::Handle);
                let rule = "handle must be an x-anteroom-place of authorize";
                place.ok_or_else(|| Problem::invalid_value(rule))
            }
            (None, None, Some(visitor_id)) => {
                let visitor_id = visitor_id.visitor_id()?;
                Ok(PlaceName::Holder(PlaceId::of_visitor(queue.name(), &visitor_id)))
            }
            _ => {
                let rule = "send exactly one of ticket, handle and visitor_id";
                Err(Problem::invalid_value(rule))
            }
        }
    }
}

/// Find a place by its ticket, its handle or its visitor.
///
/// The body names it, so no id is in a URL or an access log. A visitor is found while it has a
/// place.
#[utoipa::path(
    post, path = "/v1/admin/queues/{queue}/places/find", tag = "operators",
    operation_id = "find_place", request_body = FindPlace,
    responses((status = 200, description = "the ticket", body = TicketView), FindProblems),
)]
pub async fn find(
    Viewer { entry, entity: queue }: Viewer<QueueState>,
    JsonBody(wanted): JsonBody<FindPlace>,
) -> Result<Response, Problem> {
    let found = queue.queue.find(wanted.named(&queue)?).await?;
    let (ticket, found) = found.ok_or_else(|| {
        Problem::new(Code::NOT_FOUND).detail("the queue has no such place since it was last reset")
    })?;
    entry.ticket(ticket);
    Ok(axum::Json(TicketView::new(ticket, &found)).into_response())
}
