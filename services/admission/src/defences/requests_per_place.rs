//! `requests_per_place`: how many requests a second may name one place.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anteroom_core::queue::PlaceId;
use anteroom_runtime::config::Rate;

use super::gcra::Gcra;

/// A place is remembered for a second after its last request, so this is for a hundred thousand
/// requests a second and more; about 20 MB when full.
const MOST_PLACES: usize = 200_000;

/// The requests of one queue by place.
#[derive(Debug)]
pub struct RequestsPerPlace {
    per_second: u32,
    counts: Arc<Gcra<PlaceId>>,
}

impl RequestsPerPlace {
    /// 0 means no limit.
    pub fn new(per_second: u32) -> Self {
        Self { per_second, counts: Arc::new(Gcra::new(MOST_PLACES)) }
    }

    /// Another rule for the same counts, after a reload.
    pub fn with(&self, per_second: u32) -> Self {
        Self { per_second, counts: self.counts.clone() }
    }

    /// Counts one request for the place.
    ///
    /// # Errors
    ///
    /// When the place has used up its rate: how long until it may ask again.
    pub fn check(&self, id: PlaceId) -> Result<(), Duration> {
        if self.per_second == 0 {
            return Ok(());
        }
        self.check_at(id, Instant::now())
    }

    fn check_at(&self, id: PlaceId, now: Instant) -> Result<(), Duration> {
        let rate = Rate { count: self.per_second, window: Duration::from_secs(1) };
        self.counts.check(id, rate, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_may_ask_so_often_and_others_as_well() {
        let (requests, now) = (RequestsPerPlace::new(50), Instant::now());
        let (one, other) = (PlaceId([1; 14]), PlaceId([2; 14]));
        for _ in 0..50 {
            assert!(requests.check_at(one, now).is_ok());
        }
        assert_eq!(requests.check_at(one, now), Err(Duration::from_millis(20)));
        assert!(requests.check_at(other, now).is_ok());
        assert!(requests.with(0).check(one).is_ok(), "0 is no limit");
        assert!(requests.with(50).check_at(one, now).is_err(), "a reload keeps the counts");
    }
}
