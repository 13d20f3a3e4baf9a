//! The waiting room: places, tickets, tokens, promotion.
//!
//! A [`Queue`] is one configured queue. Each of its methods is one script under `lua/queue/`, which
//! decides atomically: `visits` for visitors, `ticks` for the scheduler, `operate` for operators,
//! `revocations`, `sketch`, `departures` and `seen` for an admission that answers by itself.

mod address;
mod assertion;
mod departures;
mod health;
mod heartbeats;
mod identity;
mod joins;
mod metrics;
mod operate;
mod outlook;
mod overrides;
mod place;
mod reply;
mod revocations;
mod rules;
mod seen;
mod sketch;
mod ticks;
mod token;
mod totals;
mod visits;

crate::store::scripts!("queue");

use std::sync::Arc;

pub use address::JoinedFrom;
pub use assertion::{ASSERTION_PREFIX, AssertionError, AssertionKeys, MAX_ASSERTION_SECONDS};
pub use departures::{Departed, Departures};
pub use health::{Adaptive, AdaptiveBatch, BreakerReading, Health, StepReason};
pub use metrics::QueueCounts;
pub use operate::{Inspected, Inspection, MAX_PLACES, PlaceName, Places, Purged};
pub use place::{
    Epoch, GoneReason, MAX_TICKET, Place, PlaceId, PlaceRef, SOONEST_POLL, Standing, Status,
    Ticket, Wait,
};
pub use revocations::Revocations;
pub use rules::{Override, Pace, RELATIONS, RULES, Rules, State};
pub use seen::{Polled, Seen, SeenSlot};
pub use sketch::Sketch;
pub use ticks::{Overridden, Promotion, Revision, Snapshot, Sweep};
pub use token::{MAX_VISITOR_ID, TOKEN_PREFIX, Token, TokenKeys};
pub use totals::{Totals, Waits};
pub use visits::{Join, Leave, Visit};

use crate::breaker;
use crate::changes::By;
use crate::entity::{Entity, handle};
use crate::store::{Clock, Constants, Store};

/// What tables in Rust give to the scripts.
fn constants() -> Constants {
    let all = Constants::shared()
        .codes(reply::Code::OWN)
        .numbered("s_", Status::NAMES)
        .numbered("", GoneReason::NAMES)
        .numbered("breaker_", breaker::State::NAMES)
        .numbered("step_", StepReason::NAMES)
        .value("LAST_TICKET", MAX_TICKET)
        .value("STATUSES", format!("{{ '{}' }}", Status::NAMES.join("', '")))
        .rules(RULES);
    let all = totals::constants(outlook::constants(rules::constants(all)));
    visits::constants(joins::constants(all))
}

/// One queue in the store. A clone is another handle.
#[derive(Clone)]
pub struct Queue(Arc<QueueInner>, By);

struct QueueInner {
    entity: Entity<Rules>,
    lanes: visits::Lanes,
}

handle!(Queue);

impl Queue {
    /// [`open`](Self::open) with a time that a test gives.
    pub fn open_with_clock(
        store: &Store,
        name: &str,
        rules: Rules,
        lane_bound: usize,
        clock: Clock,
    ) -> Self {
        let lanes = visits::Lanes::start(store, name, &clock, lane_bound);
        let entity = Entity::new(store, name, clock, rules);
        Self(Arc::new(QueueInner { entity, lanes }), By::default())
    }

    /// How many connections to the store there have been: after a new one it may have older data.
    pub fn connections(&self) -> u64 {
        self.entity().connections()
    }

    fn lanes(&self) -> &visits::Lanes {
        &self.0.lanes
    }
}
