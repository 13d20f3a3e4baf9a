//! The line as operators read it, page by page.

use std::collections::BTreeMap;

use anteroom_core::queue::{MAX_PLACES, MAX_TICKET, Status, Ticket};
use axum::extract::FromRequestParts;
use axum::response::{IntoResponse as _, Response};
use http::request::Parts;

use super::problems::KeyProblems;
use crate::http::caller::Operator;
use crate::http::extract::shortened;
use crate::http::queue::view::admin::PlacesView;
use crate::problem::{Code, Problem};
use crate::queue::QueueState;

/// How many places a page shows when nobody says.
pub const DEFAULT_PLACES: u64 = 100;

/// Which part of the line is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    state: Option<Status>,
    after: Ticket,
    limit: u64,
}

/// The line in order, page by page: who holds a place, since when, and its handle.
///
/// `next` of one page is `after` of the next, until it is null. A page may hold fewer places than
/// `limit`, even none, although the line goes on: what has ended is passed over, of ready or active
/// places no more than 200 of both are looked at, and a page ends early where tickets stand far
/// apart. Whoever holds a place while all pages are read, in the state that is asked for, is on
/// exactly one of them.
#[utoipa::path(
    get, path = "/v1/admin/queues/{queue}/places", tag = "operators", operation_id = "list_places",
    params(
        ("queue" = String, Path, description = "name of the queue"),
        ("state" = Option<String>, Query, description = "only places in this state"),
        ("after" = Option<u64>, Query, description = "the ticket behind which the page begins"),
        ("limit" = Option<u64>, Query, description = "how many places at most"),
    ),
    security((), ("key" = [])),
    responses((status = 200, description = "the places", body = PlacesView), KeyProblems),
)]
pub async fn places(
    Operator { entity: queue, .. }: Operator<QueueState>,
    part: Part,
) -> Result<Response, Problem> {
    let found = queue.queue.places(part.state, part.after, part.limit).await?;
    Ok(axum::Json(PlacesView::from(found)).into_response())
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
        if !["state", "after", "limit"].contains(&&*name) {
            return Err(format!("unknown parameter `{name}`, expected state, after or limit"));
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
    let state = match given.get("state") {
        None => None,
        Some(text) => {
            let found = Status::ALL.into_iter().find(|state| state.name() == text);
            Some(found.ok_or_else(|| {
                format!("state must be one of {}", Status::ALL.map(Status::name).join(", "))
            })?)
        }
    };
    Ok(Part {
        state,
        after: number("after", 0, MAX_TICKET, 0)?,
        limit: number("limit", 1, MAX_PLACES, DEFAULT_PLACES)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_names_a_part_of_the_line() {
        let part = |state, after, limit| Ok(Part { state, after, limit });
        assert_eq!(read(""), part(None, 0, 100));
        assert_eq!(read("after=0&limit=1"), part(None, 0, 1));
        assert_eq!(
            read("limit=200&after=9007199254740991&state=away"),
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
            assert_eq!(read(query), Err(rule.to_owned()), "{query}");
        }
    }
}
