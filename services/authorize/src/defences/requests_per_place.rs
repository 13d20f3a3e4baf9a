//! `requests_per_place`: how many requests a second may name one place, and six times as many at
//! once: an admitted visitor's page asks for all its parts together.
//!
//! A join by an Idempotency-Key or an assertion names a place as well, which only the store knows:
//! it is counted for the identity. A join without either gets a new place each time, which
//! `joins_per_address` counts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anteroom_config::Rate;
use anteroom_core::queue::{PlaceId, PlaceRef};

use super::gcra::Gcra;

/// A place with few requests is remembered for some milliseconds, one at its bound for six seconds;
/// about 4 MB when full.
const MOST_PLACES: usize = 200_000;

/// How many seconds' worth of requests may come at once.
const BURST_SECONDS: u32 = 6;

/// The requests of one queue by place.
#[derive(Clone, Debug)]
pub struct RequestsPerPlace {
    per_second: u32,
    counts: Arc<Gcra>,
}

/// The place of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestFor {
    /// The place that a token names: the token of a gone one takes nothing from the place that its
    /// holder has now.
    Place(PlaceRef),
    /// The place of an identity that joins.
    Join(PlaceId),
}

impl RequestsPerPlace {
    /// 0 means no limit.
    pub fn new(per_second: u32) -> Self {
        Self { per_second, counts: Arc::new(Gcra::new(MOST_PLACES)) }
    }

    /// Another rule for the same counts, after a reload.
    pub fn with(&self, per_second: u32) -> Self {
        Self { per_second, ..self.clone() }
    }

    /// Counts one request.
    ///
    /// # Errors
    ///
    /// When the place has used up its rate: how long until the next request.
    pub fn check(&self, of: RequestFor, now: Instant) -> Result<(), Duration> {
        if self.per_second == 0 {
            return Ok(());
        }
        let (seconds, count) = (BURST_SECONDS, self.per_second.saturating_mul(BURST_SECONDS));
        let rate = Rate { count, window: Duration::from_secs(seconds.into()) };
        self.counts.check(of, rate, now)
    }
}

#[cfg(test)]
mod tests {
    use anteroom_core::queue::Epoch;

    use super::*;

    #[test]
    fn each_place_has_its_own_rate() {
        let (requests, now) = (RequestsPerPlace::new(50), Instant::now());
        let id = PlaceId([1; 14]);
        let place = |ticket| RequestFor::Place(PlaceRef { epoch: Epoch([0; 8]), id, ticket });
        let (one, other) = (place(1), place(2));
        // The page of an admitted visitor with its 120 parts, and again.
        for _ in 0..300 {
            assert!(requests.check(one, now).is_ok());
        }
        assert_eq!(requests.check(one, now), Err(Duration::from_millis(20)));
        assert!(requests.check(other, now).is_ok());
        // A join of the same visitor is counted apart, for its identity.
        let join = RequestFor::Join(id);
        let joins = (0..1_000).filter(|_| requests.check(join, now).is_ok()).count();
        assert_eq!(joins, 300);
        assert!(requests.check(RequestFor::Join(PlaceId([2; 14])), now).is_ok());
        assert!(requests.with(0).check(one, now).is_ok(), "0 is no limit");
        assert!(requests.with(50).check(one, now).is_err(), "a reload keeps the counts");
        // From then on fifty a second, and everything again after six quiet seconds.
        let later = now + Duration::from_secs(1);
        let passed = (0..1_000).filter(|_| requests.check(one, later).is_ok()).count();
        assert_eq!(passed, 50);
        let quiet = later + Duration::from_secs(6);
        let passed = (0..1_000).filter(|_| requests.check(one, quiet).is_ok()).count();
        assert_eq!(passed, 300);
    }
}
