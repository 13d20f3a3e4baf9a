//! The task of one event: its rules are kept written, claims whose lease has ended go back, issuers
//! are woken, and its gauges are read.

use std::time::Duration;

use anteroom_config::{Config, EventConfig};
use anteroom_core::event::{Event, Rules, Snapshot};
use anteroom_core::store::Error;
use anteroom_runtime::{Families, SnapshotGauges};
use prometheus::Registry;

use crate::entity::{Entity, Scheduled, Served, Tasks};
use crate::tick::{self, NEVER_LATE, Tick};

/// No visitor comes here, so nothing ever waits in an event's lanes.
const LANE_BOUND: usize = 1;
/// Calls of one tick, 100 claims each.
const RECLAIM_CALLS: u32 = 100;

/// Claims whose lease has ended go back: found soon, and well within the second
/// (`lua/event/lib/held.lua`) after which a tick counts as missed.
const RECLAIM: Tick = Tick {
    name: "event_reclaim",
    spread: NEVER_LATE,
    interval: |config, _| config.scheduler.sweep_tick.min(Duration::from_millis(400)),
};
/// Issuers are woken.
const KICK: Tick = Tick { name: "event_kick", spread: NEVER_LATE, interval: kick_interval };
const SNAPSHOT: Tick = Tick::snapshot("event_snapshot");

fn kick_interval(config: &Config, name: &str) -> Duration {
    // Without any, the event has left the configuration and is about to be stopped.
    let event = config.events.get(name);
    event.map_or(config.scheduler.snapshot_tick, |event| event.rules.kick_interval)
}

/// An event and its part of the configuration.
struct ScheduledEvent {
    event: Event,
    served: Served,
}

/// What the snapshots show.
#[derive(Clone, Debug)]
pub struct EventFamilies(SnapshotGauges<Snapshot>);

impl Families for EventFamilies {
    fn register(registry: &Registry) -> prometheus::Result<Self> {
        SnapshotGauges::register(registry, "event", Snapshot::GAUGES, Snapshot::STATES).map(Self)
    }

    fn forget(&self, name: &str) {
        self.0.forget(name);
    }
}

impl Scheduled for Event {
    type Families = EventFamilies;

    const TICKS: &'static [Tick] = &[RECLAIM, KICK, SNAPSHOT];

    async fn serve(tasks: &Tasks) {
        tasks.keep::<ScheduledEvent>().await;
    }
}

impl Entity for ScheduledEvent {
    type Kind = Event;
    type Rules = Rules;

    fn rules(table: &EventConfig) -> &Rules {
        &table.rules
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
                let detail = "`issue` cannot change after the first application: the old value stays in force";
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
            tick::keep(&RECLAIM, self, reclaim),
            tick::keep(&KICK, self, kick),
            tick::keep(&SNAPSHOT, self, snapshot),
        );
    }
}

async fn reclaim(event: &ScheduledEvent) -> Result<(), Error> {
    for _ in 0..RECLAIM_CALLS {
        // Every call is whole in itself, so a service that is to end need not wait for the rest.
        let reclaimed = event.event.reclaim().await?;
        if reclaimed.dropped {
            let event = event.event.name();
            tracing::warn!(event, "the event ended `keep_ttl` ago: its applications are deleted");
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
    event.served.shared.metrics.event.0.show(event.event.name(), &snapshot);
    Ok(())
}
