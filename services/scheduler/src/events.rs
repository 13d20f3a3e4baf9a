//! The task of one event: its rules are kept written, claims whose lease has ended go back, issuers
//! are woken, and its gauges are read.

use std::sync::Arc;
use std::time::Duration;

use anteroom_core::event::{Event, Rules};
use anteroom_core::store::Error;
use anteroom_runtime::{Changes, Config};
use tokio_util::sync::CancellationToken;

use crate::rules;
use crate::served::Served;
use crate::shared::Shared;
use crate::tick::Tick;

/// No visitor comes here, so nothing ever waits in an event's lanes.
const LANE_BOUND: usize = 1;
/// Calls of one tick, 100 claims each.
const RECLAIM_CALLS: u32 = 100;

/// Serves one event until it is stopped. Nothing ticks before the file's rules are written.
pub async fn serve(shared: Arc<Shared>, name: String, changes: Changes, stop: CancellationToken) {
    let Some(rules) = rules_in(&changes.borrow(), &name) else { return };
    let event = &Event::open(&shared.store, &name, rules, LANE_BOUND);
    let served = &Served::new(&shared, &name, changes, stop);
    tracing::info!(event = name, "served");
    let ticks = async {
        served.rules_written().await;
        tokio::join!(
            served.tick(Tick::Reclaim, |config| config.scheduler.tick, || reclaim(event, served)),
            served.tick(Tick::Kick, |config| kick_interval(config, &name), || kick(event)),
            served.tick(
                Tick::EventSnapshot,
                |config| config.scheduler.snapshot_tick,
                || snapshot(event, &shared),
            ),
        );
    };
    let write = |rules| write(event, rules);
    tokio::join!(rules::keep(served, |config| rules_in(config, &name), write), ticks);
    shared.metrics.event_gauges.forget(&name);
    shared.failures.forget(&name);
    tracing::info!(event = name, "no longer served");
}

fn rules_in(config: &Config, name: &str) -> Option<Rules> {
    config.events.get(name).map(|event| event.rules.clone())
}

fn kick_interval(config: &Config, name: &str) -> Duration {
    // Without any, the event has left the configuration and is about to be stopped.
    config.events.get(name).map_or(Duration::from_secs(1), |event| event.rules.kick_interval)
}

async fn reclaim(event: &Event, served: &Served) -> Result<(), Error> {
    for _ in 0..RECLAIM_CALLS {
        // Every call is whole in itself, so a service that is to end need not wait for the rest.
        if !event.reclaim().await?.more || served.stop().is_cancelled() {
            break;
        }
    }
    Ok(())
}

async fn kick(event: &Event) -> Result<(), Error> {
    event.kick().await.map(drop)
}

async fn snapshot(event: &Event, shared: &Shared) -> Result<(), Error> {
    let snapshot = event.snapshot().await?;
    shared.metrics.event_gauges.show(event.name(), &snapshot);
    Ok(())
}

async fn write(event: &Event, rules: Rules) -> Result<bool, Error> {
    // For a store that holds none while none were seen.
    event.set_rules(rules.clone());
    event.apply_rules(&rules).await
}
