//! `joins_per_address`: how many joins one client address may make.
//!
//! IPv6 addresses are counted by their /64, which is what one subscriber has at least. Behind one
//! IPv4 address there may be a whole office or a mobile network, so the default is generous, and
//! networks known to be crowded can be exempt.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anteroom_runtime::config::Rate;
use ipnet::IpNet;

use super::gcra::Gcra;

/// Addresses that are counted; about 20 MB when full.
pub const MOST_ADDRESSES: usize = 200_000;
/// How many bits of an IPv6 address name the subscriber.
const IPV6_PREFIX: u32 = 64;

/// The joins of one queue by address.
#[derive(Debug)]
pub struct JoinsPerAddress {
    rate: Option<Rate>,
    exempt: Vec<IpNet>,
    counts: Arc<Gcra<IpAddr>>,
}

impl JoinsPerAddress {
    /// No `rate` means no limit; addresses in `exempt` are not counted.
    pub fn new(rate: Option<Rate>, exempt: &[IpNet]) -> Self {
        Self { rate, exempt: exempt.to_vec(), counts: Arc::new(Gcra::new(MOST_ADDRESSES)) }
    }

    /// Another rule for the same counts, after a reload.
    pub fn with(&self, rate: Option<Rate>, exempt: &[IpNet]) -> Self {
        Self { rate, exempt: exempt.to_vec(), counts: self.counts.clone() }
    }

    /// Counts one join from `address`.
    ///
    /// # Errors
    ///
    /// When the address has used up its rate: how long until it may join again.
    pub fn check(&self, address: IpAddr) -> Result<(), Duration> {
        self.check_at(address, Instant::now())
    }

    fn check_at(&self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        let address = address.to_canonical();
        match self.rate {
            Some(rate) if !self.exempt.iter().any(|net| net.contains(&address)) => {
                self.counts.check(subscriber(address), rate, now)
            }
            _ => Ok(()),
        }
    }
}

/// What is counted as one client: an IPv4 address, an IPv6 /64.
pub fn subscriber(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.into(),
        IpAddr::V6(v6) => {
            let mask = u128::MAX << (128 - IPV6_PREFIX);
            IpAddr::V6((v6.to_bits() & mask).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv4_address_and_an_ipv6_64_are_one_client() {
        let rate = Some(Rate { count: 1, window: Duration::from_secs(60) });
        let joins = JoinsPerAddress::new(rate, &["192.0.2.0/24".parse().expect("a network")]);
        let now = Instant::now();
        let check =
            |address: &str| joins.check_at(address.parse().expect("an address"), now).is_ok();
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
    fn a_reload_keeps_the_counts_and_no_rate_counts_nobody() {
        let address = [203, 0, 113, 1].into();
        let none = JoinsPerAddress::new(None, &[]);
        for _ in 0..1_000 {
            assert!(none.check(address).is_ok());
        }
        assert!(none.counts.is_empty());

        let rate = Some(Rate { count: 1, window: Duration::from_secs(3600) });
        let joins = none.with(rate, &[]);
        assert!(joins.check(address).is_ok());
        assert!(joins.with(rate, &[]).check(address).is_err());
    }
}
