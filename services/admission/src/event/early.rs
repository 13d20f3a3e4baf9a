//! Visitors who apply before an event opens: their retries are spread out behind the opening.
//!
//! Each visitor counts once among those who will retry, so that one who applies again and again
//! delays no other.

use std::time::{Duration, Instant};

use anteroom_authorize::defences::Gcra;
use anteroom_authorize::problem::retry::{MAX_DELAY, MIN_DELAY, PendingRetries};
use anteroom_config::Rate;

/// At most so many visitors are remembered; about 4 MB when full.
const MOST_VISITORS: usize = 200_000;

/// The visitors of one event who came too early.
#[derive(Debug)]
pub struct EarlyVisitors {
    retries: PendingRetries,
    counted: Gcra,
}

impl Default for EarlyVisitors {
    fn default() -> Self {
        Self { retries: PendingRetries::default(), counted: Gcra::new(MOST_VISITORS) }
    }
}

impl EarlyVisitors {
    /// When this visitor is to come back to an event that opens in this time.
    pub fn schedule(&self, visitor_id: &str, opens_in: Duration) -> Duration {
        // The longest delay is at least half of `MAX_DELAY`: after that a visitor counts again.
        let once = Rate { count: 1, window: MAX_DELAY / 2 };
        let is_counted = self.counted.check(visitor_id, once, Instant::now()).is_ok();
        self.retries.schedule_from(opens_in, MIN_DELAY, is_counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_applications_of_one_visitor_delay_no_other() {
        let (early, opens_in) = (EarlyVisitors::default(), Duration::from_secs(150));
        for _ in 0..3_000 {
            early.schedule("ann", opens_in);
        }
        let soon = opens_in + MIN_DELAY.mul_f64(1.5);
        for visitor_id in ["ann", "bob", "eve"] {
            let delay = early.schedule(visitor_id, opens_in);
            assert!((opens_in..=soon).contains(&delay), "{delay:?}");
        }
        for number in 0..3_000 {
            early.schedule(&format!("visitor-{number}"), opens_in);
        }
        let delay = early.schedule("last", opens_in);
        assert!(delay > soon, "many are spread: {delay:?}");
    }
}
