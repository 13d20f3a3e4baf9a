//! How many event streams this process serves: all together, and for one client address.
//!
//! A stream keeps its connection for hours, so streams may never take all of them: half are left for
//! those who only ask. A slot is taken before the store is asked, so that many who come at once cannot
//! pass a count that none of them has raised yet.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus::IntGauge;

use crate::defences::subscriber;

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
    by_address: HashMap<IpAddr, usize>,
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
        let address = address.map(subscriber);
        let mut taken = self.lock();
        if taken.all >= most {
            return None;
        }
        if let Some(address) = address {
            let count = taken.by_address.entry(address).or_default();
            // Whoever has none yet gets one, so nothing empty stays behind.
            if *count >= of_address.max(1) {
                return None;
            }
            *count += 1;
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
        if let Some(address) = self.address
            && let Some(count) = taken.by_address.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                taken.by_address.remove(&address);
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
}
