//! `on_store_error = "open"`: how many pass from one address while the store is away, and for how long.

use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anteroom_runtime::config::Rate;

use crate::defences::PerAddress;

/// The opening of one queue. It begins with the first failure after a success.
#[derive(Debug, Default)]
pub struct Opening {
    since: Mutex<Option<Instant>>,
    passed: PerAddress,
}

impl Opening {
    /// The store answered: the next failure begins a new opening.
    pub fn over(&self) {
        let mut since = self.lock();
        if since.is_some() {
            *since = None;
        }
    }

    /// Whether one more may pass at `now` from this address. One client must not use up what is for all.
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
        let opening = Opening::default();
        let start = Instant::now();
        let later = start + Duration::from_millis(500);
        for one in [client("203.0.113.1"), client("203.0.113.2"), client("2001:db8::1")] {
            let passed = |now| (0..100).filter(|_| opening.admit(one, RATE, LASTS, now)).count();
            assert_eq!((passed(start), passed(later)), (10, 5), "{one:?}");
        }
        assert!(!opening.admit(client("2001:db8::2"), RATE, LASTS, later), "the same /64");
        assert!(!opening.admit(client("::ffff:203.0.113.1"), RATE, LASTS, later));
    }

    #[test]
    fn an_ipv6_48_has_eight_times_the_rate() {
        let (opening, now) = (Opening::default(), Instant::now());
        let passed = |subscriber: usize| {
            let one = client(&format!("2001:db8:1:{subscriber:x}::1"));
            (0..100).filter(|_| opening.admit(one, RATE, LASTS, now)).count()
        };
        assert_eq!((0..100).map(passed).sum::<usize>(), 80);
        assert!(opening.admit(client("2001:db8:2::1"), RATE, LASTS, now), "another site");
    }

    #[test]
    fn it_ends_and_begins_anew_only_after_the_store_answered() {
        let opening = Opening::default();
        let (start, from) = (Instant::now(), client("203.0.113.1"));
        assert!(opening.admit(from, RATE, LASTS, start));
        assert!(!opening.admit(from, RATE, LASTS, start + LASTS));
        assert!(!opening.admit(from, RATE, LASTS, start + 10 * LASTS));
        opening.over();
        assert!(opening.admit(from, RATE, LASTS, start + 10 * LASTS));
    }
}
