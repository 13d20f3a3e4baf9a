//! The *place* as its holder reads it, and when to look again.

use std::time::Duration;

use anteroom_core::queue::{Place, Standing, Wait};
use axum::body::Body;
use axum::response::Response;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use rand::Rng as _;
use serde::Serialize;
use utoipa::ToSchema;

use crate::durations::{millis, whole_seconds};

/// Looks come this far apart at the front of the line, and never closer, however short the wait is
/// …
const SOONEST: Duration = Duration::from_secs(1);
/// … and this far at the back.
const LATEST: Duration = Duration::from_secs(20);

/// Where a place stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum StatusView {
    /// In line.
    Waiting,
    /// Its turn has come; it must be claimed.
    Ready,
    /// Claimed.
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
    /// Where it stands.
    pub status: StatusView,
    /// Its number: 1, 2, 3 … in the order of the joins.
    #[schema(minimum = 1, maximum = 9_007_199_254_740_991_u64, example = 4711)]
    pub ticket: u64,
    /// 1 = next; 0 unless waiting. Only ever improves.
    pub position: u64,
    /// How many stand in front; 0 unless waiting.
    pub ahead: u64,
    /// Expected wait in milliseconds; null when unknown, paused or not waiting.
    #[schema(required = true)]
    pub eta_ms: Option<u64>,
    /// The wait in milliseconds that nine in ten will not exceed; null like `eta_ms`.
    #[schema(required = true)]
    pub eta_p90_ms: Option<u64>,
    /// When to look again, in milliseconds; also `Retry-After`.
    pub poll_after_ms: u64,
    /// Milliseconds until the turn or the session ends; absent while waiting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in_ms: Option<u64>,
    /// The name of the queue.
    pub queue: &'a str,
    /// The proof of the place; only in the answer to a join, and not for browsers, which get it as
    /// a cookie.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

impl<'a> PlaceView<'a> {
    /// The place of `queue` as its holder reads it; `poll_after` is jittered anew each time.
    pub fn new(queue: &'a str, place: &Place, claim_ttl: Duration) -> Self {
        let poll_after = jittered(poll_after(place, claim_ttl), rand::rng().random());
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

    /// When to look again.
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

/// When to look again: a tenth of the wait, from one second at the front to twenty at the back, at
/// most half of the wait and of `claim_ttl`, so that nobody sleeps through a turn. Without an
/// estimate a second for every hundred that are promoted before.
pub fn poll_after(place: &Place, claim_ttl: Duration) -> Duration {
    let after = match place.standing {
        Standing::Waiting { wait: Wait::Expected { eta, .. }, .. } => {
            (eta / 10).clamp(SOONEST, LATEST).min(eta / 2)
        }
        Standing::Waiting { wait: Wait::Unknown { before }, .. } => {
            Duration::from_secs(before / 100).clamp(SOONEST, LATEST)
        }
        // The turn waits to be claimed.
        Standing::Ready { .. } => SOONEST,
        Standing::Active { expires_in } => (expires_in / 2).min(LATEST),
    };
    after.min(claim_ttl / 2).max(SOONEST)
}

/// Up to a fifth sooner, so that those who came together do not stay together; never later.
fn jittered(after: Duration, random: f64) -> Duration {
    after.mul_f64(1.0 - 0.2 * random).max(SOONEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAIM_TTL: Duration = Duration::from_secs(60);

    fn waiting(position: u64, eta_ms: Option<u64>) -> Place {
        let wait = match eta_ms.map(Duration::from_millis) {
            Some(eta) => Wait::Expected { eta, eta_p90: Some(eta * 2) },
            None => Wait::Unknown { before: position - 1 },
        };
        Place { ticket: 10 + position, standing: Standing::Waiting { position, wait } }
    }

    #[test]
    fn looks_are_frequent_at_the_front_and_rare_at_the_back() {
        let after = |eta| poll_after(&waiting(5, Some(eta)), CLAIM_TTL).as_millis();
        assert_eq!(after(3_000), 1_000);
        assert_eq!(after(60_000), 6_000);
        assert_eq!(after(3_600_000), 20_000);
        let blind = |position| poll_after(&waiting(position, None), CLAIM_TTL).as_millis();
        assert_eq!(blind(1), 1_000);
        assert_eq!(blind(501), 5_000);
        assert_eq!(blind(1_000_000), 20_000);
    }

    #[test]
    fn nobody_looks_more_than_once_a_second() {
        for place in [
            waiting(1, Some(0)),
            waiting(1, Some(400)),
            waiting(1, None),
            Place { ticket: 1, standing: Standing::Ready { expires_in: CLAIM_TTL } },
            Place { ticket: 1, standing: Standing::Active { expires_in: Duration::ZERO } },
        ] {
            for claim_ttl in [Duration::from_secs(1), CLAIM_TTL] {
                let after = poll_after(&place, claim_ttl);
                assert_eq!(after, SOONEST, "{place:?}");
                assert_eq!(jittered(after, 1.0), SOONEST, "{place:?}");
            }
        }
    }

    #[test]
    fn those_who_returned_and_go_before_count_although_no_position_does() {
        let wait = Wait::Unknown { before: 800 };
        let returned = Place { ticket: 1, standing: Standing::Waiting { position: 1, wait } };
        assert_eq!(poll_after(&returned, CLAIM_TTL), Duration::from_secs(8));
    }

    #[test]
    fn nobody_sleeps_through_a_turn() {
        for eta in [2_000, 5_000, 100_000] {
            assert!(
                poll_after(&waiting(1, Some(eta)), CLAIM_TTL).as_millis() * 2 <= u128::from(eta)
            );
        }
        let short = Duration::from_secs(5);
        assert!(poll_after(&waiting(9_999, Some(3_600_000)), short) * 2 <= short);
        assert!(poll_after(&waiting(9_999, None), short) * 2 <= short);
    }

    #[test]
    fn jitter_only_ever_hastens() {
        let after = Duration::from_secs(10);
        assert_eq!(jittered(after, 0.0), after);
        assert_eq!(jittered(after, 1.0), Duration::from_secs(8));
        assert_eq!(jittered(SOONEST, 1.0), SOONEST);
    }

    #[test]
    fn the_body_is_the_place_of_the_interface() {
        let view = PlaceView::new("concert", &waiting(3, Some(60_000)), CLAIM_TTL);
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
