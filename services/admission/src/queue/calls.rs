//! The calls of a visitor: join, look, claim, renew, leave; and the public state of a queue.

use std::sync::Arc;

use anteroom_authorize::callers::single::single;
use anteroom_authorize::problem::{Code, Problem};
use anteroom_authorize::queue::state::QueueState;
use anteroom_authorize::queue::visitor::{Held, Visitor};
use anteroom_authorize::queue::visits::{self, Joined};
use anteroom_authorize::snapshots::Snapshots as _;
use anteroom_core::queue::{Place, PlaceId, PlaceRef};
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use http::header::{HeaderMap, HeaderName, SET_COOKIE};
use serde::Deserialize;
use utoipa::ToSchema;

use super::caller::ByVisitor;
use super::problems::{
    ClaimProblems, HolderProblems, JoinProblems, LeaveProblems, QueueProblems, RenewProblems,
};
use super::views::place::{joined_view, view};
use crate::app::App;
use crate::http::extract::{At, json_body};
use crate::queue::views::place::PlaceView;
use crate::queue::views::queue::QueueView;

/// Names a join that may be sent again; as secret as the token.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The body of a join.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JoinBody {
    /// The signed identity of a visitor: your backend signs it for a visitor that it knows.
    #[serde(default)]
    assertion: Option<String>,
}

/// Join the queue.
///
/// With an assertion, returns the place of the visitor that it names. With a valid token, returns
/// the place of the token. If that place has ended and its visitor was identified, returns
/// `assertion_missing`. In all other cases returns the place of the `Idempotency-Key`, or a new
/// place. Browsers get the token as a cookie, other clients in the body.
#[utoipa::path(
    post, path = "/v1/queues/{queue}/tokens", tag = "visitors",
    params(("Idempotency-Key" = Option<String>, Header)),
    request_body = JoinBody,
    security((), ("token" = []), ("cookie" = [])),
    responses(
        (status = 201, description = "a new place", body = PlaceView<'static>),
        (status = 200, description = "the visitor already has this place", body = PlaceView<'static>),
        JoinProblems,
    ),
)]
pub async fn join(
    State(app): State<Arc<App>>,
    ByVisitor(visitor): ByVisitor,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    visitor.may_change()?;
    // Also where a token or an assertion decides: the same call may come again without.
    let keyed = keyed(&visitor.queue, &headers)?;
    let body: JoinBody = json_body(&headers, body, &app).await?;
    let queue = &visitor.queue;
    let (id, visitor_id) = match body.assertion {
        Some(assertion) => {
            let visitor_id = identified(&app, queue, &assertion)?;
            (Some(PlaceId::of_visitor(queue.name(), &visitor_id)), Some(visitor_id))
        }
        None => {
            // Boxed, because it is rare and larger than all the rest.
            if visitor.held != Held::Nothing
                && let Some((joined, visitor_id)) = Box::pin(held(&visitor)).await?
            {
                let token = joined.token(&app.process, queue, visitor_id);
                return joined_response(&visitor, &joined, token);
            }
            (keyed, None)
        }
    };
    let joined = visits::join_from(&app.process, &visitor, id).await?;
    let token = joined.token(&app.process, queue, visitor_id);
    joined_response(&visitor, &joined, token)
}

/// The place of the visitor's token and the visitor_id in it, until the place ends. The token of an
/// ended place counts as none; but only the backend can say who an identified visitor is.
pub async fn held(visitor: &Visitor) -> Result<Option<(Joined, Option<String>)>, Problem> {
    if visitor.held == Held::Nothing {
        return Ok(None);
    }
    let token = visitor.holder()?;
    match visits::held(&visitor.queue, token.place).await? {
        Some(joined) => Ok(Some((joined, token.visitor_id.clone()))),
        None if token.visitor_id.is_some() => Err(Problem::new(Code::ASSERTION_MISSING)),
        None => Ok(None),
    }
}

/// The identity of an `Idempotency-Key`, if one came.
fn keyed(queue: &QueueState, headers: &HeaderMap) -> Result<Option<PlaceId>, Problem> {
    match single(headers, &IDEMPOTENCY_KEY)? {
        None => Ok(None),
        Some(key) if is_strong_key(key.as_bytes()) => {
            Ok(Some(PlaceId::of_key(queue.name(), key.as_bytes())))
        }
        Some(_) => Err(Problem::new(Code::BAD_REQUEST)
            .detail("Idempotency-Key must be 22 to 128 printable ASCII characters")),
    }
}

/// 128 bits are 22 characters of base64url: a shorter key can be found by trying.
pub fn is_strong_key(key: &[u8]) -> bool {
    (22..=128).contains(&key.len()) && key.iter().all(u8::is_ascii_graphic)
}

/// The visitor whom an assertion identifies.
fn identified(app: &App, queue: &QueueState, assertion: &str) -> Result<String, Problem> {
    // The clock of Redis decides whether it has expired.
    let seen = queue
        .latest
        .get()
        .ok_or_else(|| Problem::new(Code::STORE_UNAVAILABLE).retry_after(queue.retry()))?;
    let now = seen.redis_time_us() / 1_000_000;
    app.live()
        .assertions
        .verify(queue.name(), assertion, now)
        .map_err(|error| Problem::new(Code::ASSERTION_INVALID).detail(error.to_string()))
}

fn joined_response(visitor: &Visitor, joined: &Joined, token: String) -> Result<Response, Problem> {
    let status = if joined.created { StatusCode::CREATED } else { StatusCode::OK };
    let mut view = joined_view(&visitor.queue, joined);
    if visitor.is_browser {
        let mut response = view.response(status);
        response.headers_mut().append(SET_COOKIE, visitor.cookie(&token)?);
        Ok(response)
    } else {
        view.token = Some(token);
        Ok(view.response(status))
    }
}

/// Get your place in line.
///
/// Also the heartbeat: poll after `poll_after_ms`. Never enters: call `claim` for that.
#[utoipa::path(
    get, path = "/v1/queues/{queue}/token", tag = "visitors",
    params(("x-anteroom-position" = Option<u64>, Header)),
    security(("token" = []), ("cookie" = [])),
    responses((status = 200, description = "the place", body = PlaceView<'static>), HolderProblems),
)]
pub async fn place(ByVisitor(visitor): ByVisitor) -> Result<Response, Problem> {
    let of = visitor.holder()?.place;
    place_of(visitor, of).await
}

/// The place of the token that the visitor holds.
pub async fn place_of(visitor: Visitor, of: PlaceRef) -> Result<Response, Problem> {
    Ok(shown(&visitor, visits::look(&visitor.queue, of).await?))
}

/// The same if it needs no call to Redis.
pub fn local_place_of(visitor: &Visitor, of: PlaceRef) -> Option<Response> {
    Some(shown(visitor, visits::polled_locally(&visitor.queue, of)?))
}

fn shown(visitor: &Visitor, place: Place) -> Response {
    view(&visitor.queue, &place.at_most(visitor.last_position)).response(StatusCode::OK)
}

/// Enter: change a ready place to active.
///
/// Safe to retry: an active place stays active.
#[utoipa::path(
    post, path = "/v1/queues/{queue}/token/claim", tag = "visitors",
    security(("token" = []), ("cookie" = [])),
    responses((status = 200, description = "the place", body = PlaceView<'static>), ClaimProblems),
)]
pub async fn claim(ByVisitor(visitor): ByVisitor) -> Result<Response, Problem> {
    visitor.may_change()?;
    let of = visitor.holder()?.place;
    let place = visits::claim(&visitor.queue, of).await?;
    Ok(view(&visitor.queue, &place).response(StatusCode::OK))
}

/// Extend the session.
///
/// The new end is now + `session_ttl`, at most `session_max` after the visitor entered.
#[utoipa::path(
    post, path = "/v1/queues/{queue}/token/renew", tag = "visitors",
    security(("token" = []), ("cookie" = [])),
    responses((status = 200, description = "the place", body = PlaceView<'static>), RenewProblems),
)]
pub async fn renew(ByVisitor(visitor): ByVisitor) -> Result<Response, Problem> {
    visitor.may_change()?;
    let of = visitor.holder()?.place;
    let place = visits::renew(&visitor.queue, of).await?;
    Ok(view(&visitor.queue, &place).response(StatusCode::OK))
}

/// Leave the line, or finish the visit.
///
/// The slot is free at once. Idempotent.
#[utoipa::path(
    delete, path = "/v1/queues/{queue}/token", tag = "visitors",
    security(("token" = []), ("cookie" = [])),
    responses((status = 204, description = "the place has ended"), LeaveProblems),
)]
pub async fn leave(ByVisitor(visitor): ByVisitor) -> Result<Response, Problem> {
    visitor.may_change()?;
    let of = visitor.holder()?.place;
    visits::leave(&visitor.queue, of).await?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Some(cookie) = visitor.no_cookie() {
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    Ok(response)
}

/// Get the public state of a queue.
///
/// At most 1 s old, or 5 s if Redis is down.
#[utoipa::path(
    get, path = "/v1/queues/{queue}", tag = "visitors",
    responses((status = 200, description = "the state", body = QueueView<'static>), QueueProblems),
)]
pub async fn state(At(queue): At<QueueState>) -> Result<Response, Problem> {
    present_state(&queue).await
}

/// The state of a queue: at most a second old, or the last one while Redis is down for a moment.
pub async fn present_state(queue: &QueueState) -> Result<Response, Problem> {
    let seen = match queue.recent().await {
        Ok(seen) => seen,
        Err(_) => queue
            .latest
            .fresh()
            .ok_or_else(|| Problem::new(Code::STORE_UNAVAILABLE).retry_after(queue.retry()))?,
    };
    Ok(axum::Json(QueueView::new(queue.name(), &seen.snapshot, seen.age())).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_must_have_room_for_128_bits() {
        assert!(is_strong_key(b"0123456789abcdefghijkl"));
        assert!(is_strong_key(&[b'x'; 128]));
        assert!(!is_strong_key(b"0123456789abcdefghijk"));
        assert!(!is_strong_key(&[b'x'; 129]));
        assert!(!is_strong_key(b"0123456789 bcdefghijkl"));
        assert!(!is_strong_key("0123456789abcdefghijké".as_bytes()));
    }
}
