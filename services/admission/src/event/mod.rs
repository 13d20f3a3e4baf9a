//! What this process keeps of an event between requests, and what an event refuses.

pub mod codes;
pub mod metrics;

use std::sync::Arc;

use anteroom_core::event::Event;
use anteroom_runtime::Config;

use self::metrics::{EventFamilies, EventMetrics};
use crate::entities::{Entities, Entity, EntityContext};
use crate::problem::Code;
use crate::problem::retry::PendingRetries;

/// One event as handlers see it.
pub struct EventState {
    /// The operations.
    pub event: Event,
    pub(crate) metrics: Arc<EventMetrics>,
    /// The retries that this process has scheduled for this event: who asks often for one that is
    /// not open delays nobody elsewhere.
    pub(crate) retries: Arc<PendingRetries>,
}

impl EventState {
    pub(crate) fn name(&self) -> &str {
        self.event.name()
    }
}

impl Entity for EventState {
    const SECTION: &'static str = "events";
    const LABEL: &'static str = "event";
    const UNKNOWN: Code = Code::UNKNOWN_EVENT;
}

/// The events of a new configuration, each with what it remembers from before.
pub(crate) fn reload(
    config: &Config,
    before: Option<&Entities<EventState>>,
    context: &EntityContext<'_>,
    metrics: &EventFamilies,
) -> Entities<EventState> {
    let none = Entities::default();
    before.unwrap_or(&none).reload(&config.events, |name, event, before| match before {
        Some(before) => {
            before.event.set_rules(event.rules.clone());
            EventState {
                event: before.event.clone(),
                metrics: before.metrics.clone(),
                retries: before.retries.clone(),
            }
        }
        None => EventState {
            event: Event::open(context.store, name, event.rules.clone(), context.lane_bound),
            metrics: Arc::new(metrics.of(name)),
            retries: Arc::default(),
        },
    })
}
