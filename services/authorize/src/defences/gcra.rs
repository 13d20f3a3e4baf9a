//! The generic cell rate algorithm (ITU-T I.371), one cell a key, in bounded memory.
//!
//! A key may do `count` things at once and then one every `window / count`; after a quiet `window`
//! it may do them all again. Its whole state is one time: when it will be fully refilled. A key
//! that is refilled is as good as one never seen, so it is forgotten when room is needed.

use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ahash::RandomState;
use anteroom_config::Rate;

/// With this many, a shard usually has one or two keys, which are in one cache line. Cache lines to
/// which several cores write take most of the time here.
const SHARDS: usize = 512;
/// A shard has room for at least this many keys, so that it is seldom cleaned.
const SMALL: usize = 4;

/// Rates of many keys.
///
/// A key is its keyed hash of 64 bits. The chance that two of 200 000 keys share one is 10⁻⁹.
#[derive(Debug)]
pub struct Gcra {
    shards: Box<[Mutex<Vec<RateOfKey>>]>,
    most_per_shard: usize,
    hasher: RandomState,
    start: Instant,
}

#[derive(Debug)]
struct RateOfKey {
    hash: u64,
    /// When it is fully refilled, in nanoseconds since the start.
    refilled_at: u64,
}

impl Gcra {
    /// Remembers about `most` keys. Past that, keys not yet known go uncounted: who has more
    /// addresses than this could not be held back by counting them either.
    pub fn new(most: usize) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            most_per_shard: most.div_ceil(SHARDS),
            hasher: RandomState::new(),
            start: Instant::now(),
        }
    }

    /// Counts one thing of `key` at `now`, unless the rate is used up. `now` may go back a little:
    /// callers read their clocks before they wait for each other.
    ///
    /// # Errors
    ///
    /// When it is used up: how long until there is room for one. Nothing is counted then.
    pub fn check(&self, key: impl Hash, rate: Rate, now: Instant) -> Result<(), Duration> {
        let each = each(rate);
        // A thing fits when, after it, the key is refilled within the window.
        let room = nanos(rate.window).saturating_sub(each);
        let now = nanos(now.saturating_duration_since(self.start));
        let (hash, mut shard) = self.shard(key);
        if let Some(known) = shard.iter_mut().find(|known| known.hash == hash) {
            let left = known.refilled_at.saturating_sub(now);
            if left > room {
                return Err(Duration::from_nanos(left - room));
            }
            known.refilled_at = now.saturating_add(left).saturating_add(each);
        } else if has_room(&mut shard, self.most_per_shard, now) {
            shard.push(RateOfKey { hash, refilled_at: now.saturating_add(each) });
        }
        Ok(())
    }

    /// Takes one thing back that was counted under this rate.
    pub fn give_back(&self, key: impl Hash, rate: Rate) {
        let (hash, mut shard) = self.shard(key);
        if let Some(known) = shard.iter_mut().find(|known| known.hash == hash) {
            known.refilled_at = known.refilled_at.saturating_sub(each(rate));
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).len()).sum()
    }

    /// The hash of a key, and its shard.
    fn shard(&self, key: impl Hash) -> (u64, MutexGuard<'_, Vec<RateOfKey>>) {
        let hash = self.hasher.hash_one(key);
        let shard = usize::try_from(hash % SHARDS as u64).unwrap_or(0);
        (hash, lock(&self.shards[shard]))
    }
}

/// Whether the shard has room for one more key. A shard without room first forgets the refilled
/// keys. It grows only if that is not enough.
fn has_room(shard: &mut Vec<RateOfKey>, most: usize, now: u64) -> bool {
    if shard.len() >= shard.capacity().min(most) {
        shard.retain(|known| known.refilled_at > now);
        shard.shrink_to((shard.len() * 2).max(SMALL));
    }
    shard.len() < most
}

/// How long until one thing is refilled.
fn each(rate: Rate) -> u64 {
    nanos(rate.window) / u64::from(rate.count.max(1))
}

/// Times longer than 584 years count as 584 years.
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A table of plain times is still right after a panic elsewhere.
fn lock(shard: &Mutex<Vec<RateOfKey>>) -> MutexGuard<'_, Vec<RateOfKey>> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, proptest};

    use super::*;

    fn rate(count: u32, window_ms: u64) -> Rate {
        Rate { count, window: Duration::from_millis(window_ms) }
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_burst_passes_and_then_one_at_a_time() {
        let (gcra, rate, start) = (Gcra::new(1_000), rate(5, 1_000), Instant::now());
        for _ in 0..5 {
            assert_eq!(gcra.check("a", rate, start), Ok(()));
        }
        assert_eq!(gcra.check("a", rate, start), Err(ms(200)));
        assert_eq!(gcra.check("a", rate, start + ms(150)), Err(ms(50)));
        assert_eq!(gcra.check("a", rate, start + ms(200)), Ok(()));
        assert_eq!(gcra.check("a", rate, start + ms(200)), Err(ms(200)));
        assert_eq!(gcra.check("b", rate, start), Ok(()), "keys do not share");
        // After a quiet window the whole burst is there again.
        for _ in 0..5 {
            assert_eq!(gcra.check("a", rate, start + ms(1_200)), Ok(()));
        }
        assert_eq!(gcra.check("a", rate, start + ms(1_200)), Err(ms(200)));
    }

    #[test]
    fn a_refusal_costs_nothing() {
        let (gcra, rate, start) = (Gcra::new(1_000), rate(1, 1_000), Instant::now());
        assert_eq!(gcra.check("a", rate, start), Ok(()));
        for passed in 0..1_000 {
            assert_eq!(gcra.check("a", rate, start + ms(passed)), Err(ms(1_000 - passed)));
        }
        assert_eq!(gcra.check("a", rate, start + ms(1_000)), Ok(()));
    }

    #[test]
    fn a_changed_rate_holds_at_once() {
        let (gcra, start) = (Gcra::new(1_000), Instant::now());
        assert_eq!(gcra.check("a", rate(1, 10_000), start), Ok(()));
        assert!(gcra.check("a", rate(1, 10_000), start).is_err());
        assert_eq!(gcra.check("a", rate(100, 20_000), start), Ok(()));
    }

    #[test]
    fn refilled_keys_are_forgotten_and_memory_is_bounded() {
        let (gcra, rate, start) = (Gcra::new(200_000), rate(1, 1_000), Instant::now());
        for key in 0..200_000_u64 {
            // A thousand new keys a second are some two a shard.
            let _ = gcra.check(key, rate, start + ms(key));
        }
        assert!(gcra.len() <= SHARDS * SMALL * 2, "{} keys for 1 000 in use", gcra.len());

        let flood = Gcra::new(51_200);
        for key in 0..100_000_u64 {
            assert_eq!(flood.check(key, rate, start), Ok(()), "a full table refuses no key");
        }
        assert!(flood.len() <= 51_200);
        // Each counted key is still refused, and once the flood is over there is room again.
        let counted = (0..100_000_u64).filter(|key| flood.check(*key, rate, start).is_err());
        assert_eq!(counted.count(), flood.len());
        let later = start + ms(5_000);
        assert_eq!(flood.check(1_000_000, rate, later), Ok(()));
        assert!(flood.check(1_000_000, rate, later).is_err());
    }

    proptest! {
        /// The bound of the algorithm: in no stretch of time more than the burst and what flows in.
        #[test]
        fn no_stretch_of_time_holds_more_than_the_rate(
            count in 1_u32..20,
            window_ms in 1_000_u64..5_000,
            steps in proptest::collection::vec(0_u64..400, 1..200),
        ) {
            let (gcra, rate) = (Gcra::new(10), rate(count, window_ms));
            let mut now = Instant::now();
            let mut passed = Vec::new();
            for step in steps {
                now += ms(step);
                match gcra.check((), rate, now) {
                    Ok(()) => passed.push(now),
                    Err(wait) => prop_assert!(wait <= rate.window),
                }
            }
            let each = rate.window / count;
            for (first, from) in passed.iter().enumerate() {
                for (last, to) in passed.iter().enumerate().skip(first) {
                    let flowed = (*to - *from).as_nanos() / each.as_nanos();
                    prop_assert!((last - first + 1) as u128 <= u128::from(count) + flowed);
                }
            }
        }
    }
}
