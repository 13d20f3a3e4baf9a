//! Success-rate windows: a downstream whose calls succeed or fail.
//!
//! A [`Breaker`] is one of them. Its callers report what came of their calls ([`Breaker::record`]),
//! and each answer shows whether to take their fallback. Its rules travel with each call:
//! the store holds what was reported, and the [`State`] that follows from it. Each method is one
//! script under `lua/breaker/`.

mod latency;
mod permits;
mod record;
mod reply;
mod rules;
mod snapshot;
mod state;

crate::store::scripts!("breaker");

use std::sync::Arc;

pub use latency::MAX_LATENCY_MS;
pub use permits::{Permission, PermitId};
pub use record::{Outcome, Recorded};
pub use rules::{Kept, Rules};
pub use snapshot::Snapshot;
pub use state::{LATENCY_BOUNDS_MS, State, Totals, Window};

use crate::kind::Kind;
use crate::store::{Clock, Constants, Script, Store};

/// What tables in Rust give to the scripts.
fn constants() -> Constants {
    let all = Constants::shared().codes(reply::Code::OWN).numbered("", State::NAMES);
    rules::constants(all)
}

/// One target in the store. A clone is another handle.
#[derive(Clone)]
pub struct Breaker(Arc<BreakerInner>);

struct BreakerInner {
    name: String,
    store: Store,
    clock: Clock,
    record: record::Lanes,
    permit: permits::PermitLane,
}

impl Kind for Breaker {
    const NAME: &str = "target";
    const SECTION: &str = "targets";
    const FOLDER: &str = "breaker";

    fn scripts() -> &'static [&'static Script] {
        &scripts::SCRIPTS
    }
}

impl Breaker {
    /// Opens a target; `lane_bound` is how many calls of each operation may wait. Must be called
    /// inside a Tokio runtime.
    pub fn open(store: &Store, name: &str, lane_bound: usize) -> Self {
        Self::open_with_clock(store, name, lane_bound, Clock::Store)
    }

    /// [`open`](Self::open) with a time that a test gives.
    pub fn open_with_clock(store: &Store, name: &str, lane_bound: usize, clock: Clock) -> Self {
        Self(Arc::new(BreakerInner {
            name: name.to_owned(),
            store: store.clone(),
            record: record::Lanes::start(store, name, &clock, lane_bound),
            permit: permits::start(store, name, &clock, lane_bound),
            clock,
        }))
    }

    /// The name in the configuration.
    pub fn name(&self) -> &str {
        &self.0.name
    }
}

impl std::fmt::Debug for Breaker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Breaker").field("name", &self.name()).finish_non_exhaustive()
    }
}
