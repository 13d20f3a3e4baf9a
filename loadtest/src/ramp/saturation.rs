//! Whether a run has shown what the service bears, or only what it was asked for.
//!
//! Closed: users who are served as fast as ever bring throughput in proportion. From half of the
//! users to all of them it would double; where it grew by less than half of that, the service (or
//! the harness) was the limit. Open: visitors arrive whatever the service does; where it completed
//! less than 95 % of the visits that arrived, it was the limit.

use std::time::Duration;

use crate::load::Measurement;

/// Closed: so much of the growth of the users, at least, would be a service with room.
const GROWTH: f64 = 0.5;
/// Open: so much of what arrived, at least, completes a service with room.
const KEPT_UP: f64 = 0.95;

/// What a run says of the limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Saturation {
    /// Whether the limit was reached.
    pub reached: bool,
    /// The figures behind it, for people.
    pub reason: String,
}

impl Saturation {
    fn no(reason: impl Into<String>) -> Self {
        Self { reached: false, reason: reason.into() }
    }
}

/// Of a closed run to so many users, whose hold began after `ramp`.
pub fn closed(measured: &Measurement, users: usize, ramp: Duration) -> Saturation {
    let most = users as f64;
    // Seconds of the ramp around the half: users in the middle of the second, and requests.
    let before = std::iter::once(0).chain(measured.seconds.iter().map(|second| second.users));
    let rows = measured.seconds.iter().zip(before).filter(|(second, _)| second.at < ramp.as_secs());
    let rows = rows
        .map(|(second, before)| ((second.users + before) as f64 / 2.0, second.completed as f64));
    let rows: Vec<_> = rows.filter(|(users, _)| (0.3..=0.7).contains(&(users / most))).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| rows.iter().map(of).sum::<f64>() / rows.len() as f64;
    if rows.is_empty() {
        return Saturation::no("the ramp is too short to see how throughput grows with the users");
    }
    let (half_users, half) = (mean(|row| row.0), mean(|row| row.1));
    if half == 0.0 {
        return Saturation::no("nothing was completed at half of the users");
    }
    let full = measured.window.tps();
    let growth = (full / half - 1.0) / (most / half_users - 1.0);
    Saturation {
        reached: growth < GROWTH,
        reason: format!(
            "throughput was {half:.1} requests/s at {half_users:.0} users and {full:.1} at {most}: \
             it grew {:.0} % as much as the users (the limit was reached below {:.0} %)",
            growth * 100.0,
            GROWTH * 100.0
        ),
    }
}

/// Of an open run at a rate of visitors a second.
pub fn open(measured: &Measurement, rate: f64) -> Saturation {
    let completed = measured.window.visits_per_second();
    let kept_up = completed / rate;
    let not_begun = measured.visits_not_begun;
    Saturation {
        reached: kept_up < KEPT_UP,
        reason: format!(
            "{completed:.1} visits/s were completed of {rate} that arrived, {:.0} % (the limit was \
             reached below {:.0} %); {not_begun} visitors could not be played",
            kept_up * 100.0,
            KEPT_UP * 100.0
        ),
    }
}
