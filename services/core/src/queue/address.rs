//! Where a join comes from, as Redis knows it: by numbers that nothing but a secret turns back into
//! addresses.
//!
//! An IPv4 address is one client. An IPv6 address is counted by its /64, which is what one
//! subscriber has at least, and by its /48. `lua/queue/lib/addresses.lua` reads the numbers.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::token::TokenKeys;

/// What the digests begin with, so that none is a signature.
const DOMAIN: &[u8] = b"anteroom address\0";
/// The numbers of /48s are from here on; an IPv4 address has 0 in their place.
const SITES: u16 = 1 << 15;

/// By which numbers a join counts for its client's address; the default counts for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JoinedFrom {
    numbers: [u8; Self::LEN],
    /// How many places of the address may have been given without being counted.
    pub(super) uncounted: u8,
}

impl JoinedFrom {
    pub(super) const LEN: usize = 4;

    /// What a call of these joins counts for, as `lua/queue/join.lua` takes it: the numbers of
    /// each, and how often they name each number. Nothing of both when none counts.
    pub(super) fn pack(joins: impl Iterator<Item = Self> + Clone) -> (Vec<u8>, Vec<u8>) {
        if !joins.clone().any(Self::is_counted) {
            return Default::default();
        }
        let mut times = BTreeMap::<[u8; 3], u8>::new();
        for Self { numbers: [a, b, c, d], .. } in joins.clone().filter(|it| it.is_counted()) {
            *times.entry([0, a, b]).or_default() += 1;
            if c > 0 {
                *times.entry([b's', c, d]).or_default() += 1;
            }
        }
        let numbers = joins.flat_map(|join| join.numbers).collect();
        (numbers, times.iter().flat_map(|(&[kind, a, b], &n)| [n, kind, a, b]).collect())
    }

    /// Whether it counts for an address.
    pub fn is_counted(self) -> bool {
        self.numbers != [0; Self::LEN]
    }

    /// The same from a caller that does not count the first place of an address: it takes one off
    /// the bound.
    pub fn after_first(self) -> Self {
        Self { uncounted: 1, ..self }
    }
}

impl TokenKeys {
    /// The numbers of an address in a queue. They depend on the secret that signs: under another
    /// one the address counts from 0, and places given before still end where they were counted.
    pub fn joined_from(&self, queue: &str, address: IpAddr) -> JoinedFrom {
        let number = |network: &[u8]| {
            // Queue names hold no NUL, so it can be read in one way only.
            let digest = self.secrets().digest(DOMAIN, &[queue.as_bytes(), &[0], network]);
            u16::from_be_bytes([digest[0], digest[1]])
        };
        let (address, site) = match address.to_canonical() {
            IpAddr::V4(address) => (number(&address.octets()), 0),
            IpAddr::V6(address) => {
                let octets = address.octets();
                (number(&octets[..8]), number(&octets[..6]) | SITES)
            }
        };
        // 0 counts for none.
        let ([a, b], [c, d]) = (address.max(1).to_be_bytes(), site.to_be_bytes());
        JoinedFrom { numbers: [a, b, c, d], uncounted: 0 }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn keys(letter: &str) -> TokenKeys {
        TokenKeys::new(&[letter.repeat(32).into()]).expect("a secret")
    }

    fn numbers(keys: &TokenKeys, queue: &str, address: &str) -> (u16, u16) {
        let [a, b, c, d] = keys.joined_from(queue, address.parse().expect("address")).numbers;
        (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
    }

    #[test]
    fn an_ipv4_address_an_ipv6_64_and_a_48_have_numbers_of_their_own() {
        let keys = keys("k");
        let of = |address| numbers(&keys, "q", address);
        let one = of("203.0.113.1");
        assert_eq!(of("::ffff:203.0.113.1"), one);
        assert!(one.0 > 0 && one.1 == 0 && of("203.0.113.2") != one);
        let six = of("2001:db8:0:1::1");
        assert_eq!(of("2001:db8:0:1:ffff::2"), six);
        assert!(six.0 > 0 && six.1 >= SITES);
        let neighbour = of("2001:db8:0:2::1");
        assert!(neighbour.0 != six.0 && neighbour.1 == six.1);
        assert_ne!(of("2001:db8:1:1::1").1, six.1);
    }

    #[test]
    fn another_queue_or_secret_gives_other_numbers() {
        let address = "203.0.113.1";
        let one = numbers(&keys("k"), "q", address);
        assert_ne!(numbers(&keys("k"), "r", address), one);
        assert_ne!(numbers(&keys("l"), "q", address), one);
        let [old, new] = ["k", "l"].map(|letter| letter.repeat(32).into());
        let appended = TokenKeys::new(&[old, new]).expect("secrets");
        assert_eq!(numbers(&appended, "q", address), one, "the secret that signs decides");
    }

    #[test]
    fn numbers_are_spread() {
        let keys = keys("k");
        let addresses = (0..10_000).map(|n| format!("10.{}.{}.1", n / 256, n % 256));
        let all: BTreeSet<_> = addresses.map(|at| numbers(&keys, "q", &at).0).collect();
        // Of 65 536: expected 9 273.
        assert!(all.len() > 9_150, "{}", all.len());
    }
}
