//! Events on a real Redis: random histories against the reference model, and the promises one by
//! one.

mod bounds;
mod dead;
mod histories;
mod lives;
mod promises;
mod repeats;
mod requests;
mod servers;
#[path = "../support/mod.rs"]
mod support;

use anteroom_core::event::{Event, Rules};
use support::TimedStore;

impl TimedStore {
    /// An event that goes by this store's time.
    pub fn event(&self, rules: Rules) -> Event {
        Event::open_with_clock(&self.store, "coupon", rules, 1_000, self.clock())
    }
}
