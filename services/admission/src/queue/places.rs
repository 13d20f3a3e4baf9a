//! The line as operators read it, page by page.

use anteroom_authorize::problem::Problem;
use anteroom_authorize::queue::state::QueueState;
use anteroom_core::queue::{MAX_PLACES, MAX_TICKET, Status, Ticket};
use axum::response::{IntoResponse as _, Response};

use super::problems::KeyProblems;
use crate::http::caller::Viewer;
use crate::http::pagination::{Parameters, ParsedQuery, Query};
use crate::queue::views::admin::PlacesView;

/// How many places a page shows by default.
pub const DEFAULT_PLACES: u64 = 100;

/// Which part of the line to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    state: Option<Status>,
    after: Ticket,
    limit: u64,
}

/// List the places of a queue.
///
/// In ticket order, page by page. To read on, send `next` of a page as `after` until it is null. A
/// page can have fewer places than `limit`, even none, before the line ends: ended places are
/// skipped, a page reads at most 200 ready and active places, and it ends early in a large gap
/// between tickets. A place that has the requested state while you read all pages is on exactly one
/// of them.
#[utoipa::path(
    get, path = "/v1/admin/queues/{queue}/places", tag = "operators", operation_id = "list_places",
    params(
        ("state" = Option<String>, Query),
        ("after" = Option<u64>, Query),
        ("limit" = Option<u64>, Query),
    ),
    responses((status = 200, description = "the places", body = PlacesView), KeyProblems),
)]
pub async fn places(
    Viewer { entity: queue, .. }: Viewer<QueueState>,
    ParsedQuery(part): ParsedQuery<Part>,
) -> Result<Response, Problem> {
    let found = queue.queue.places(part.state, part.after, part.limit).await?;
    Ok(axum::Json(PlacesView::from(found)).into_response())
}

impl Query for Part {
    const NAMES: &'static [&'static str] = &["state", "after", "limit"];

    fn of(parameters: &Parameters<'_>) -> Result<Self, String> {
        let state = match parameters.text("state") {
            None => None,
            Some(text) => {
                let found = Status::ALL.into_iter().find(|state| state.name() == text);
                Some(found.ok_or_else(|| {
                    format!("state must be one of {}", Status::ALL.map(Status::name).join(", "))
                })?)
            }
        };
        Ok(Self {
            state,
            after: parameters.number("after", 0, MAX_TICKET, 0)?,
            limit: parameters.number("limit", 1, MAX_PLACES, DEFAULT_PLACES)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_names_a_part_of_the_line() {
        let part = |state, after, limit| Ok(Part { state, after, limit });
        assert_eq!(Part::read(""), part(None, 0, 100));
        assert_eq!(Part::read("after=0&limit=1"), part(None, 0, 1));
        assert_eq!(
            Part::read("limit=200&after=9007199254740991&state=away"),
            part(Some(Status::Away), MAX_TICKET, 200)
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_rule() {
        let state = "state must be one of waiting, ready, active, away";
        let after = "after must be a whole number from 0 to 9007199254740991";
        let limit = "limit must be a whole number from 1 to 200";
        for (query, rule) in [
            ("state=gone", state),
            ("state=", state),
            ("state=Ready", state),
            ("after=-1", after),
            ("after=9007199254740992", after),
            ("after=1.5", after),
            ("after=", after),
            ("limit=0", limit),
            ("limit=201", limit),
            ("limit=x", limit),
            ("after=1&after=1", "after must come once"),
            ("offset=1", "unknown parameter `offset`, expected state, after or limit"),
        ] {
            assert_eq!(Part::read(query), Err(rule.to_owned()), "{query}");
        }
    }
}
