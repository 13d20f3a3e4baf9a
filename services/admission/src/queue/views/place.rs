//! The *place* as its holder reads it, and when to poll next.

use std::time::Duration;

use anteroom_core::queue::{Place, SOONEST_POLL, Standing};
use axum::body::Body;
use axum::response::Response;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use rand::Rng as _;
use serde::Serialize;
use utoipa::ToSchema;

use crate::durations::{millis, whole_seconds};

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
    /// The name of the queue.
    pub queue: &'a str,
    /// The token of the place. Only in the answer to a join; browsers get it as a cookie instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

impl<'a> PlaceView<'a> {
    /// The place of `queue` as its holder reads it; each view has its own jitter of `poll_after`.
    pub fn new(queue: &'a str, place: &Place, claim_ttl: Duration) -> Self {
        let poll_after = jittered(place.poll_after(claim_ttl), rand::rng().random());
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
        // Strings and numbers only: this cannot fail.
        let body = serde_json::to_vec(self).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(RETRY_AFTER, HeaderValue::from(whole_seconds(self.poll_after())));
        response
    }
}

/// Up to a fifth sooner, so that those who came together do not stay together; never later.
fn jittered(after: Duration, random: f64) -> Duration {
    after.mul_f64(1.0 - 0.2 * random).max(SOONEST_POLL)
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
    fn jitter_only_ever_hastens() {
        let after = Duration::from_secs(10);
        assert_eq!(jittered(after, 0.0), after);
        assert_eq!(jittered(after, 1.0), Duration::from_secs(8));
        assert_eq!(jittered(SOONEST_POLL, 1.0), SOONEST_POLL);
    }

    #[test]
    fn the_body_is_the_place_of_the_interface() {
        let view = PlaceView::new("concert", &waiting(3, 60_000), CLAIM_TTL);
        let mut value = serde_json::to_value(&view).expect("JSON");
        let poll_after = value["poll_after_ms"].take().as_u64().expect("a number");
        assert!((4_800..=6_000).contains(&poll_after));
        assert_eq!(
            value,
            serde_json::json!({
                "status": "waiting", "ticket": 13, "position": 3, "ahead": 2, "eta_ms": 60_000,
                "eta_p90_ms": 120_000, "poll_after_ms": null, "queue": "concert",
            })
        );
        let response = view.response(StatusCode::CREATED);
        assert_eq!(response.status(), StatusCode::CREATED);
        assert!(
            ["5", "6"].map(HeaderValue::from_static).contains(&response.headers()[RETRY_AFTER])
        );
    }
}
