//! How many event streams this process serves: all together, and for one client address.
//!
//! A stream keeps its connection for hours, so streams may never take all of them: half are left
//! for other calls. A slot is taken before the call of Redis, so that many requests at once cannot
//! pass a count that none of them has raised yet.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anteroom_authorize::defences::networks;
use ipnet::IpNet;
use prometheus::IntGauge;

/// Where no number is configured, one address has this part of all slots.
const PART_OF_ADDRESS: usize = 4;
/// Two tabs of one visitor are always allowed.
const LEAST_OF_ADDRESS: usize = 2;

/// The slots of this process.
#[derive(Debug)]
pub struct StreamSlots {
    taken: Mutex<Taken>,
    most: usize,
    open: IntGauge,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by_address: HashMap<IpNet, usize>,
}

/// The slot of one stream, until it is dropped.
#[derive(Debug)]
pub struct StreamSlot {
    slots: Arc<StreamSlots>,
    address: Option<IpAddr>,
}

impl StreamSlots {
    /// Slots on a port that takes so many connections; those taken show in `open`.
    pub fn new(connections: usize, open: IntGauge) -> Arc<Self> {
        Arc::new(Self { taken: Mutex::default(), most: connections / 2, open })
    }

    /// A slot, if there is one left of the `sse_max` of all and of the `sse_per_address` of this
    /// address; without an address only the first counts.
    pub fn take(
        self: &Arc<Self>,
        sse_max: usize,
        sse_per_address: Option<usize>,
        address: Option<IpAddr>,
    ) -> Option<StreamSlot> {
        let most = sse_max.min(self.most);
        let of_address = match sse_per_address {
            None => (most / PART_OF_ADDRESS).max(LEAST_OF_ADDRESS),
            Some(0) => usize::MAX,
            Some(most) => most,
        };
        let counted = || address.into_iter().flat_map(networks);
        let mut taken = self.lock();
        // An address without a slot gets one, so nothing empty stays behind.
        let is_used_up = |(net, times): (IpNet, u32)| {
            let most = of_address.saturating_mul(times as usize);
            taken.by_address.get(&net).is_some_and(|count| *count >= most)
        };
        if taken.all >= most || counted().any(is_used_up) {
            return None;
        }
        for (net, _) in counted() {
            *taken.by_address.entry(net).or_default() += 1;
        }
        taken.all += 1;
        self.open.inc();
        Some(StreamSlot { slots: self.clone(), address })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        // The counts are whole after every single call.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        let mut taken = self.slots.lock();
        taken.all -= 1;
        self.slots.open.dec();
        for (net, _) in self.address.into_iter().flat_map(networks) {
            if let Some(count) = taken.by_address.get_mut(&net) {
                *count -= 1;
                if *count == 0 {
                    taken.by_address.remove(&net);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLENTY: usize = 1_000_000;

    fn slots(connections: usize) -> Arc<StreamSlots> {
        StreamSlots::new(connections, IntGauge::new("streams", "streams").expect("a name"))
    }

    fn address(last: u8) -> Option<IpAddr> {
        Some([203, 0, 113, last].into())
    }

    /// Takes slots until there is none.
    fn all(take: impl FnMut() -> Option<StreamSlot>) -> Vec<StreamSlot> {
        std::iter::from_fn(take).collect()
    }

    #[test]
    fn half_of_the_connections_are_left_to_others() {
        let slots = slots(84);
        assert_eq!(all(|| slots.take(8_000, Some(0), address(1))).len(), 42);
        assert_eq!(all(|| slots.take(8_000, Some(0), None)).len(), 42);
        assert_eq!(all(|| slots.take(10, Some(0), None)).len(), 10, "sse_max, where it is less");
        assert!(slots.take(0, None, None).is_none());
    }

    #[test]
    fn one_address_has_its_part_and_gets_back_what_it_gave_up() {
        let slots = slots(PLENTY);
        let held = all(|| slots.take(40, None, address(1)));
        assert_eq!(held.len(), 10, "a quarter");
        let others = all(|| slots.take(40, None, address(2)));
        assert_eq!(others.len(), 10);
        assert_eq!(slots.open.get(), 20);
        drop(held);
        assert_eq!(all(|| slots.take(40, None, address(1))).len(), 10);
        drop(others);
        assert_eq!(slots.open.get(), 0);
        assert!(slots.lock().by_address.is_empty(), "nothing stays behind");
        assert_eq!(all(|| slots.take(40, Some(3), address(1))).len(), 3);
        assert_eq!(all(|| slots.take(40, Some(0), address(1))).len(), 40, "0: no such bound");
        assert_eq!(all(|| slots.take(4, None, address(1))).len(), 2, "two tabs");
    }

    #[test]
    fn an_ipv6_64_is_one_address() {
        let slots = slots(PLENTY);
        let take =
            |address: &str| slots.take(PLENTY, Some(1), Some(address.parse().expect("an address")));
        let _held = take("2001:db8:0:1::1").expect("the first");
        assert!(take("2001:db8:0:1:ffff::2").is_none());
        assert!(take("2001:db8:0:2::1").is_some());
    }

    #[test]
    fn an_ipv6_48_has_eight_times_as_many() {
        let slots = slots(PLENTY);
        let take = |site: u16, subscriber: u16| {
            let address = [0x2001, 0xdb8, site, subscriber, 0, 0, 0, 1];
            slots.take(PLENTY, Some(2), Some(IpAddr::from(address)))
        };
        let mut held: Vec<_> = (0..100).flat_map(|of| all(|| take(1, of))).collect();
        assert_eq!(held.len(), 16);
        assert!(take(2, 0).is_some(), "another site");
        held.pop();
        assert!(take(1, 100).is_some());
        drop(held);
        assert!(slots.lock().by_address.is_empty(), "nothing stays behind");
    }
}
