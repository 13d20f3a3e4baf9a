//! Whom this process knows as active, for `on_store_error = "hold"`.
//!
//! While the store is away, a place that authorize let through passes until the end that was known
//! then. The table is bounded: past the bound nobody new is noted, and the store's answer decides
//! as ever.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anteroom_core::queue::{PlaceId, PlaceRef};

const SHARDS: usize = 16;
const MOST_PER_SHARD: usize = 4_096;

/// The places of one queue that were active when last seen.
#[derive(Debug, Default)]
pub struct Known {
    shards: [Mutex<Shard>; SHARDS],
}

type Shard = HashMap<PlaceId, Entry, BuildHasherDefault<DigestHasher>>;

#[derive(Clone, Copy, Debug)]
struct Entry {
    place: PlaceRef,
    until: Instant,
}

impl Known {
    /// Notes that a place is active for this long from now.
    pub fn note(&self, place: PlaceRef, expires_in: Duration) {
        let now = Instant::now();
        // Half a day more than any session is as good as for ever, and cannot overflow.
        let until = now + expires_in.min(Duration::from_secs(8 * 24 * 3600));
        let mut shard = self.shard(place);
        if shard.len() >= MOST_PER_SHARD && !shard.contains_key(&place.id) {
            shard.retain(|_, entry| entry.until > now);
            if shard.len() >= MOST_PER_SHARD {
                return;
            }
        }
        shard.insert(place.id, Entry { place, until });
    }

    /// Forgets a place that is not active any more.
    pub fn forget(&self, place: PlaceRef) {
        self.shard(place).remove(&place.id);
    }

    /// Forgets everyone: the queue began a new life.
    pub fn clear(&self) {
        for shard in &self.shards {
            shard.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }

    /// How long the place is still active, as far as this process knows.
    pub fn left(&self, place: PlaceRef) -> Option<Duration> {
        let entry = *self.shard(place).get(&place.id)?;
        let left = entry.until.checked_duration_since(Instant::now())?;
        (entry.place == place && !left.is_zero()).then_some(left)
    }

    fn shard(&self, place: PlaceRef) -> std::sync::MutexGuard<'_, Shard> {
        // A map whose holder panicked is still a map.
        let shard = usize::from(place.id.0[13]) % SHARDS;
        self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place id is a digest already: eight of its bytes are as good as any hash of it.
#[derive(Debug, Default)]
struct DigestHasher(u64);

impl Hasher for DigestHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some((first, _)) = bytes.split_first_chunk::<8>() {
            self.0 = u64::from_le_bytes(*first);
        }
    }

    // The length that arrays put in front says nothing.
    fn write_usize(&mut self, _: usize) {}
}

#[cfg(test)]
mod tests {
    use anteroom_core::queue::Epoch;

    use super::*;

    fn place(number: u64) -> PlaceRef {
        let mut id = [0; 14];
        id[..8].copy_from_slice(&number.to_le_bytes());
        id[13] = number.to_le_bytes()[0];
        PlaceRef { epoch: Epoch([1; 8]), id: PlaceId(id), ticket: number + 1 }
    }

    #[test]
    fn a_place_is_known_until_its_end_and_only_as_itself() {
        let known = Known::default();
        known.note(place(1), Duration::from_secs(60));
        assert!(known.left(place(1)).is_some_and(|left| left <= Duration::from_secs(60)));
        assert_eq!(known.left(PlaceRef { ticket: 99, ..place(1) }), None);
        assert_eq!(known.left(PlaceRef { epoch: Epoch([2; 8]), ..place(1) }), None);
        assert_eq!(known.left(place(2)), None);
        known.note(place(1), Duration::ZERO);
        assert_eq!(known.left(place(1)), None);
    }

    #[test]
    fn a_place_that_left_is_forgotten() {
        let known = Known::default();
        known.note(place(1), Duration::from_secs(60));
        known.forget(place(1));
        assert_eq!(known.left(place(1)), None);
    }

    #[test]
    fn the_table_is_bounded_and_makes_room_for_the_living() {
        let known = Known::default();
        let all = (SHARDS * MOST_PER_SHARD) as u64;
        for number in 0..all {
            known.note(place(number), Duration::ZERO);
        }
        assert!(known.shards.iter().all(|s| s.lock().expect("no panic").len() <= MOST_PER_SHARD));
        known.note(place(all), Duration::from_secs(60));
        assert!(known.left(place(all)).is_some(), "the ended ones made room");
    }
}
