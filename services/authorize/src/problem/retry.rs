//! `Retry-After`: the delay after which a caller that could not be served may try again.
//!
//! Callers with one delay retry together, and callers with a short one retry for as long as the
//! fault lasts: a store that recovers would meet all of them at once. So the delay grows with the
//! number of pending retries, which are spread as far apart as the line is polled when all is well,
//! and has a jitter of half of it either way.
//!
//! No process knows that number exactly. It knows the last reading of the line's length, and how
//! many retries it has scheduled that are still ahead.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::{Duration, Instant};

use rand::Rng as _;

use crate::durations::millis;

/// The least, on average, …
pub const MIN_DELAY: Duration = Duration::from_secs(3);
/// … and as much longer as it takes for this many retries a second, …
const PER_SECOND: u64 = 100;
/// … up to the time in which the back of the line polls again, …
const MAX_SPREAD: Duration = Duration::from_secs(20);
/// … and longer only where that would be more than this many a second.
const MAX_PER_SECOND: u64 = 5_000;

/// No delay is longer.
pub const MAX_DELAY: Duration = Duration::from_secs(3_600);
/// For unknown callers: half of the shortest `first_poll_ttl` that there may be, within which the
/// holder of a place must poll.
pub const DEFAULT_MAX_DELAY: Duration = Duration::from_secs(15);

/// The delay of one of so many retries: at least about `least`, never more than `most`. `random`
/// is from 0 to 1.
pub fn after(retries: u64, least: Duration, most: Duration, random: f64) -> Duration {
    let most = most.min(MAX_DELAY);
    // Cut before the jitter: cut after it, half of all would get the very same delay.
    let middle = spread(retries).max(least).min(most.mul_f64(2.0 / 3.0));
    whole_ms(middle.mul_f64(0.5 + random).min(most))
}

/// What a body can say, so that `Retry-After` says the same.
fn whole_ms(time: Duration) -> Duration {
    Duration::from_millis(millis(time))
}

/// The time over which so many retries are spread.
pub fn spread(retries: u64) -> Duration {
    let within =
        |per_second: u64| Duration::from_millis(retries.saturating_mul(1_000) / per_second);
    within(PER_SECOND).min(MAX_SPREAD).max(within(MAX_PER_SECOND))
}

/// The retries that this process has scheduled and that are still ahead, counted by second.
#[derive(Debug)]
pub struct PendingRetries {
    start: Instant,
    /// How many are due in each second from `start` on, as a ring.
    by_second: Box<[AtomicU32]>,
    /// The first second that is still counted.
    first: AtomicU64,
    all: AtomicU64,
}

impl Default for PendingRetries {
    fn default() -> Self {
        Self {
            start: Instant::now(),
            // From this second to the longest delay, with its ends.
            by_second: (0..MAX_DELAY.as_secs() + 2).map(|_| AtomicU32::new(0)).collect(),
            first: AtomicU64::new(0),
            all: AtomicU64::new(0),
        }
    }
}

impl PendingRetries {
    /// Schedules the retry of one caller, and returns its delay; `line` is how many must retry as
    /// far as is known otherwise.
    pub fn schedule(&self, line: u64, least: Duration, most: Duration) -> Duration {
        self.schedule_at(line, Duration::ZERO, least, most, Instant::now())
    }

    /// Schedules the retry of an unknown caller.
    pub fn schedule_default(&self) -> Duration {
        self.schedule(0, MIN_DELAY, DEFAULT_MAX_DELAY)
    }

    /// Schedules a retry from a known time on. One that is not `counted` delays no other.
    pub fn schedule_from(&self, opens_in: Duration, least: Duration, counted: bool) -> Duration {
        let now = Instant::now();
        let delay = self.delay(0, opens_in, least, MAX_DELAY, now);
        if counted {
            self.add(now + delay);
        }
        delay
    }

    fn schedule_at(
        &self,
        line: u64,
        from: Duration,
        least: Duration,
        most: Duration,
        now: Instant,
    ) -> Duration {
        let delay = self.delay(line, from, least, most, now);
        self.add(now + delay);
        delay
    }

    /// The delay of one more.
    fn delay(
        &self,
        line: u64,
        from: Duration,
        least: Duration,
        most: Duration,
        now: Instant,
    ) -> Duration {
        let random = rand::rng().random();
        let delay = from.saturating_add(after(self.all(now).max(line), least, most, random));
        // So far ahead they get another delay when they retry, over half an hour.
        let far = delay > MAX_DELAY;
        whole_ms(if far { MAX_DELAY.mul_f64(0.5 + 0.5 * random) } else { delay })
    }

    /// How many are ahead now. The first call in a second takes out those that were due before it.
    fn all(&self, now: Instant) -> u64 {
        let now = self.second(now);
        // Read first: a write to a shared line in every call would cost more.
        if self.first.load(Relaxed) < now {
            let first = self.first.fetch_max(now, Relaxed);
            for second in (first..now).take(self.by_second.len()) {
                let due = self.due(second).swap(0, Acquire);
                self.all.fetch_sub(u64::from(due), Relaxed);
            }
        }
        self.all.load(Relaxed)
    }

    fn add(&self, at: Instant) {
        // First, and released below: what is taken out has been added before.
        self.all.fetch_add(1, Relaxed);
        self.due(self.second(at)).fetch_add(1, Release);
    }

    fn due(&self, second: u64) -> &AtomicU32 {
        // The remainder is less than the length.
        &self.by_second[(second % self.by_second.len() as u64) as usize]
    }

    fn second(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.start).as_secs()
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    use anteroom_core::queue::{Place, Standing, Wait};

    use super::*;
    use crate::queue::visits::jittered;

    const TTL: Duration = Duration::from_secs(60);

    #[test]
    fn no_time_is_shorter_or_longer_than_allowed() {
        for retries in [0, 1, 150, 3_000, 100_000, 10_000_000, u64::MAX] {
            for most in [2, 15, 30, 43_200, u64::MAX].map(Duration::from_secs) {
                for random in [0.0, 0.25, 0.5, 0.999] {
                    let delay = after(retries, MIN_DELAY, most, random);
                    assert!(delay <= most && delay <= MAX_DELAY, "{retries} {most:?}: {delay:?}");
                    let least = MIN_DELAY.min(most) * 3 / 10;
                    assert!(delay >= least, "{retries} {most:?}: {delay:?}");
                }
            }
        }
        let retries = PendingRetries::default();
        for opens_in in [0, 60, 3_599, 3_600, 86_400, u64::MAX].map(Duration::from_secs) {
            let delay = retries.schedule_from(opens_in, MIN_DELAY, true);
            let least = opens_in.min(MAX_DELAY / 2);
            assert!((least..=MAX_DELAY).contains(&delay), "{opens_in:?}: {delay:?}");
        }
    }

    #[test]
    fn the_time_grows_with_the_number() {
        let middle = |retries| after(retries, MIN_DELAY, MAX_DELAY, 0.5).as_secs_f64();
        assert_eq!(middle(0), 3.0);
        assert_eq!(middle(150), 3.0);
        assert_eq!(middle(1_000), 10.0);
        assert_eq!(middle(100_000), 20.0);
        assert_eq!(middle(1_000_000), 200.0);
    }

    #[test]
    fn scheduled_retries_are_counted_until_their_time() {
        let (retries, start) = (PendingRetries::default(), Instant::now());
        let all = |at| retries.all(at);
        let mut longest = Duration::ZERO;
        for _ in 0..2_000 {
            longest = longest.max(retries.schedule_at(0, Duration::ZERO, MIN_DELAY, TTL, start));
        }
        assert_eq!(all(start), 2_000);
        assert!(longest > Duration::from_secs(20), "the last of many wait longer: {longest:?}");
        assert_eq!(all(start + longest + Duration::from_secs(2)), 0);
        // A long silence costs nothing, and the far end of an hour is an end.
        let later = start + Duration::from_secs(1_000_000);
        assert_eq!(
            retries.schedule_at(0, MAX_DELAY, MIN_DELAY, MAX_DELAY, later).min(MAX_DELAY / 2),
            MAX_DELAY / 2
        );
        assert_eq!(all(later), 1);
    }

    /// A line in virtual time: visitors who keep to their delays, and a Redis that is down for a
    /// while.
    struct SimulatedLine {
        waiting: u64,
        /// Places promoted a second; the ETA is unknown without.
        rate: Option<u64>,
        retries: PendingRetries,
        /// When who comes, in milliseconds.
        coming: BinaryHeap<Reverse<(u64, u64)>>,
        start: Instant,
    }

    impl SimulatedLine {
        fn new(waiting: u64, rate: Option<u64>) -> Self {
            let mut line = Self {
                waiting,
                rate,
                retries: PendingRetries::default(),
                coming: BinaryHeap::new(),
                start: Instant::now(),
            };
            for visitor in 1..=waiting {
                // In the middle of their pauses.
                let first = line.poll_after(visitor).as_millis() as u64;
                line.coming.push(Reverse((rand::rng().random_range(0..=first), visitor)));
            }
            line
        }

        fn poll_after(&self, visitor: u64) -> Duration {
            let wait = match self.rate {
                Some(rate) => {
                    let eta = Duration::from_millis(visitor * 1_000 / rate);
                    Wait::Expected { eta, eta_p90: None }
                }
                None => Wait::Unknown { before: visitor - 1 },
            };
            let standing = Standing::Waiting { position: visitor, wait };
            let place = Place { ticket: visitor, standing };
            jittered(place.poll_after(TTL, None), rand::rng().random())
        }

        /// The most requests in any second of this stretch, which begins where the last one ended.
        fn busiest(&mut self, from: u64, to: u64, store_is_up: bool) -> u64 {
            let mut seconds = vec![0; (to - from) as usize];
            while let Some(&Reverse((at, visitor))) = self.coming.peek() {
                if at >= to * 1_000 {
                    break;
                }
                self.coming.pop();
                seconds[(at / 1_000 - from) as usize] += 1;
                let now = self.start + Duration::from_millis(at);
                let pause = if store_is_up {
                    self.poll_after(visitor)
                } else {
                    self.retries.schedule_at(self.waiting, Duration::ZERO, MIN_DELAY, TTL / 2, now)
                };
                assert!(pause <= TTL / 2, "half of first_poll_ttl and of claim_ttl: {pause:?}");
                self.coming.push(Reverse((at + pause.as_millis() as u64, visitor)));
            }
            seconds.into_iter().max().unwrap_or_default()
        }
    }

    #[test]
    fn a_store_that_recovers_sees_at_most_twice_its_calm_rate() {
        for (waiting, rate, away) in
            [(100_000, None, 40), (100_000, Some(220), 5), (5_000, Some(20), 60), (150, None, 300)]
        {
            let mut line = SimulatedLine::new(waiting, rate);
            let calm = line.busiest(0, 20, true);
            let during = line.busiest(20, 20 + away, false);
            let after = line.busiest(20 + away, 50 + away, true);
            let case = format!("{waiting} waiting at {rate:?}/s, {away} s away");
            assert!(after <= 2 * calm, "{case}: {calm} a second before, {after} after");
            assert!(during <= 2 * calm, "{case}: {calm} a second before, {during} during");
        }
    }

    /// No visitor waits yet, and all visitors come while Redis is down.
    #[test]
    fn those_without_a_place_are_spread_as_well() {
        let mut line = SimulatedLine::new(100_000, None);
        let calm = line.busiest(0, 20, true);
        line.coming =
            (1..=100_000).map(|visitor| Reverse((20_000 + visitor / 100, visitor))).collect();
        line.waiting = 0;
        line.busiest(20, 60, false);
        line.waiting = 100_000;
        let after = line.busiest(60, 90, true);
        assert!(after <= 2 * calm, "{calm} a second in a calm line, {after} after");
    }

    /// All visitors come before the opening, and know its time.
    #[test]
    fn those_who_wait_for_the_opening_do_not_come_at_once() {
        let (retries, start) = (PendingRetries::default(), Instant::now());
        let opens = Duration::from_secs(600);
        let mut seconds = vec![0; 120];
        for visitor in 0..100_000 {
            let came = opens.mul_f64(f64::from(visitor) / 100_000.0);
            let left = opens - came;
            let delay = retries.schedule_at(0, left, MIN_DELAY, MAX_DELAY, start + came);
            assert!(delay > left, "no visitor comes too early");
            seconds[(came + delay - opens).as_secs() as usize] += 1;
        }
        let busiest = seconds.into_iter().max().unwrap_or_default();
        // A line of that length makes about six thousand polls a second.
        assert!(busiest <= 2 * 6_000, "{busiest} in a second");
    }
}
