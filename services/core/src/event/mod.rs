//! Events: a limited stock that is given out first come, first served.
//!
//! An [`Event`] is one configured event. Each of its methods is one script under `lua/event/`,
//! which decides atomically: `applications` for visitors, `claims` for issuers, `stock` and `dead`
//! for operators, `ticks` for the scheduler.

mod applications;
mod claims;
mod dead;
mod metrics;
mod reply;
mod rules;
mod stock;
mod ticks;
mod token;

crate::store::scripts!("event");

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

pub use applications::{Application, Apply};
pub use claims::{ClaimName, Claimed, Failed, Finished, MAX_CLAIM, Work};
pub use dead::{DeadLetter, DeadLetters, MAX_DEAD, Retried};
pub use rules::{Issue, RELATIONS, RULES, Rules};
pub use stock::{AddStock, Loaded, MAX_CODE, MAX_CODES};
pub use ticks::{Reclaimed, Snapshot};
pub use token::{APPLICATION_TOKEN_PREFIX, ApplicationKeys};

use rand::Rng as _;

use crate::changes::By;
use crate::entity::{Entity, Ruled, handle};
use crate::operation::digest;
use crate::store::{Args, Clock, Constants, Script, Store};

/// What tables in Rust give to the scripts.
fn constants() -> Constants {
    Constants::shared()
        .codes(reply::Code::OWN)
        .codes(reply::AddStockCode::OWN)
        .numbered("s_", applications::State::NAMES)
        .rules(RULES)
}

/// One event in the store. A clone is another handle.
#[derive(Clone)]
pub struct Event(Arc<EventInner>, By);

struct EventInner {
    entity: Entity<Rules>,
    lanes: applications::Lanes,
    /// By what the store knows this handle when it claims.
    issuer: [u8; 16],
    /// Claims that were named.
    claims: AtomicU64,
}

impl Ruled for Rules {
    const PARTS: usize = 1;

    fn seed_script() -> &'static Script {
        &scripts::SEED_RULES
    }
}

handle!(Event);

impl Event {
    /// [`open`](Self::open) with a time that a test gives.
    pub fn open_with_clock(
        store: &Store,
        name: &str,
        rules: Rules,
        lane_bound: usize,
        clock: Clock,
    ) -> Self {
        let inner = EventInner {
            lanes: applications::Lanes::start(store, name, &clock, lane_bound),
            entity: Entity::new(store, name, clock, rules),
            issuer: rand::rng().random(),
            claims: AtomicU64::new(1),
        };
        Self(Arc::new(inner), By::default())
    }

    /// The Pub/Sub channel by which the issuers of an event are woken. A message says nothing but
    /// that.
    pub fn wake_channel(name: &str) -> String {
        format!("anteroom:v1:event:{{{name}}}:wake")
    }

    /// Arguments that go on with the channel, for scripts that wake issuers.
    fn waking_args(&self) -> Args {
        let mut args = self.entity().args();
        args.push(Self::wake_channel(self.name()));
        args
    }

    /// By what the store knows a visitor.
    fn visitor(&self, visitor_id: &str) -> [u8; 14] {
        visitor(self.name(), visitor_id)
    }
}

fn visitor(event: &str, visitor_id: &str) -> [u8; 14] {
    digest([b"v", event.as_bytes(), visitor_id.as_bytes()].into_iter())
}
