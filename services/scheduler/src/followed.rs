//! The target that a queue follows, read before each promotion.
//!
//! A target that cannot be read stops nothing: the promotion goes on without, and what another
//! scheduler read stays in force for 5 s. It is told once when that begins and once when it ends,
//! and so it is when nobody reports to the target. Each change of its state is told once, too.

use std::sync::{Mutex, MutexGuard, PoisonError};

use anteroom_core::queue::{Health, TargetReading};
use anteroom_core::store::Store;
use anteroom_core::target::{Snapshot, State, Target};
use anteroom_runtime::Config;
use anteroom_runtime::config::{AdaptiveConfig, TargetConfig};

use crate::scheduled::Scheduled;

/// Nobody reports here, so nothing ever waits in a target's lanes.
const LANE_BOUND: usize = 1;

/// The target as the configuration named it last.
#[derive(Default)]
pub struct Followed(Mutex<Option<Open>>);

/// An open target.
#[derive(Clone)]
struct Open {
    target: Target,
    /// It was told that nobody reports to it.
    silence_told: bool,
    /// The state that was told last; of one that is closed from the beginning nothing is.
    state_told: State,
}

/// What is known of the target that the queue follows. Waits no longer for it than the store's
/// budgets let a call.
pub async fn read(queue: &Scheduled) -> Health {
    let config = queue.config();
    let Some((name, rules, adaptive)) = followed(&config, queue.name()) else {
        queue.followed.close();
        return Health::default();
    };
    let target = queue.followed.open(&queue.shared().store, name);
    let result = target.snapshot(&rules.rules()).await;
    queue.note("target.snapshot", &result);
    let snapshot = result.ok();
    if let Some(snapshot) = &snapshot {
        queue.followed.note_silence(queue.name(), snapshot, rules);
        queue.followed.note_state(queue.name(), snapshot.state);
    }
    Health {
        reading: snapshot.map(|snapshot| TargetReading {
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
) -> Option<(&'a str, &'a TargetConfig, Option<AdaptiveConfig>)> {
    let queue = config.queues.get(queue)?;
    let name = queue.health.as_deref()?;
    Some((name, config.targets.get(name)?, queue.adaptive))
}

impl Followed {
    /// The target of this name.
    fn open(&self, store: &Store, name: &str) -> Target {
        let mut open = self.lock();
        if let Some(open) = open.as_ref().filter(|open| open.target.name() == name) {
            return open.target.clone();
        }
        let target = Target::open(store, name, LANE_BOUND);
        *open =
            Some(Open { target: target.clone(), silence_told: false, state_told: State::Closed });
        target
    }

    fn close(&self) {
        *self.lock() = None;
    }

    /// Tells when nobody reports to the target any more, and when somebody does again.
    fn note_silence(&self, queue: &str, snapshot: &Snapshot, rules: &TargetConfig) {
        let is_silent = snapshot.last_outcome_ago.is_none_or(|ago| ago > rules.window);
        let mut open = self.lock();
        let Some(open) = open.as_mut().filter(|open| open.silence_told != is_silent) else {
            return;
        };
        open.silence_told = is_silent;
        let followed = open.target.name();
        if is_silent {
            tracing::warn!(queue, followed, "nobody reports to the target that the queue follows");
        } else {
            tracing::info!(queue, followed, "the target that the queue follows is reported to");
        }
    }

    /// Tells when the state of the target has changed, and so whether it pauses the queue.
    fn note_state(&self, queue: &str, state: State) {
        let mut open = self.lock();
        let Some(open) = open.as_mut().filter(|open| open.state_told != state) else {
            return;
        };
        open.state_told = state;
        let followed = open.target.name();
        match state {
            State::Open => {
                tracing::warn!(queue, followed, "the health of a target pauses promotion");
            }
            State::HalfOpen => {
                tracing::info!(queue, followed, "a few are promoted to find out how the target is");
            }
            State::Closed => {
                tracing::info!(queue, followed, "the target is well: the pace comes back");
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Open>> {
        // It is whole after every statement, so a panic elsewhere cannot have broken it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
