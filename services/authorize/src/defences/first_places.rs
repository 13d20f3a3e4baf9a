//! Which addresses had a place of a queue from this process before.
//!
//! Most visitors have an address of their own. Their place is not counted in Redis for
//! `places_per_address`, which costs a join up to two thirds more. The count begins with the
//! second place of an address, and the bound is one less.

use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::per_address::networks;

/// One bit for each network; 128 KiB, made with the first address. When many are set a first place
/// may be counted, never the other way round.
const BITS: u64 = 1 << 20;
/// The time after which all are forgotten.
const FORGET_EVERY: Duration = Duration::from_secs(3600);

/// The addresses of one queue.
#[derive(Debug)]
pub struct FirstPlaces {
    bits: OnceLock<Box<[AtomicU64]>>,
    hasher: RandomState,
    start: Instant,
    /// How often they were forgotten.
    forgotten: AtomicU64,
}

impl Default for FirstPlaces {
    fn default() -> Self {
        let (bits, hasher, start) = (OnceLock::new(), RandomState::new(), Instant::now());
        Self { bits, hasher, start, forgotten: AtomicU64::new(0) }
    }
}

impl FirstPlaces {
    /// Whether this is the first call of late for this address, and for its IPv6 /48.
    pub fn is_first(&self, address: IpAddr) -> bool {
        self.is_first_at(address, Instant::now())
    }

    fn is_first_at(&self, address: IpAddr, now: Instant) -> bool {
        let words = usize::try_from(BITS / 64).expect("a small number");
        let bits = self.bits.get_or_init(|| (0..words).map(|_| AtomicU64::new(0)).collect());
        let periods = now.duration_since(self.start).as_secs() / FORGET_EVERY.as_secs();
        // One caller forgets; a bit that another sets meanwhile may be forgotten with the rest.
        if self.forgotten.fetch_max(periods, Ordering::Relaxed) < periods {
            bits.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        }
        let mut is_first = true;
        for (network, _) in networks(address) {
            let bit = self.hasher.hash_one(network) % BITS;
            let word = usize::try_from(bit / 64).expect("below BITS");
            let mask = 1 << (bit % 64);
            is_first &= bits[word].fetch_or(mask, Ordering::Relaxed) & mask == 0;
        }
        is_first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn the_first_place_of_an_address_and_of_a_48() {
        let (first, now) = (FirstPlaces::default(), Instant::now());
        let is_first = |text| first.is_first_at(address(text), now);
        assert!(is_first("203.0.113.1"));
        assert!(!is_first("203.0.113.1") && !is_first("::ffff:203.0.113.1"));
        assert!(is_first("203.0.113.2"));
        assert!(is_first("2001:db8:0:1::1"));
        assert!(!is_first("2001:db8:0:2::1"), "of the same /48");
        assert!(is_first("2001:db8:1:1::1"));
    }

    #[test]
    fn all_are_forgotten_each_hour() {
        let (first, now) = (FirstPlaces::default(), Instant::now());
        let is_first =
            |hours| first.is_first_at(address("203.0.113.1"), now + hours * FORGET_EVERY);
        assert!(is_first(0) && !is_first(0));
        assert!(is_first(2) && !is_first(2) && !is_first(1));
    }

    #[test]
    fn few_of_many_are_taken_for_others() {
        let (first, now) = (FirstPlaces::default(), Instant::now());
        let is_first = |n: &u32| first.is_first_at(IpAddr::from(n.to_be_bytes()), now);
        let firsts = (0..100_000_u32).filter(is_first).count();
        assert!(firsts > 94_000, "{firsts} of 95 300 that are expected");
    }
}
