//! Rates by client address, and how much of an IPv6 address is one client.
//!
//! IPv6 addresses are counted by their /64, which is what one subscriber has at least, and by their
//! /48, which is what one may have, with eight times as much.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use anteroom_config::Rate;
use ipnet::IpNet;

use super::gcra::Gcra;

/// Networks that are counted; about 4 MB when full.
const MOST_NETWORKS: usize = 200_000;

/// An IPv4 address has the rate.
const IPV4: &[(u8, u32)] = &[(32, 1)];
/// How many bits of an IPv6 address name the client, and how many times the rate all of these
/// addresses have.
const IPV6: &[(u8, u32)] = &[(64, 1), (48, 8)];

/// The networks that an address is counted by, and how many times as much as one client each of
/// them may have.
pub fn networks(address: IpAddr) -> impl Iterator<Item = (IpNet, u32)> {
    let address = address.to_canonical();
    let parts = if address.is_ipv4() { IPV4 } else { IPV6 };
    parts.iter().filter_map(move |&(bits, times)| {
        IpNet::new(address, bits).ok().map(|net| (net.trunc(), times))
    })
}

/// What was counted, by address.
#[derive(Debug)]
pub struct PerAddress(Gcra);

/// What one thing took. Dropped, it is used up.
#[derive(Debug)]
#[must_use = "a unit that is not given back is used up"]
pub struct Unit<'a> {
    counts: &'a Gcra,
    taken: [Option<(IpNet, Rate)>; 2],
}

impl Unit<'_> {
    /// Returns it, because the place was not new.
    pub fn give_back(self) {
        for (net, rate) in self.taken.into_iter().flatten() {
            self.counts.give_back(net, rate);
        }
    }
}

impl Default for PerAddress {
    fn default() -> Self {
        Self(Gcra::new(MOST_NETWORKS))
    }
}

impl PerAddress {
    /// Takes room for one thing of `address` at `now`.
    ///
    /// # Errors
    ///
    /// When the address has used up its rate: how long until there is room again. Nothing is taken
    /// then.
    pub fn take(&self, address: IpAddr, rate: Rate, now: Instant) -> Result<Unit<'_>, Duration> {
        let mut unit = self.nothing();
        for (at, (net, times)) in networks(address).enumerate() {
            let rate = Rate { count: rate.count.saturating_mul(times), ..rate };
            if let Err(after) = self.0.check(net, rate, now) {
                unit.give_back();
                return Err(after);
            }
            unit.taken[at] = Some((net, rate));
        }
        Ok(unit)
    }

    /// What a thing takes that is not counted.
    pub fn nothing(&self) -> Unit<'_> {
        Unit { counts: &self.0, taken: [None; 2] }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    const RATE: Rate = Rate { count: 2, window: Duration::from_secs(60) };

    #[test]
    fn an_ipv6_48_has_eight_times_as_much() {
        let (counts, now) = (PerAddress::default(), Instant::now());
        let take = |site: u16, subscriber: u16, now| {
            let address = Ipv6Addr::new(0x2001, 0xdb8, site, subscriber, 0, 0, 0, 1);
            counts.take(address.into(), RATE, now)
        };
        // The /64 of the first subscriber and the /48 begin alike and are counted apart.
        for subscriber in 0..8 {
            assert!(take(1, subscriber, now).is_ok() && take(1, subscriber, now).is_ok());
            assert!(take(1, subscriber, now).is_err());
        }
        assert_eq!(take(1, 8, now).err(), Some(Duration::from_millis(3_750)), "the site's rate");
        assert!(take(2, 8, now).is_ok());
        // What the site refused costs the subscriber nothing.
        let later = now + Duration::from_secs(8);
        assert!(take(1, 8, later).is_ok() && take(1, 8, later).is_ok());
    }

    #[test]
    fn what_is_given_back_can_be_taken_again_and_nothing_more() {
        let (counts, now) = (PerAddress::default(), Instant::now());
        for address in ["203.0.113.1", "2001:db8::1"] {
            let take = || counts.take(address.parse().expect("an address"), RATE, now);
            let kept = take().expect("the first");
            for _ in 0..100 {
                take().expect("there is room").give_back();
            }
            drop(kept);
            assert!(take().is_ok());
            assert!(take().is_err(), "dropped is used up");
        }
    }
}
