//! What this process keeps of an event between requests, and what an event refuses.

use std::sync::Arc;

use anteroom_authorize::latest::Latest;
use anteroom_authorize::problem::Code;
use anteroom_authorize::snapshots::Snapshots;
use anteroom_config::EventConfig;
use anteroom_core::changes::Changes;
use anteroom_core::event::{Event, Snapshot};
use anteroom_core::store::Error;

use super::early::EarlyVisitors;
use super::metrics::{EventFamilies, EventMetrics};
use crate::app::App;
use crate::entities::{Entity, EntityContext, Served};
use crate::tasks::Tasks;

/// One event as handlers see it.
#[derive(Clone)]
pub struct EventState {
    /// The operations.
    pub event: Event,
    pub(crate) metrics: Arc<EventMetrics>,
    pub(crate) early: Arc<EarlyVisitors>,
    latest: Arc<Latest<Snapshot>>,
}

impl EventState {
    pub(crate) fn name(&self) -> &str {
        self.event.name()
    }
}

impl Served for Event {
    type State = EventState;
}

impl Entity for EventState {
    type Kind = Event;
    type Families = EventFamilies;

    const UNKNOWN: Code = Code::UNKNOWN_EVENT;

    fn make(
        name: &str,
        config: &EventConfig,
        before: Option<&Self>,
        families: &EventFamilies,
        context: &EntityContext<'_>,
    ) -> Self {
        let rules = config.rules.clone();
        if let Some(before) = before {
            before.event.set_rules(rules);
            return before.clone();
        }
        Self {
            event: Event::open(context.store, name, rules, context.lane_bound),
            metrics: Arc::new(families.of(name)),
            early: Arc::default(),
            latest: Arc::default(),
        }
    }

    async fn changes(&self, _app: &App, before: Option<u64>, limit: u64) -> Result<Changes, Error> {
        self.event.changes(before, limit).await
    }

    fn spawn(tasks: &Tasks<'_>) {
        tasks.snapshots::<Self>();
    }
}

impl Snapshots for EventState {
    type Snapshot = Snapshot;

    fn latest(&self) -> &Latest<Snapshot> {
        &self.latest
    }

    async fn snapshot(&self) -> Result<Snapshot, Error> {
        self.event.snapshot().await
    }
}
