//! `on_store_error = "open"`: the gate fails open, for a while, and for so many a client address.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anteroom_config::Rate;

use crate::defences::PerAddress;

/// When the gate of one queue began to fail open: with the first failure after a success.
#[derive(Debug, Default)]
pub struct FailOpen {
    since: Mutex<Option<Instant>>,
    passed: PerAddress,
}

impl FailOpen {
    /// Redis answered: the next failure starts a new period.
    pub fn reset(&self) {
        let mut since = self.lock();
        if since.is_some() {
            *since = None;
        }
    }

    /// Whether one more may pass at `now` from this address. One client must not use up the rate of
    /// all.
    pub fn admit(&self, from: IpAddr, rate: Rate, lasts: Duration, now: Instant) -> bool {
        let since = *self.lock().get_or_insert(now);
        now.saturating_duration_since(since) < lasts && self.passed.take(from, rate, now).is_ok()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate { count: 10, window: Duration::from_secs(1) };
    const LASTS: Duration = Duration::from_secs(60);

    fn client(address: &str) -> IpAddr {
        address.parse().expect("an address")
    }

    #[test]
    fn each_address_has_the_rate_with_a_burst_of_one_window() {
        let fail_open = FailOpen::default();
        let start = Instant::now();
        let later = start + Duration::from_millis(500);
        for one in [client("203.0.113.1"), client("203.0.113.2"), client("2001:db8::1")] {
            let passed = |now| (0..100).filter(|_| fail_open.admit(one, RATE, LASTS, now)).count();
            assert_eq!((passed(start), passed(later)), (10, 5), "{one:?}");
        }
        assert!(!fail_open.admit(client("2001:db8::2"), RATE, LASTS, later), "the same /64");
        assert!(!fail_open.admit(client("::ffff:203.0.113.1"), RATE, LASTS, later));
    }

    #[test]
    fn an_ipv6_48_has_eight_times_the_rate() {
        let (fail_open, now) = (FailOpen::default(), Instant::now());
        let passed = |subscriber: usize| {
            let one = client(&format!("2001:db8:1:{subscriber:x}::1"));
            (0..100).filter(|_| fail_open.admit(one, RATE, LASTS, now)).count()
        };
        assert_eq!((0..100).map(passed).sum::<usize>(), 80);
        assert!(fail_open.admit(client("2001:db8:2::1"), RATE, LASTS, now), "another site");
    }

    #[test]
    fn it_ends_and_restarts_only_after_redis_answered() {
        let fail_open = FailOpen::default();
        let (start, from) = (Instant::now(), client("203.0.113.1"));
        assert!(fail_open.admit(from, RATE, LASTS, start));
        assert!(!fail_open.admit(from, RATE, LASTS, start + LASTS));
        assert!(!fail_open.admit(from, RATE, LASTS, start + 10 * LASTS));
        fail_open.reset();
        assert!(fail_open.admit(from, RATE, LASTS, start + 10 * LASTS));
    }
}
