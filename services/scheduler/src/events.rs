//! The task of one event: its rules are kept written, claims whose lease has ended go back, issuers
//! are woken, and its gauges are read.

use std::sync::Arc;

use anteroom_core::event::{Event, Rules};
use anteroom_core::store::Error;
use anteroom_runtime::{Changes, Config};
use tokio_util::sync::CancellationToken;

use crate::served::{Entity, Served};
use crate::shared::Shared;
use crate::tick::Tick;
use crate::{rules, ticks};

/// No visitor comes here, so nothing ever waits in an event's lanes.
const LANE_BOUND: usize = 1;
/// Calls of one tick, 100 claims each.
const RECLAIM_CALLS: u32 = 100;

/// An event and its part of the configuration.
struct ScheduledEvent {
    event: Event,
    served: Served,
}

impl Entity for ScheduledEvent {
    type Rules = Rules;

    fn rules_in(&self, config: &Config) -> Option<Rules> {
        config.events.get(self.event.name()).map(|event| event.rules.clone())
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
}

/// Serves one event until it is stopped. Nothing ticks before the file's rules are written.
pub async fn serve(shared: Arc<Shared>, name: String, changes: Changes, stop: CancellationToken) {
    let config = changes.borrow().clone();
    let Some(rules) = config.events.get(&name).map(|event| event.rules.clone()) else { return };
    let event = ScheduledEvent {
        event: Event::open(&shared.store, &name, rules, LANE_BOUND),
        served: Served::new(&shared, "event", &name, changes, stop),
    };
    tracing::info!(event = name, "served");
    let ticks = async {
        event.served.rules_written().await;
        tokio::join!(
            ticks::keep(Tick::Reclaim, &event, reclaim),
            ticks::keep(Tick::Kick, &event, kick),
            ticks::keep(Tick::EventSnapshot, &event, snapshot),
        );
    };
    tokio::join!(rules::keep(&event), ticks);
    shared.metrics.events.forget(&name);
    shared.failures.forget("event", &name);
    tracing::info!(event = name, "no longer served");
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
