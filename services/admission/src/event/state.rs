//! What this process keeps of an event between requests, and what an event refuses.

use std::sync::Arc;

use anteroom_core::event::Event;
use anteroom_runtime::Config;

use super::early::EarlyVisitors;
use super::metrics::{EventFamilies, EventMetrics};
use crate::entities::{Entities, Entity, EntityContext};
use crate::problem::Code;

/// One event as handlers see it.
pub struct EventState {
    /// The operations.
    pub event: Event,
    pub(crate) metrics: Arc<EventMetrics>,
    pub(crate) early: Arc<EarlyVisitors>,
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
                early: before.early.clone(),
            }
        }
        None => EventState {
            event: Event::open(context.store, name, event.rules.clone(), context.lane_bound),
            metrics: Arc::new(metrics.of(name)),
            early: Arc::default(),
        },
    })
}
