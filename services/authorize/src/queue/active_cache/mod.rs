//! A cache of the places that this process has seen active: for `on_store_error = "hold"`, and for
//! the rule `local_answers`.
//!
//! While Redis is down, a place that authorize has passed passes until the end that was known then
//! ([`ActiveCache::left`]). With `local_answers` it passes without a call ([`ActiveCache::passes`])
//! while all of this holds:
//!
//! - the last reading of the revocations was sent less than 100 ms ago. A place that it does not
//!   name ended after it was sent, and Redis withholds that slot for 150 ms;
//! - the readings since the last call about the place follow each other without a gap (they are of
//!   one *generation*), and none of them names it;
//! - its end is more than half a second away in queue time, and its renewal is not due.
//!
//! The cache is bounded: when it is full no further place is noted, and Redis decides as usual.

#[cfg(test)]
mod histories;
mod reading;
mod shard;
#[cfg(test)]
mod tests;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anteroom_core::queue::{PlaceRef, Revocations, Ticket};

use self::reading::Readings;
use self::shard::{ActivePlace, CacheShard, Local};
use super::refresh::InUse;

/// Calls about different places seldom wait for each other.
const SHARDS: usize = 64;
/// How long a reading lets places pass, from when it was sent.
pub const FRESH: Duration = Duration::from_millis(100);
/// An answer that took longer is too old. Well below the time for which revocations are remembered
/// ([`shard::REMEMBERED`]).
const LATE: Duration = Duration::from_secs(2);

/// The places of one queue that were active when last seen.
#[derive(Debug)]
pub struct ActiveCache {
    shards: [Mutex<CacheShard>; SHARDS],
    readings: Readings,
    in_use: InUse,
}

impl Default for ActiveCache {
    fn default() -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
            readings: Readings::default(),
            in_use: InUse::default(),
        }
    }
}

/// The state just before a call about a place: the answer of Redis builds on that.
#[derive(Clone, Copy, Debug)]
pub struct Basis {
    at: Instant,
    /// Generation and queue time of a fresh reading.
    reading: Option<(u64, u64)>,
}

impl Basis {
    /// Whether the answer may let the place pass without the store.
    pub fn is_local(&self) -> bool {
        self.reading.is_some()
    }
}

impl ActiveCache {
    /// How long a place is active at least, if it may pass without the store.
    pub fn passes(&self, place: PlaceRef) -> Option<Duration> {
        self.passes_at(place, Instant::now)
    }

    /// The order matters: a reading is published once the places it names are forgotten, and the
    /// time is taken last, so that no pause of the thread lets a place pass on a reading that has
    /// become old.
    fn passes_at(&self, place: PlaceRef, now: impl FnOnce() -> Instant) -> Option<Duration> {
        let reading = self.readings.newest();
        let reading = reading.as_ref()?;
        let local = self.shard(place).local(place)?;
        if local.generation != reading.generation {
            return None;
        }
        let age = now().saturating_duration_since(reading.sent);
        if age >= FRESH {
            return None;
        }
        self.in_use.note();
        local.left(reading.queue_time_us + micros(age))
    }

    /// To be taken just before a call about a place.
    pub fn basis(&self) -> Basis {
        self.in_use.note();
        self.basis_at(Instant::now())
    }

    fn basis_at(&self, at: Instant) -> Basis {
        let reading = self.readings.newest();
        let fresh =
            reading.as_ref().filter(|reading| at.saturating_duration_since(reading.sent) < FRESH);
        Basis { at, reading: fresh.map(|reading| (reading.generation, reading.queue_time_us)) }
    }

    /// Notes the answer of Redis: the place is active for so long. `session_ttl` is given if the
    /// gate renews.
    pub fn note(
        &self,
        place: PlaceRef,
        expires_in: Duration,
        basis: Basis,
        session_ttl: Option<Duration>,
    ) {
        self.note_at(place, expires_in, basis, session_ttl, Instant::now());
    }

    fn note_at(
        &self,
        place: PlaceRef,
        expires_in: Duration,
        basis: Basis,
        session_ttl: Option<Duration>,
        now: Instant,
    ) {
        // A day more than any session is as good as for ever, and cannot overflow.
        let expires_in = expires_in.min(Duration::from_secs(8 * 24 * 3600));
        let in_time = now.saturating_duration_since(basis.at) <= LATE;
        let local = basis.reading.filter(|_| in_time).map(|(generation, queue_time_us)| {
            Local::new(generation, queue_time_us, expires_in, session_ttl)
        });
        let entry = ActivePlace { place, until: basis.at + expires_in, local };
        self.shard(place).note(entry, basis.at, now);
    }

    /// How long the place is still active, as far as this process knows: while Redis is down.
    pub fn left(&self, place: PlaceRef) -> Option<Duration> {
        let until = self.shard(place).until(place)?;
        until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    }

    /// Forgets a place that is not active any more. Later answers to calls that were sent before
    /// are ignored.
    pub fn forget(&self, place: PlaceRef) {
        self.forget_at(place, Instant::now());
    }

    fn forget_at(&self, place: PlaceRef, now: Instant) {
        self.shard(place).forget(place, now);
    }

    /// Forgets the place of a ticket. It looks through all places, which an operator can wait for.
    pub fn forget_ticket(&self, ticket: Ticket) {
        let now = Instant::now();
        for shard in &self.shards {
            lock(shard).forget_ticket(ticket, now);
        }
    }

    /// Forgets all places: the queue has a new epoch. Answers to calls that were sent before are
    /// ignored.
    pub fn clear(&self) {
        self.clear_at(Instant::now());
    }

    fn clear_at(&self, now: Instant) {
        for shard in &self.shards {
            lock(shard).clear(now);
        }
    }

    /// The version of the list that a reading may go on from; none when it begins a generation.
    pub fn version(&self) -> Option<u64> {
        self.readings.newest().as_ref().map(|reading| reading.version)
    }

    /// Takes a reading that was sent at this time. One that does not follow the one before, or
    /// reports that the rule is off, ends the generation: no place passes on older knowledge.
    pub fn read(&self, sent: Instant, read: &Revocations) {
        self.read_at(sent, read, Instant::now());
    }

    fn read_at(&self, sent: Instant, read: &Revocations, now: Instant) {
        if self.readings.shows_reset(read) {
            self.clear_at(now);
        }
        if self.readings.follows(read) {
            for &(id, ticket) in &read.ended {
                self.shard(PlaceRef { epoch: read.epoch, id, ticket }).end(id, ticket, now);
            }
        }
        self.readings.publish(sent, read);
    }

    /// A reading failed, or there will be none for a while.
    pub fn lose_reading(&self) {
        self.readings.lose();
    }

    /// Whether requests need the cache.
    pub fn in_use(&self) -> &InUse {
        &self.in_use
    }

    fn shard(&self, place: PlaceRef) -> MutexGuard<'_, CacheShard> {
        lock(&self.shards[usize::from(place.id.0[13]) % SHARDS])
    }
}

/// A table whose holder panicked is still a table.
fn lock(shard: &Mutex<CacheShard>) -> MutexGuard<'_, CacheShard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
