//! `joins_per_address`: how many new places one client address may be given.
//!
//! Behind one IPv4 address there may be a whole office or a mobile network, so the default is
//! generous, and networks known to be crowded can be exempt.
//!
//! A join takes a [`Unit`] before the call of Redis, so that a flood costs no command, and gives it
//! back if the place was not new. A client that hangs up meanwhile may have got a place, so its
//! unit is used up.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anteroom_config::Rate;
use ipnet::IpNet;

use super::per_address::{PerAddress, Unit};

/// The joins of one queue by address.
#[derive(Clone, Debug)]
pub struct JoinsPerAddress {
    rate: Option<Rate>,
    exempt: Vec<IpNet>,
    counts: Arc<PerAddress>,
    /// Joins that the queue refused.
    refused: Arc<PerAddress>,
}

impl JoinsPerAddress {
    /// No `rate` means no limit; addresses in `exempt` are not counted.
    pub fn new(rate: Option<Rate>, exempt: &[IpNet]) -> Self {
        Self { rate, exempt: exempt.to_vec(), counts: Arc::default(), refused: Arc::default() }
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
    pub fn take(&self, address: IpAddr, now: Instant) -> Result<Unit<'_>, Duration> {
        let address = address.to_canonical();
        match self.rate {
            Some(rate) if !self.exempt.iter().any(|net| net.contains(&address)) => {
                self.counts.take(address, rate, now)
            }
            _ => Ok(self.counts.nothing()),
        }
    }

    /// Counts a join that the queue refused, within the same rate; false past it. Refused ones cost
    /// the address nothing, so only this keeps one client from being taken for a crowd.
    pub fn count_refused(&self, address: IpAddr) -> bool {
        let Some(rate) = self.rate else { return true };
        self.refused.take(address, rate, Instant::now()).is_ok()
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
        let check = |address: &str| joins.take(address.parse().expect("an address"), now).is_ok();
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
    fn a_reload_keeps_the_counts_and_without_a_rate_nothing_is_counted() {
        let (address, now) = ([203, 0, 113, 1].into(), Instant::now());
        let none = JoinsPerAddress::new(None, &[]);
        for _ in 0..1_000 {
            none.take(address, now).expect("no limit").give_back();
            assert!(none.take(address, now).is_ok());
        }
        assert!(none.counts.is_empty());

        let rate = Some(Rate { count: 1, window: Duration::from_secs(3600) });
        let joins = none.with(rate, &[]);
        assert!(joins.take(address, now).is_ok());
        assert!(joins.with(rate, &[]).take(address, now).is_err());
    }
}
