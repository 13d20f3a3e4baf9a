//! The *place* as its holder reads it, and when to poll next.

use std::time::Duration;

use anteroom_authorize::durations::{millis, whole_seconds};
use anteroom_authorize::latest::Seen;
use anteroom_authorize::queue::QueueState;
use anteroom_authorize::queue::visits::{Joined, jittered};
use anteroom_core::queue::{Place, Rules, Snapshot, Standing, Status};
use axum::body::Body;
use axum::response::Response;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use rand::Rng as _;
use serde::Serialize;
use utoipa::ToSchema;

use super::queue::{PausedBy, StateView, paused_by};

/// The status of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum StatusView {
    /// In line.
    Waiting,
    /// It is the visitor's turn: call `claim` to enter, before the turn ends.
    Ready,
    /// The visitor has entered.
    Active,
}

impl From<&Standing> for StatusView {
    fn from(standing: &Standing) -> Self {
        match standing {
            Standing::Waiting { .. } => Self::Waiting,
            Standing::Ready { .. } => Self::Ready,
            Standing::Active { .. } => Self::Active,
        }
    }
}

/// Most places have fewer, without a reason of the operator.
const USUAL_BYTES: usize = 512;

/// A place in a queue.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Place)]
pub struct PlaceView<'a> {
    /// The status of the place.
    pub status: StatusView,
    /// The ticket number: 1, 2, 3 … in arrival order.
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_u64, example = 4711)]
    pub ticket: u64,
    /// The position in line: 1 is next. 0 if not waiting. It never gets worse.
    pub position: u64,
    /// How many visitors are ahead; 0 if not waiting.
    pub ahead: u64,
    /// The estimated wait in milliseconds; null if unknown, paused or not waiting.
    #[schema(required = true)]
    pub eta_ms: Option<u64>,
    /// The wait in milliseconds that 9 of 10 visitors will not exceed. Null if `eta_ms` is null.
    /// With both `capacity` and `batch` it is also null until the first scheduler tick with the
    /// present rules.
    #[schema(required = true)]
    pub eta_p90_ms: Option<u64>,
    /// Poll again after this many milliseconds; also in `Retry-After`.
    pub poll_after_ms: u64,
    /// Milliseconds until the turn or the session ends; absent while waiting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in_ms: Option<u64>,
    /// How long the place is kept if you do not poll, by a careful estimate; absent if not waiting.
    /// If the queue can call you before you are inactive, also because visitors ahead miss their
    /// turn, it ends `claim_ttl` after that. It shrinks if the queue suddenly moves faster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_ms: Option<u64>,
    /// The state of the queue. It and the next three are at most 1 s old while Redis is up.
    pub queue_state: StateView,
    /// As in the state of the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_by: Option<PausedBy>,
    /// The operator's reason for the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Milliseconds until visitors are admitted (`opens_at`); null once open.
    #[schema(required = true)]
    pub opens_in_ms: Option<u64>,
    /// While the head of the line on the board has a smaller ticket than this, read the board
    /// instead, until the place is older than `heartbeat_ms`. Absent in the answer to a join, near
    /// the head, if the board is off, and with `claim_ttl` below 24 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub board_until_ticket: Option<u64>,
    /// The name of the queue.
    pub queue: &'a str,
    /// The token of the place. Only in the answer to a join; browsers get it as a cookie instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// What a place shows of its queue.
#[derive(Debug)]
pub struct PlaceQueue {
    pub state: StateView,
    pub paused_by: Option<PausedBy>,
    pub reason: Option<String>,
    pub opens_in: Option<Duration>,
    pub kept_unseen: Option<Duration>,
}

impl PlaceQueue {
    /// By the newest snapshot of the queue.
    pub fn new(place: &Place, seen: &Seen<Snapshot>) -> Self {
        let Snapshot { state, reason, rules, .. } = &seen.snapshot;
        let opens_in = seen.until(rules.opens_at);
        Self {
            state: (*state).into(),
            paused_by: paused_by(&seen.snapshot),
            reason: reason.clone(),
            opens_in,
            kept_unseen: place.kept_unseen(rules, opens_in),
        }
    }

    /// Before this process has read the queue.
    pub fn unread(place: &Place, rules: &Rules) -> Self {
        Self {
            state: StateView::Open,
            paused_by: None,
            reason: None,
            opens_in: None,
            kept_unseen: place.kept_unseen(rules, None),
        }
    }
}

impl<'a> PlaceView<'a> {
    /// The place of `queue`, which is in `state`, as its holder reads it; each view has its own
    /// jitter of `poll_after`.
    pub fn new(queue: &'a str, place: &Place, claim_ttl: Duration, state: PlaceQueue) -> Self {
        let poll_after =
            jittered(place.poll_after(claim_ttl, state.opens_in), rand::rng().random());
        let (position, (eta, eta_p90)) = (place.position(), place.eta());
        Self {
            status: (&place.standing).into(),
            ticket: place.ticket,
            position,
            ahead: position.saturating_sub(1),
            eta_ms: eta.map(millis),
            eta_p90_ms: eta_p90.map(millis),
            poll_after_ms: millis(poll_after),
            expires_in_ms: place.expires_in().map(millis),
            keep_ms: state.kept_unseen.map(millis),
            queue_state: state.state,
            paused_by: state.paused_by,
            reason: state.reason,
            opens_in_ms: state.opens_in.map(millis),
            board_until_ticket: None,
            queue,
            token: None,
        }
    }

    /// When to poll next.
    pub fn poll_after(&self) -> Duration {
        Duration::from_millis(self.poll_after_ms)
    }

    /// The answer that carries the place.
    pub fn response(&self, status: StatusCode) -> Response {
        let mut body = Vec::with_capacity(USUAL_BYTES);
        // Strings and numbers only: this cannot fail.
        let _ = serde_json::to_writer(&mut body, self);
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(RETRY_AFTER, HeaderValue::from(whole_seconds(self.poll_after())));
        response
    }
}

/// The place as its holder reads it.
pub fn view<'a>(queue: &'a QueueState, place: &Place) -> PlaceView<'a> {
    let state = queue.latest.map(|seen| PlaceQueue::new(place, seen));
    let state = state.unwrap_or_else(|| PlaceQueue::unread(place, &queue.config.rules));
    // The view takes half of this as its longest delay.
    let view = PlaceView::new(queue.name(), place, queue.max_poll_delay() * 2, state);
    PlaceView { board_until_ticket: board_until(queue, place), ..view }
}

/// How old a board can be for its reader: 5 s here, 6 s in one cache, and the way. The client waits
/// for at most half of the time to claim a turn between two calls. The other half must be longer
/// than this.
const OLDEST_BOARD: Duration = Duration::from_secs(12);

/// Once this ticket is at the head of the line, the client polls. Half of the visitors between can
/// leave before its next poll.
fn board_until(queue: &QueueState, place: &Place) -> Option<u64> {
    let is_in_time = queue.max_poll_delay() >= OLDEST_BOARD;
    if !queue.config.board || place.status() != Status::Waiting || !is_in_time {
        return None;
    }
    let until = queue.line.head_until(place.position(), queue.front().saturating_mul(2))?;
    (until < place.ticket).then_some(until)
}

/// The place that a join gave: a new one must be polled soon for the first time.
pub fn joined_view<'a>(queue: &'a QueueState, joined: &Joined) -> PlaceView<'a> {
    let mut view = view(queue, &joined.place);
    // A new place must poll before its first heartbeat would be due.
    view.board_until_ticket = None;
    if joined.created {
        let first_poll_ttl = queue.in_force(|rules| rules.first_poll_ttl);
        view.keep_ms = view.keep_ms.map(|keep| keep.min(millis(first_poll_ttl)));
    }
    view
}

#[cfg(test)]
mod tests {
    use anteroom_core::queue::Wait;

    use super::*;

    const CLAIM_TTL: Duration = Duration::from_secs(60);

    fn waiting(position: u64, eta_ms: u64) -> Place {
        let eta = Duration::from_millis(eta_ms);
        let wait = Wait::Expected { eta, eta_p90: Some(eta * 2) };
        Place { ticket: 10 + position, standing: Standing::Waiting { position, wait } }
    }

    #[test]
    fn the_body_is_the_place_of_the_interface() {
        let place = waiting(3, 60_000);
        let state = PlaceQueue {
            reason: Some("a break".to_owned()),
            ..PlaceQueue::unread(&place, &Rules::default())
        };
        let view = PlaceView::new("concert", &place, CLAIM_TTL, state);
        let mut value = serde_json::to_value(&view).expect("JSON");
        let poll_after = value["poll_after_ms"].take().as_u64().expect("a number");
        assert!((4_800..=6_000).contains(&poll_after));
        assert_eq!(
            value,
            serde_json::json!({
                "status": "waiting", "ticket": 13, "position": 3, "ahead": 2, "eta_ms": 60_000,
                "eta_p90_ms": 120_000, "poll_after_ms": null, "keep_ms": 60_000,
                "queue_state": "open", "reason": "a break", "opens_in_ms": null,
                "queue": "concert",
            })
        );
        let response = view.response(StatusCode::CREATED);
        assert_eq!(response.status(), StatusCode::CREATED);
        assert!(
            ["5", "6"].map(HeaderValue::from_static).contains(&response.headers()[RETRY_AFTER])
        );
    }
}
