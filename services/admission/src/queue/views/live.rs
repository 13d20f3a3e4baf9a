//! A queue on a live stream.

use std::time::Duration;

use anteroom_authorize::durations::millis;
use anteroom_authorize::queue::state::QueueState;
use anteroom_core::queue::{Snapshot, State};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::admin::AdminView;
use crate::live::Live;

/// A queue on a live stream: the fields of `GET /v1/admin/queues/{queue}`, and the numbers that a
/// console shows beside them.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LiveQueue)]
pub struct LiveQueueView<'a> {
    #[serde(flatten)]
    admin: AdminView<'a>,
    /// The target (circuit breaker) that the queue follows. Absent if it follows none.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a str>,
    /// Visitors called in the last minute. In the first minute of this process: since its start.
    /// Absent if this process has read nothing for a minute. Visitors whom a scheduler of version
    /// 0.2.0 calls are not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    admitted_per_minute: Option<u64>,
    /// How long the head of the line has waited, in milliseconds. Absent if unknown, or if no
    /// visitor waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    longest_wait_ms: Option<u64>,
    /// The expected wait of a visitor who joins now, in milliseconds. 0 if Anteroom would call the
    /// visitor at once. Absent if unknown, or if no visitor can join.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_wait_ms: Option<u64>,
    /// `depth` in the last 15 minutes, one value for each 15 seconds, oldest first.
    sparkline: Vec<u64>,
}

impl Live for QueueState {
    type View = LiveQueueView<'static>;

    fn live_view(&self) -> Value {
        let target = self.config.health.as_deref();
        let Some(seen) = self.latest.get() else {
            return json!({"queue": self.name(), "target": target});
        };
        // The head of the line has waited longer since the snapshot.
        let head_wait = seen.snapshot.head_wait.map(|wait| wait + seen.age());
        let view = LiveQueueView {
            admin: AdminView::aged(self.name(), &seen.snapshot, seen.age()),
            target,
            admitted_per_minute: self.history.promoted_in_a_minute(),
            longest_wait_ms: head_wait.map(millis),
            expected_wait_ms: expected_wait(&seen.snapshot).map(millis),
            sparkline: self.history.sparkline(),
        };
        // Texts, flags and finite numbers: this cannot fail.
        serde_json::to_value(view).unwrap_or_default()
    }
}

/// The wait of a visitor who joins now, if one can.
fn expected_wait(snapshot: &Snapshot) -> Option<Duration> {
    let Snapshot { state, depth, ready, active, rules, .. } = snapshot;
    match state {
        State::Bypass => return Some(Duration::ZERO),
        State::Closed => return None,
        State::Open | State::Paused => {}
    }
    let has_room = rules.capacity.is_none_or(|capacity| ready + active < capacity);
    if *state == State::Open && *depth == 0 && has_room {
        return Some(Duration::ZERO);
    }
    snapshot.expected_wait.or_else(|| {
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let ahead = *depth as f64;
        let rate = snapshot.rate_per_second.filter(|rate| *rate > 0.0 && *state == State::Open)?;
        Duration::try_from_secs_f64(ahead / rate).ok()
    })
}
