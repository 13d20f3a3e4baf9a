//! The generic cell rate algorithm (ITU-T I.371), one cell a key, in bounded memory.
//!
//! A key may do `count` things at once and then one every `window / count`; after a quiet `window`
//! it may do them all again. Its whole state is one time: when it will be fully refilled. A key
//! that is refilled is as good as one never seen, so it is forgotten when room is needed.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ahash::RandomState;
use anteroom_config::Rate;

/// Calls of different keys seldom wait for each other.
const SHARDS: usize = 64;
/// Below this a shard is not cleaned, because a small table would be cleaned all the time. All
/// shards of this length together fit into a processor's cache.
const SMALL: usize = 32;
/// A full shard is cleaned at most this often, so that a flood of new keys cannot make it slow.
const CLEAN_EVERY: Duration = Duration::from_secs(1);

/// Rates of many keys.
#[derive(Debug)]
pub struct Gcra<K> {
    shards: Box<[Mutex<RateShard<K>>]>,
    most_per_shard: usize,
    hasher: RandomState,
}

#[derive(Debug)]
struct RateShard<K> {
    /// When each key is fully refilled.
    refilled_at: HashMap<K, Instant, RandomState>,
    /// At this length the refilled ones are looked for.
    clean_at: usize,
    cleaned: Option<Instant>,
}

impl<K: Hash + Eq> Gcra<K> {
    /// Remembers about `most` keys. Past that, keys not yet known go uncounted: who has more
    /// addresses than this could not be held back by counting them either.
    pub fn new(most: usize) -> Self {
        let shard = || {
            let refilled_at = HashMap::with_hasher(RandomState::new());
            Mutex::new(RateShard { refilled_at, clean_at: SMALL, cleaned: None })
        };
        Self {
            shards: (0..SHARDS).map(|_| shard()).collect(),
            most_per_shard: most.div_ceil(SHARDS),
            hasher: RandomState::new(),
        }
    }

    /// Counts one thing of `key` at `now`, unless the rate is used up. `now` may go back a little:
    /// callers read their clocks before they wait for each other.
    ///
    /// # Errors
    ///
    /// When it is used up: how long until there is room for one. Nothing is counted then.
    pub fn check(&self, key: K, rate: Rate, now: Instant) -> Result<(), Duration> {
        let each = rate.window / rate.count.max(1);
        // A thing fits when, after it, the key is refilled within the window.
        let room = rate.window.saturating_sub(each);
        let mut shard = self.shard(&key);
        if let Some(refilled_at) = shard.refilled_at.get_mut(&key) {
            let left = refilled_at.saturating_duration_since(now);
            if let Some(too_much) = left.checked_sub(room).filter(|rest| !rest.is_zero()) {
                return Err(too_much);
            }
            *refilled_at = now + left + each;
            return Ok(());
        }
        if shard.has_room(self.most_per_shard, now) {
            shard.refilled_at.insert(key, now + each);
        }
        Ok(())
    }

    /// Takes one thing back that was counted under this rate.
    pub fn give_back(&self, key: &K, rate: Rate) {
        let each = rate.window / rate.count.max(1);
        if let Some(refilled_at) = self.shard(key).refilled_at.get_mut(key) {
            *refilled_at = refilled_at.checked_sub(each).unwrap_or(*refilled_at);
        }
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).refilled_at.len()).sum()
    }

    fn shard(&self, key: &K) -> std::sync::MutexGuard<'_, RateShard<K>> {
        // The low bits choose the shard; the shard's own map hashes with another seed.
        let hash = usize::try_from(self.hasher.hash_one(key) % SHARDS as u64).unwrap_or(0);
        lock(&self.shards[hash])
    }
}

impl<K: Hash + Eq> RateShard<K> {
    /// Makes room for one more key, if there may be one more.
    fn has_room(&mut self, most: usize, now: Instant) -> bool {
        let full = self.refilled_at.len() >= most;
        let lately = self.cleaned.is_some_and(|cleaned| now < cleaned + CLEAN_EVERY);
        if self.refilled_at.len() >= self.clean_at.min(most) && !(full && lately) {
            self.refilled_at.retain(|_, refilled_at| *refilled_at > now);
            // The next cleaning waits until the table has doubled: each key pays a constant share.
            self.clean_at = (self.refilled_at.len() * 2).max(SMALL);
            self.refilled_at.shrink_to(self.clean_at);
            self.cleaned = Some(now);
        }
        self.refilled_at.len() < most
    }
}

/// A table of plain times is still right after a panic elsewhere.
fn lock<K>(shard: &Mutex<RateShard<K>>) -> std::sync::MutexGuard<'_, RateShard<K>> {
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
        let (gcra, rate, start) = (Gcra::new(64 * 1_000), rate(1, 1_000), Instant::now());
        for key in 0..200_000_u64 {
            // A thousand new keys a second are some sixteen a shard.
            let _ = gcra.check(key, rate, start + ms(key));
        }
        assert!(gcra.len() <= 64 * SMALL * 2, "{} keys for 1 000 in use", gcra.len());

        let flood = Gcra::new(6_400);
        for key in 0..100_000_u64 {
            assert_eq!(flood.check(key, rate, start), Ok(()), "a full table refuses no key");
        }
        assert!(flood.len() <= 6_400);
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
