//! What a promotion gets of the target that the queue follows, read before each tick.
//!
//! A target that cannot be read stops nothing: the promotion goes on without, and what another
//! scheduler read stays in force for 5 s. The log shows once when that begins and once when it
//! ends.

use anteroom_config::{AdaptiveConfig, BreakerConfig, Config};
use anteroom_core::queue::{BreakerReading, Health};

use super::ScheduledQueue;
use crate::entity::Entity as _;

/// What is known of the target that the queue follows. Waits no longer for it than the store's
/// budgets let a call.
pub async fn read(queue: &ScheduledQueue) -> Health {
    let config = queue.config();
    let Some((name, rules, adaptive)) = followed(&config, queue.name()) else {
        queue.followed.close();
        return Health::default();
    };
    let target = queue.followed.open(&queue.shared().store, name);
    let result = target.snapshot(&rules.rules()).await;
    queue.served().note("target.snapshot", &result);
    let snapshot = result.ok();
    if let Some(snapshot) = &snapshot {
        queue.followed.note_silence(queue.name(), snapshot, rules);
        queue.followed.note_state(queue.name(), snapshot.state);
    }
    Health {
        reading: snapshot.map(|snapshot| BreakerReading {
            state: snapshot.state,
            version: snapshot.version,
            probes: u64::from(rules.probes),
            open_for: rules.open_for,
            totals: snapshot.totals,
        }),
        adaptive: adaptive.map(|adaptive| adaptive.rules(rules.min_samples)),
    }
}

/// The target that a queue follows, by the configuration, and how its batch adapts.
fn followed<'a>(
    config: &'a Config,
    queue: &str,
) -> Option<(&'a str, &'a BreakerConfig, Option<AdaptiveConfig>)> {
    let queue = config.queues.get(queue)?;
    let name = queue.health.as_deref()?;
    Some((name, config.targets.get(name)?, queue.adaptive))
}
