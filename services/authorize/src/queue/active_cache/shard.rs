//! A part of the table: active places by identity, and the recent revocations.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::time::{Duration, Instant};

use anteroom_core::queue::{PlaceId, PlaceRef, Ticket};

use super::micros;

/// With 64 shards a quarter of a million places; about 35 MB when full.
pub const MOST: usize = 4_096;
/// A full shard is cleaned at most this often, so that a full table does not make calls slow.
const CLEAN_EVERY: Duration = Duration::from_secs(1);
/// Revocations are remembered this long, because answers to earlier calls may still come.
pub const REMEMBERED: Duration = Duration::from_secs(5);
/// This long before its end a place needs Redis again: steps of its clock that it does not take for
/// leaps (a quarter of a second), and the delay of a reading, fit into this.
const MARGIN_US: u64 = 500_000;

/// An active place.
#[derive(Clone, Copy, Debug)]
pub struct ActivePlace {
    /// Which place; a later one of the same identity is another.
    pub place: PlaceRef,
    /// Its end by this process's clock.
    pub until: Instant,
    /// The basis on which it may pass without Redis.
    pub local: Option<Local>,
}

/// The basis on which a place may pass without Redis, in queue time.
#[derive(Clone, Copy, Debug)]
pub struct Local {
    /// Of the reading that was in force before the call.
    pub generation: u64,
    until_us: u64,
    /// From then on Redis decides: the end is near, or the renewal is due.
    ask_from_us: u64,
}

impl Local {
    /// Redis returned the remaining time after the queue time of a reading, so the end is at least
    /// that far from it.
    pub fn new(
        generation: u64,
        queue_time_us: u64,
        expires_in: Duration,
        session_ttl: Option<Duration>,
    ) -> Self {
        let until_us = queue_time_us + micros(expires_in);
        // Redis renews from a quarter of the session on. A session that is not longer than three
        // quarters after a call that renews is near session_max: the next call comes at the same
        // pace.
        let renewal_us = session_ttl.map_or(u64::MAX, |session_ttl| {
            let rest = session_ttl * 3 / 4;
            if expires_in > rest {
                until_us - micros(rest)
            } else {
                queue_time_us + micros(session_ttl / 4)
            }
        });
        let ask_from_us = renewal_us.min(until_us.saturating_sub(MARGIN_US));
        Self { generation, until_us, ask_from_us }
    }

    /// How long the place is active at least, unless Redis must decide.
    pub fn left(&self, queue_time_us: u64) -> Option<Duration> {
        let passes = queue_time_us < self.ask_from_us;
        passes.then(|| Duration::from_micros(self.until_us - queue_time_us))
    }
}

/// When a place, or an earlier one of its identity, ended before the time.
#[derive(Clone, Copy, Debug)]
struct Ended {
    ticket: Ticket,
    at: Instant,
}

/// A part of the table.
#[derive(Debug, Default)]
pub struct CacheShard {
    places: HashMap<PlaceId, ActivePlace, BuildHasherDefault<DigestHasher>>,
    ended: HashMap<PlaceId, Ended, BuildHasherDefault<DigestHasher>>,
    cleaned: Option<Instant>,
    cleared: Option<Instant>,
}

impl CacheShard {
    /// The basis on which the place may pass without Redis.
    pub fn local(&self, place: PlaceRef) -> Option<Local> {
        self.places.get(&place.id).filter(|entry| entry.place == place)?.local
    }

    /// The end of the place by this process's clock.
    pub fn until(&self, place: PlaceRef) -> Option<Instant> {
        self.places.get(&place.id).filter(|entry| entry.place == place).map(|entry| entry.until)
    }

    /// Notes the answer to a call that was sent at this time, unless the place has ended meanwhile,
    /// or there is no room.
    pub fn note(&mut self, entry: ActivePlace, sent: Instant, now: Instant) {
        let place = entry.place;
        let ended = self.ended.get(&place.id);
        let has_ended = ended.is_some_and(|it| it.ticket >= place.ticket && it.at >= sent);
        if has_ended || self.cleared.is_some_and(|at| at >= sent) {
            return;
        }
        if self.places.contains_key(&place.id) || self.has_room(now) {
            self.places.insert(place.id, entry);
        }
    }

    /// A reading names the place: it ended before the time.
    pub fn end(&mut self, id: PlaceId, ticket: Ticket, now: Instant) {
        if self.places.get(&id).is_some_and(|entry| entry.place.ticket <= ticket) {
            self.places.remove(&id);
        }
        self.remember_end(id, ticket, now);
    }

    /// Redis answered that the place has ended.
    pub fn forget(&mut self, place: PlaceRef, now: Instant) {
        if self.until(place).is_some() {
            self.places.remove(&place.id);
        }
        self.remember_end(place.id, place.ticket, now);
    }

    /// The place of this ticket has ended.
    pub fn forget_ticket(&mut self, ticket: Ticket, now: Instant) {
        let of_ticket = self.places.values().find(|entry| entry.place.ticket == ticket);
        if let Some(place) = of_ticket.map(|entry| entry.place) {
            self.forget(place, now);
        }
    }

    /// Calls that were sent before may still answer that the place is active: [`Self::note`]
    /// ignores those.
    fn remember_end(&mut self, id: PlaceId, ticket: Ticket, now: Instant) {
        // A reading names at most a thousand places, a call one. So the map stays small.
        if self.is_to_clean(now) {
            self.clean(now);
        }
        let ended = self.ended.entry(id).or_insert(Ended { ticket, at: now });
        *ended = Ended { ticket: ticket.max(ended.ticket), at: now };
    }

    /// Forgets every place, but no revocation: answers may still come.
    pub fn clear(&mut self, now: Instant) {
        self.places.clear();
        self.cleared = Some(now);
    }

    fn has_room(&mut self, now: Instant) -> bool {
        if self.places.len() >= MOST && self.is_to_clean(now) {
            self.clean(now);
        }
        self.places.len() < MOST
    }

    fn is_to_clean(&self, now: Instant) -> bool {
        self.cleaned.is_none_or(|cleaned| now >= cleaned + CLEAN_EVERY)
    }

    fn clean(&mut self, now: Instant) {
        self.places.retain(|_, entry| entry.until > now);
        self.ended.retain(|_, ended| ended.at + REMEMBERED > now);
        self.cleaned = Some(now);
    }

    #[cfg(test)]
    pub fn len(&self) -> (usize, usize) {
        (self.places.len(), self.ended.len())
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
