//! The board: a line in outline.

use std::ops::Sub;
use std::time::Duration;

use anteroom_authorize::durations::millis;
use anteroom_authorize::latest::Seen;
use anteroom_authorize::queue::line::{SeenLine, Sketches};
use anteroom_authorize::queue::refresh::Refreshed as _;
use anteroom_core::queue::{Snapshot, Wait};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use utoipa::ToSchema;

use super::queue::{PausedBy, StateView, paused_by};

/// All visitors of a queue together send at least about so many heartbeats a second, so that heard
/// time advances. More of them have no use, and each is a request to admission.
const HEARTBEATS_PER_SECOND: u64 = 10;
/// No visitor sends them more often than this.
const SOONEST_HEARTBEAT: Duration = Duration::from_secs(15);

/// The board of a queue: the line as ticket numbers.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Board)]
pub struct BoardView<'a> {
    /// The name of the queue.
    pub queue: &'a str,
    /// Changes when the queue is reset, or when Redis loses it: then all places before have ended.
    #[schema(example = "2hM8Xw7m0aE")]
    pub epoch: String,
    /// The time of these data in milliseconds since 1970, by the clock of Redis.
    pub as_of: u64,
    /// The time until the next board. To read it more often is no use.
    pub next_in_ms: u64,
    /// The state of the queue.
    pub queue_state: StateView,
    /// As in the state of the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_by: Option<PausedBy>,
    /// The operator's reason for the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    /// The time from which visitors are admitted, in milliseconds since 1970; absent once it has
    /// come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opens_at: Option<u64>,
    /// Whether a check-in period is under way: no visitor has polled for `first_poll_ttl`. Each
    /// client calls `GET …/token` once, within 10 s after it has seen this.
    pub check_in: bool,
    /// How old the last place of a client may be for the client to read the board again, instead of
    /// calling `GET …/token`: at most a quarter of `idle_ttl`.
    pub heartbeat_ms: u64,
    /// The ticket at the head of the line; null if no visitor is in line.
    #[schema(required = true)]
    pub front: Option<u64>,
    /// Positions and the tickets there.
    pub points: Points,
    /// Positions and how long places there wait.
    pub pace: PaceView,
}

/// The line, from its head to its end. Each number is the difference to the one before. Between
/// two points, interpolate: the error is at most 3 %.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = BoardPoints)]
pub struct Points {
    /// Positions; the first is 1.
    pub position: Vec<u64>,
    /// Tickets; the first is `front`.
    pub ticket: Vec<u64>,
}

/// The expected waits along the line; empty if they are unknown. Each number is the difference to
/// the one before. Between two positions, interpolate.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = BoardPace)]
pub struct PaceView {
    /// Positions; the first is 1.
    pub position: Vec<u64>,
    /// The `eta_ms` of each.
    pub eta_ms: Vec<i64>,
    /// The `eta_p90_ms` of each; empty if it is unknown.
    pub eta_p90_ms: Vec<i64>,
}

impl<'a> BoardView<'a> {
    /// The line as it was read, with what the newest snapshot shows of the queue.
    pub fn new(queue: &'a str, line: &SeenLine, seen: &'a Seen<Snapshot>) -> Self {
        let Snapshot { state, reason, rules, .. } = &seen.snapshot;
        let sketch = &line.sketch;
        let age_us = u64::try_from(line.age().as_micros()).unwrap_or(u64::MAX);
        Self {
            queue,
            epoch: URL_SAFE_NO_PAD.encode(sketch.epoch.0),
            as_of: seen.redis_time_us().saturating_sub(age_us) / 1_000,
            next_in_ms: millis(Sketches::EVERY),
            queue_state: (*state).into(),
            paused_by: paused_by(&seen.snapshot),
            reason: reason.as_deref(),
            opens_at: rules
                .opens_at
                .filter(|at| seen.until(Some(*at)).is_some())
                .map(|at| at * 1_000),
            check_in: sketch.check_in,
            heartbeat_ms: millis(heartbeat(sketch.waiting(), rules.idle_ttl)),
            front: sketch.front(),
            points: Points::of(sketch.points()),
            pace: PaceView::of(sketch.waits()),
        }
    }
}

impl Points {
    fn of(points: impl Iterator<Item = (u64, u64)>) -> Self {
        let (positions, tickets): (Vec<_>, Vec<_>) = points.unzip();
        Self { position: differences(positions), ticket: differences(tickets) }
    }
}

impl PaceView {
    fn of(waits: impl Iterator<Item = (u64, Wait)>) -> Self {
        let (mut positions, mut etas, mut slow) = (Vec::new(), Vec::new(), Vec::new());
        for (position, wait) in waits {
            if let Wait::Expected { eta, eta_p90 } = wait {
                positions.push(position);
                etas.push(signed(eta));
                slow.extend(eta_p90.map(signed));
            }
        }
        Self {
            position: differences(positions),
            eta_ms: differences(etas),
            eta_p90_ms: differences(slow),
        }
    }
}

fn signed(wait: Duration) -> i64 {
    i64::try_from(millis(wait)).unwrap_or(i64::MAX)
}

/// Each number less the one before.
fn differences<N: Copy + Default + Sub<Output = N>>(numbers: Vec<N>) -> Vec<N> {
    let before = |before: &mut N, number| Some(number - std::mem::replace(before, number));
    numbers.into_iter().scan(N::default(), before).collect()
}

/// The time between two heartbeats of a visitor, one of so many.
fn heartbeat(waiting: u64, idle_ttl: Duration) -> Duration {
    let spread = Duration::from_millis(waiting.saturating_mul(1_000 / HEARTBEATS_PER_SECOND));
    // `idle_ttl` is at least a minute.
    spread.clamp(SOONEST_HEARTBEAT, (idle_ttl / 4).max(SOONEST_HEARTBEAT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::encoding::gzip;

    const IDLE_TTL: Duration = Duration::from_secs(600);

    #[test]
    fn heartbeats_are_as_seldom_as_presence_allows_and_no_rush() {
        for (waiting, seconds) in [(0, 15), (150, 15), (500, 50), (1_500, 150)] {
            assert_eq!(heartbeat(waiting, IDLE_TTL), Duration::from_secs(seconds), "{waiting}");
        }
        // As far as a quarter of `idle_ttl` allows.
        assert_eq!(heartbeat(u64::MAX, IDLE_TTL), Duration::from_secs(150));
        assert_eq!(heartbeat(u64::MAX, Duration::from_secs(60)), SOONEST_HEARTBEAT);
    }

    /// Ten million in line, a third of the tickets missing, with waits of days.
    #[test]
    fn a_board_of_ten_million_has_8_kib_and_2_compressed() {
        let (mut points, mut waits) = (Vec::new(), Vec::new());
        let (mut position, mut ticket, mut step, mut next) = (1, 12_345_678, 1, 1);
        let mut random = 1u64;
        while position < 10_000_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            points.push((position, ticket));
            if position >= next {
                let eta = Duration::from_millis(position * 52 + (random >> 40) % 1_000);
                waits.push((position, Wait::Expected { eta, eta_p90: Some(eta * 5 / 4) }));
                next = position + position.div_ceil(2);
            }
            if position > 64 && points.len() % 8 == 0 {
                step = position * 3 / 100 + 1;
            }
            position += step;
            ticket += step + (random >> 33) % step.div_ceil(2).max(2);
        }
        let view = BoardView {
            queue: "concert",
            epoch: "2hM8Xw7m0aE".to_owned(),
            as_of: 1_800_000_000_000,
            next_in_ms: 1_000,
            queue_state: StateView::Open,
            paused_by: None,
            reason: Some("We admit more visitors as soon as the shop is faster. Please wait."),
            opens_at: Some(1_800_000_000_000),
            check_in: false,
            heartbeat_ms: 150_000,
            front: Some(12_345_678),
            points: Points::of(points.into_iter()),
            pace: PaceView::of(waits.into_iter()),
        };
        let body = serde_json::to_vec(&view).expect("JSON");
        let compressed = gzip(&body).expect("gzip").len();
        assert!(view.points.ticket.len() > 400 && body.len() <= 8_192, "{}", body.len());
        assert!(compressed <= 2_048, "{compressed} of {}", body.len());
    }
}
