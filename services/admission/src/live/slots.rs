//! The limit of live streams of the process, and of one key, so that no key takes all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus::IntGauge;

/// The most open streams of the process.
pub const MOST_STREAMS: usize = 32;
/// The most open streams of one key.
pub const MOST_OF_KEY: usize = MOST_STREAMS / 2;

/// The slots of this process.
#[derive(Debug)]
pub struct Slots {
    taken: Mutex<Taken>,
    open: IntGauge,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by_key: HashMap<String, usize>,
}

/// The slot of one stream, until it is dropped.
#[derive(Debug)]
pub struct Slot {
    slots: Arc<Slots>,
    key: Option<String>,
}

impl Slots {
    /// The gauge shows how many are taken.
    pub fn new(open: IntGauge) -> Arc<Self> {
        Arc::new(Self { taken: Mutex::default(), open })
    }

    /// A slot for a stream of this key. Without a key, only the limit of the process counts.
    ///
    /// # Errors
    ///
    /// The limit that is reached, in words.
    pub fn take(self: &Arc<Self>, key: Option<&str>) -> Result<Slot, String> {
        let mut taken = self.lock();
        if taken.all >= MOST_STREAMS {
            return Err(format!("{MOST_STREAMS} live streams of this process are open: close one"));
        }
        if let Some(key) = key {
            let of_key = taken.by_key.entry(key.to_owned()).or_default();
            if *of_key >= MOST_OF_KEY {
                return Err(format!("{MOST_OF_KEY} live streams of this key are open: close one"));
            }
            *of_key += 1;
        }
        taken.all += 1;
        self.open.inc();
        Ok(Slot { slots: self.clone(), key: key.map(str::to_owned) })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        // The counts are whole after every single call.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.slots.lock();
        taken.all -= 1;
        self.slots.open.dec();
        let Some(key) = &self.key else { return };
        if let Some(of_key) = taken.by_key.get_mut(key) {
            *of_key -= 1;
            if *of_key == 0 {
                taken.by_key.remove(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots() -> Arc<Slots> {
        Slots::new(IntGauge::new("streams", "streams").expect("a name"))
    }

    /// Takes slots until there is none.
    fn all(slots: &Arc<Slots>, key: Option<&str>) -> Vec<Slot> {
        std::iter::from_fn(|| slots.take(key).ok()).collect()
    }

    #[test]
    fn one_key_leaves_half_of_the_slots_to_others() {
        let slots = slots();
        let first = all(&slots, Some("screen"));
        assert_eq!(first.len(), MOST_OF_KEY);
        assert!(slots.take(Some("screen")).expect_err("taken").contains("16 live streams of this"));
        let second = all(&slots, Some("ops"));
        assert_eq!(second.len(), MOST_STREAMS - MOST_OF_KEY);
        assert!(slots.take(Some("third")).expect_err("taken").contains("32 live streams of this"));
        drop(first);
        assert_eq!(slots.open.get(), 16);
        assert_eq!(all(&slots, Some("third")).len(), MOST_OF_KEY);
        drop(second);
        assert!(slots.lock().by_key.is_empty(), "nothing stays behind");
        assert_eq!(slots.open.get(), 0);
    }

    #[test]
    fn without_keys_all_slots_are_for_everyone() {
        assert_eq!(all(&slots(), None).len(), MOST_STREAMS);
    }
}
