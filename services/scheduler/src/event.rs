//! The task of one event: its rules are kept written, claims whose lease has ended go back, issuers
//! are woken, and its gauges are read.

use anteroom_config::Config;
use anteroom_core::event::{Event, Rules};
use anteroom_core::store::Error;

use crate::entity::{Entity, Scheduled, Served, Tasks};
use crate::metrics::Metrics;
use crate::tick::{self, Tick};

/// No visitor comes here, so nothing ever waits in an event's lanes.
const LANE_BOUND: usize = 1;
/// Calls of one tick, 100 claims each.
const RECLAIM_CALLS: u32 = 100;

/// An event and its part of the configuration.
struct ScheduledEvent {
    event: Event,
    served: Served,
}

impl Scheduled for Event {
    async fn serve(tasks: &Tasks) {
        tasks.keep::<ScheduledEvent>().await;
    }

    fn has_any(config: &Config) -> bool {
        !config.events.is_empty()
    }
}

impl Entity for ScheduledEvent {
    type Kind = Event;
    type Rules = Rules;

    fn names(config: &Config) -> Vec<String> {
        config.events.keys().cloned().collect()
    }

    fn rules_in(config: &Config, name: &str) -> Option<Rules> {
        config.events.get(name).map(|event| event.rules.clone())
    }

    fn open(served: Served, rules: Rules) -> Self {
        Self { event: Event::open(&served.shared.store, &served.name, rules, LANE_BOUND), served }
    }

    fn set_rules(&self, rules: Rules) {
        self.event.set_rules(rules);
    }

    async fn apply_rules(&self, rules: &Rules) -> Result<bool, Error> {
        let written = self.event.apply_rules(rules).await?;
        if written {
            let in_force = self.event.snapshot().await?.rules.issue;
            if in_force != rules.issue {
                let (event, file) = (self.event.name(), rules.issue.name());
                let detail = "`issue` stays as it was when the first application was made";
                tracing::warn!(event, file, in_force = in_force.name(), "{detail}");
            }
        }
        Ok(written)
    }

    fn served(&self) -> &Served {
        &self.served
    }

    async fn tick(&self) {
        tokio::join!(
            tick::keep(Tick::Reclaim, self, reclaim),
            tick::keep(Tick::Kick, self, kick),
            tick::keep(Tick::EventSnapshot, self, snapshot),
        );
    }

    fn forget(metrics: &Metrics, name: &str) {
        metrics.events.forget(name);
    }
}

async fn reclaim(event: &ScheduledEvent) -> Result<(), Error> {
    for _ in 0..RECLAIM_CALLS {
        // Every call is whole in itself, so a service that is to end need not wait for the rest.
        let reclaimed = event.event.reclaim().await?;
        if reclaimed.dropped {
            let event = event.event.name();
            tracing::warn!(event, "it ended `keep_ttl` ago: its applications are dropped");
        }
        if !reclaimed.more || event.served.stop.is_cancelled() {
            break;
        }
    }
    Ok(())
}

async fn kick(event: &ScheduledEvent) -> Result<(), Error> {
    event.event.kick().await.map(drop)
}

async fn snapshot(event: &ScheduledEvent) -> Result<(), Error> {
    let snapshot = event.event.snapshot().await?;
    event.served.shared.metrics.events.show(event.event.name(), &snapshot);
    Ok(())
}
