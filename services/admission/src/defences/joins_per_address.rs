//! `joins_per_address`: how many new places one client address may be given.
//!
//! IPv6 addresses are counted by their /64, which is what one subscriber has at least, and by their /48,
//! which is what one may have, with eight times as much. Behind one IPv4 address there may be a whole
//! office or a mobile network, so the default is generous, and networks known to be crowded can be
//! exempt.
//!
//! A join takes a [`Unit`] before the store is asked, so that a flood is refused without a command, and
//! gives it back when it turns out that the place was not new.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anteroom_runtime::config::Rate;
use ipnet::IpNet;

use super::gcra::Gcra;

/// Addresses that are counted; about 20 MB when full.
pub const MOST_ADDRESSES: usize = 200_000;
/// How many bits of an IPv6 address name the subscriber …
const IPV6_PREFIX: u8 = 64;
/// … at the least, and how many at the most, …
const IPV6_SITE_PREFIX: u8 = 48;
/// who then may have so many times as much.
const SITE_FACTOR: u32 = 8;

/// The joins of one queue by address.
#[derive(Debug)]
pub struct JoinsPerAddress {
    rate: Option<Rate>,
    exempt: Vec<IpNet>,
    counts: Arc<Gcra<IpNet>>,
    /// Joins that the queue refused.
    refused: Arc<Gcra<IpAddr>>,
}

/// Room for one new place. Dropped, it is used up: whoever hangs up while the store is asked may have
/// been given a place.
#[derive(Debug)]
#[must_use = "a unit that is not given back is used up"]
pub struct Unit<'a> {
    counts: &'a Gcra<IpNet>,
    taken: [Option<(IpNet, Rate)>; 2],
}

impl Unit<'_> {
    /// No new place was given.
    pub fn give_back(self) {
        for (net, rate) in self.taken.into_iter().flatten() {
            self.counts.give_back(&net, rate);
        }
    }
}

impl JoinsPerAddress {
    /// No `rate` means no limit; addresses in `exempt` are not counted.
    pub fn new(rate: Option<Rate>, exempt: &[IpNet]) -> Self {
        let exempt = exempt.to_vec();
        let counts = Arc::new(Gcra::new(MOST_ADDRESSES));
        Self { rate, exempt, counts, refused: Arc::new(Gcra::new(MOST_ADDRESSES)) }
    }

    /// Another rule for the same counts, after a reload.
    pub fn with(&self, rate: Option<Rate>, exempt: &[IpNet]) -> Self {
        let (counts, refused) = (self.counts.clone(), self.refused.clone());
        Self { rate, exempt: exempt.to_vec(), counts, refused }
    }

    /// Takes room for one new place from `address`.
    ///
    /// # Errors
    ///
    /// When the address has used up its rate: how long until there is room again.
    pub fn take(&self, address: IpAddr) -> Result<Unit<'_>, Duration> {
        self.take_at(address, Instant::now())
    }

    /// Counts a join that the queue refused, within the same rate; false past it. Refused ones cost the address
    /// nothing, so only this keeps one client from being taken for a crowd.
    pub fn count_refused(&self, address: IpAddr) -> bool {
        let Some(rate) = self.rate else { return true };
        self.refused.check(subscriber(address), rate, Instant::now()).is_ok()
    }

    fn take_at(&self, address: IpAddr, now: Instant) -> Result<Unit<'_>, Duration> {
        let address = address.to_canonical();
        let mut unit = Unit { counts: &self.counts, taken: [None; 2] };
        let Some(rate) = self.rate else { return Ok(unit) };
        if self.exempt.iter().any(|net| net.contains(&address)) {
            return Ok(unit);
        }
        let wide = Rate { count: rate.count.saturating_mul(SITE_FACTOR), ..rate };
        let counted = match address {
            IpAddr::V4(_) => [Some((IpNet::from(address), rate)), None],
            IpAddr::V6(_) => {
                [network(address, IPV6_PREFIX, rate), network(address, IPV6_SITE_PREFIX, wide)]
            }
        };
        for (at, (net, rate)) in counted.into_iter().flatten().enumerate() {
            if let Err(after) = self.counts.check(net, rate, now) {
                unit.give_back();
                return Err(after);
            }
            unit.taken[at] = Some((net, rate));
        }
        Ok(unit)
    }
}

/// What is counted as one client: an IPv4 address, an IPv6 /64.
pub fn subscriber(address: IpAddr) -> IpAddr {
    let address = address.to_canonical();
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(_) => IpNet::new(address, IPV6_PREFIX).map_or(address, |net| net.network()),
    }
}

fn network(address: IpAddr, prefix: u8, rate: Rate) -> Option<(IpNet, Rate)> {
    IpNet::new(address, prefix).ok().map(|net| (net.trunc(), rate))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    #[test]
    fn an_ipv4_address_and_an_ipv6_64_are_one_client() {
        let rate = Some(Rate { count: 1, window: Duration::from_secs(60) });
        let joins = JoinsPerAddress::new(rate, &["192.0.2.0/24".parse().expect("a network")]);
        let now = Instant::now();
        let check =
            |address: &str| joins.take_at(address.parse().expect("an address"), now).is_ok();
        assert!(check("203.0.113.1"));
        assert!(!check("203.0.113.1"));
        assert!(!check("::ffff:203.0.113.1"));
        assert!(check("203.0.113.2"));
        assert!(check("2001:db8:0:1::1"));
        assert!(!check("2001:db8:0:1:ffff::2"));
        assert!(check("2001:db8:0:2::1"));
        for _ in 0..10 {
            assert!(check("192.0.2.7"), "exempt");
            assert!(check("::ffff:192.0.2.7"), "exempt");
        }
    }

    #[test]
    fn an_ipv6_48_has_eight_times_as_much() {
        let rate = Some(Rate { count: 2, window: Duration::from_secs(60) });
        let (joins, now) = (JoinsPerAddress::new(rate, &[]), Instant::now());
        let take = |site: u16, subscriber: u16| {
            let address = Ipv6Addr::new(0x2001, 0xdb8, site, subscriber, 0, 0, 0, 1);
            joins.take_at(address.into(), now)
        };
        // The /64 of the first subscriber and the /48 begin alike and are counted apart.
        for subscriber in 0..8 {
            assert!(take(1, subscriber).is_ok() && take(1, subscriber).is_ok());
            assert!(take(1, subscriber).is_err());
        }
        assert_eq!(take(1, 8).err(), Some(Duration::from_millis(3_750)), "the site's rate");
        assert!(take(2, 8).is_ok());
        // What the site refused costs the subscriber nothing.
        let later = now + Duration::from_secs(8);
        let address = Ipv6Addr::new(0x2001, 0xdb8, 1, 8, 0, 0, 0, 1).into();
        assert!(joins.take_at(address, later).is_ok() && joins.take_at(address, later).is_ok());
    }

    #[test]
    fn what_is_given_back_can_be_taken_again_and_nothing_more() {
        let rate = Some(Rate { count: 3, window: Duration::from_secs(3600) });
        let (joins, now) = (JoinsPerAddress::new(rate, &[]), Instant::now());
        for address in ["203.0.113.1", "2001:db8::1"] {
            let address = address.parse().expect("an address");
            let kept = joins.take_at(address, now).expect("the first");
            for _ in 0..100 {
                joins.take_at(address, now).expect("there is room").give_back();
            }
            drop(kept);
            assert!(joins.take_at(address, now).is_ok() && joins.take_at(address, now).is_ok());
            assert!(joins.take_at(address, now).is_err(), "dropped is used up");
        }
        // An address that was not counted has nothing to give back.
        let free = JoinsPerAddress::new(None, &[]);
        free.take_at([203, 0, 113, 1].into(), now).expect("no limit").give_back();
        assert!(free.counts.is_empty());
    }

    #[test]
    fn a_reload_keeps_the_counts_and_no_rate_counts_nobody() {
        let address = [203, 0, 113, 1].into();
        let none = JoinsPerAddress::new(None, &[]);
        for _ in 0..1_000 {
            assert!(none.take(address).is_ok());
        }
        assert!(none.counts.is_empty());

        let rate = Some(Rate { count: 1, window: Duration::from_secs(3600) });
        let joins = none.with(rate, &[]);
        assert!(joins.take(address).is_ok());
        assert!(joins.with(rate, &[]).take(address).is_err());
    }
}
