//! Whether a run has shown what the service bears, or only what load it had.
//!
//! Closed: users who are served as fast as ever bring throughput in proportion. From half of the
//! users to all of them it would double; where it grew by less than half of that, the service (or
//! the harness) was the limit. Where users think, throughput also depends on who thinks just then;
//! there it is worked out from the latency, by the interactive response time law (throughput =
//! users ÷ (latency + thinking)). Open: visitors arrive whatever the service does; where it left
//! more than 5 % of them waiting or failed, it was the limit. Who thinks does not wait for it.

use std::time::Duration;

use crate::load::{Durations, FEW, Measurement, Merge as _, Second, SecondHalf, share};
use crate::scenario::Scenario;

/// Closed: so much of the growth of the users, at least, would be a service with room.
const GROWTH: f64 = 0.5;
/// Closed: fewer users grow by too large steps.
const FEW_USERS: usize = 10;
/// Closed: a shorter hold says nothing.
const SHORT: Duration = Duration::from_secs(2);
/// Open: so much of what arrived, at least, completes a service with room.
const KEPT_UP: f64 = 0.95;

/// Open: a service with room takes no longer than that for who comes late, beside who came early.
const LONGER: f64 = 1.2;

/// What a run says of the limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Saturation {
    /// Whether the limit was reached.
    pub reached: bool,
    /// Open: whether ever more visitors waited for an answer.
    pub piles_up: bool,
    /// The figures behind it, for people.
    pub reason: String,
}

impl Saturation {
    fn no(reason: impl Into<String>) -> Self {
        Self { reached: false, piles_up: false, reason: reason.into() }
    }
}

/// Of a closed run to so many users, whose hold began after `ramp`.
pub fn closed(
    measured: &Measurement,
    scenario: &Scenario,
    users: usize,
    ramp: Duration,
) -> Saturation {
    let most = users as f64;
    let half = around_half(measured.seconds.over(), most, ramp);
    let completed: u64 = half.iter().map(|(_, second)| second.completed).sum();
    if users < FEW_USERS {
        return Saturation::no(format!(
            "with fewer than {FEW_USERS} users it does not show how throughput grows with them"
        ));
    }
    if measured.window.length < SHORT {
        return Saturation::no("the hold is too short to measure its throughput");
    }
    if half.is_empty() {
        return Saturation::no("the ramp is too short to see how throughput grows with the users");
    }
    if completed < FEW {
        return Saturation::no(format!(
            "{completed} requests were completed around half of the users: too few to judge"
        ));
    }
    let half_users = half.iter().map(|row| row.0).sum::<f64>() / half.len() as f64;
    let thinks = scenario.think_per_visitor().as_secs_f64() * 1e3 / scenario.calls_per_visitor();
    let (shown, times) = if thinks > 0.0 {
        let mut latency = Durations::default();
        half.iter().for_each(|(_, second)| latency.merge_with(&second.latency()));
        let requests = half.iter().map(|(_, second)| second.requests).sum();
        let total = &measured.window.total;
        let [of_half, of_most] =
            [&latency, &total.latency].map(|latency| latency.mean().as_secs_f64() * 1e3);
        // Visitors who are refused are refused soon, and not served.
        let answered = [share(completed, requests), 1.0 - total.error_share()];
        let [half_percent, most_percent] = answered.map(|share| share * 100.0);
        let shown = format!(
            "a request took {of_half:.1} ms on average at {half_users:.0} users and {of_most:.1} \
             ms at {most}, besides {thinks:.0} ms of thinking, and {half_percent:.0} % and \
             {most_percent:.0} % of them were answered: throughput"
        );
        let law = most / half_users * (of_half + thinks) / (of_most + thinks);
        (shown, law * answered[1] / answered[0])
    } else {
        let (half, full) = (completed as f64 / half.len() as f64, measured.window.tps());
        let at = format!("{half:.1} requests/s at {half_users:.0} users and {full:.1} at {most}");
        (format!("throughput was {at}: it"), full / half)
    };
    let growth = (times - 1.0) / (most / half_users - 1.0);
    Saturation {
        reached: growth < GROWTH,
        piles_up: false,
        reason: format!(
            "{shown} grew {:.0} % as much as the users (the limit was reached below {:.0} %)",
            growth * 100.0,
            GROWTH * 100.0
        ),
    }
}

/// The seconds of the ramp with about half of the users, and how many users the middle of each has.
fn around_half(seconds: &[Second], most: f64, ramp: Duration) -> Vec<(f64, &Second)> {
    let before = std::iter::once(0).chain(seconds.iter().map(|second| second.users));
    let of_ramp = usize::try_from(ramp.as_secs()).unwrap_or(usize::MAX);
    let rows = seconds.iter().zip(before).take(of_ramp);
    let rows = rows.map(|(second, before)| ((second.users + before) as f64 / 2.0, second));
    rows.filter(|(users, _)| (0.3..=0.7).contains(&(users / most))).collect()
}

/// Of an open run.
pub fn open(measured: &Measurement) -> Saturation {
    let SecondHalf { arrived, failed, waiting: [before, after] } = measured.second_half;
    if arrived < FEW {
        return Saturation::no(format!(
            "{arrived} visitors arrived in the second half of the time: too few to judge"
        ));
    }
    let more = after.saturating_sub(before);
    let lost = (more + failed) as f64;
    let kept_up = (1.0 - lost / arrived as f64).max(0.0);
    // Two numbers of who waits differ by the root of both, when arrivals and answers are chance.
    let chance = 2.0 * (2.0 * (before + 1) as f64).sqrt();
    let reached = kept_up < KEPT_UP && lost > chance;
    let piles_up = reached && more as f64 > chance.max((1.0 - KEPT_UP) * arrived as f64);
    if reached && !grows(measured) && measured.whole.total.error_share() <= 1.0 - KEPT_UP {
        return Saturation::no(format!(
            "the visitors waiting for an answer went from {before} to {after}, but late visitors \
             waited no longer than early ones: the service is slow, and the hold too short for it"
        ));
    }
    let not_begun = measured.visits_not_begun;
    let came = (measured.visits_begun + not_begun) as f64;
    if !reached && not_begun as f64 > (1.0 - KEPT_UP) * came {
        return Saturation::no(format!(
            "{not_begun} of {came} visitors were not played (--max-in-flight): the service did not \
             get the whole load"
        ));
    }
    Saturation {
        reached,
        piles_up,
        reason: format!(
            "in the second half of the time {arrived} visitors arrived, {failed} failed, and the \
             visitors waiting for an answer went from {before} to {after}: it kept up with {:.0} % \
             (the limit was reached below {:.0} %)",
            kept_up * 100.0,
            KEPT_UP * 100.0
        ),
    }
}

/// Whether a step took longer for those who came late in the hold than for those who came early.
fn grows(measured: &Measurement) -> bool {
    let longer = |[first, last]: &[Durations; 2]| {
        first.count() == 0
            || last.count() == 0
            || last.quantile(0.5) > first.quantile(0.5).mul_f64(LONGER)
    };
    measured.thirds.is_empty() || measured.thirds.iter().any(longer)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::client::Fault;
    use crate::load::{Figures, Sample, Seconds};

    fn half(arrived: u64, failed: u64, waiting: [u64; 2]) -> Saturation {
        let second_half = SecondHalf { arrived, failed, waiting };
        open(&Measurement { second_half, visits_begun: 2 * arrived, ..Measurement::default() })
    }

    #[test]
    fn who_thinks_does_not_wait_for_the_service() {
        // No visit has ended yet: all think.
        assert!(!half(300, 0, [0, 0]).reached);
        assert!(!half(300, 0, [40, 45]).reached, "slow, but no slower than before");
        assert!(!half(25, 0, [2, 4]).reached, "chance");
        assert!(half(300, 0, [100, 200]).piles_up);
        let give_up = half(300, 60, [100, 100]);
        assert!(give_up.reached && !give_up.piles_up, "as many give up as come");
        let few = half(3, 0, [0, 3]);
        assert!(!few.reached && few.reason.contains("too few to judge"), "{few:?}");
    }

    #[test]
    fn a_slow_service_is_not_saturated_because_the_hold_is_short() {
        let open_of = |seconds: [u64; 2], refused| {
            let second_half = SecondHalf { arrived: 50, failed: 0, waiting: [51, 80] };
            let mut thirds = <[Durations; 2]>::default();
            thirds[0].note(Duration::from_secs(seconds[0]));
            thirds[1].note(Duration::from_secs(seconds[1]));
            let mut whole = Figures::default();
            whole.total.requests = 100;
            whole.total.faults.insert(Fault::Timeout, refused);
            open(&Measurement { second_half, thirds: vec![thirds], whole, ..Default::default() })
        };
        let slow = open_of([8, 8], 0);
        assert!(!slow.reached && slow.reason.contains("slow"), "{slow:?}");
        assert!(open_of([2, 8], 0).reached);
        assert!(open_of([8, 8], 50).reached, "it answers no more");
    }

    #[test]
    fn who_was_not_played_says_nothing_of_the_service() {
        let second_half = SecondHalf { arrived: 300, ..SecondHalf::default() };
        let visits = Measurement { visits_begun: 600, visits_not_begun: 300, ..Default::default() };
        let judged = open(&Measurement { second_half, ..visits });
        assert!(!judged.reached && judged.reason.contains("--max-in-flight"), "{judged:?}");
    }

    /// Up to so many users in four seconds; 100 requests each second, all of the same latency.
    fn up(users: u64, latency: [u64; 2], completed: [u64; 2]) -> Measurement {
        let (mut seconds, started) = (Seconds::default(), Instant::now());
        let sample = Sample { step: 0, started, status: Some(200), again: false, fault: None };
        for at in 0..4 {
            let (from, users) = (Duration::from_secs(at), users * (at + 1) / 4);
            for _ in 0..completed[0] {
                seconds.add(from, &sample, Duration::from_millis(latency[0]), users);
            }
            seconds.turn(from + Duration::from_secs(1), users);
        }
        let mut window = Figures { length: Duration::from_secs(4), ..Figures::default() };
        window.total.completed = 4 * completed[1];
        window.total.latency.note(Duration::from_millis(latency[1]));
        Measurement { seconds, window, ..Measurement::default() }
    }

    fn judge(scenario: &str, users: u64, measured: &Measurement) -> Saturation {
        let scenario = Scenario::parse(scenario, "test.toml").expect("it is one");
        closed(measured, &scenario, users as usize, Duration::from_secs(4))
    }

    const ONE: &str = "[[steps]]\npath = '/'";
    const THINKS: &str = "[[steps]]\npath = '/'\n[[steps]]\npath = '/b'\nthink = '10s'";

    #[test]
    fn one_user_or_two_say_nothing_of_the_limit() {
        for users in [1, 2] {
            let judged = judge(ONE, users, &up(users, [20, 20], [47, 48]));
            assert!(!judged.reached && judged.reason.contains("fewer than 10 users"), "{judged:?}");
        }
        assert!(judge(ONE, 40, &up(40, [20, 40], [100, 100])).reached);
        assert!(!judge(ONE, 40, &up(40, [20, 20], [100, 200])).reached);
        let too_few = judge(ONE, 40, &up(40, [20, 20], [5, 6]));
        assert!(!too_few.reached && too_few.reason.contains("too few to judge"), "{too_few:?}");
    }

    /// All send a request when they come, and then think: there are no more requests at the top.
    #[test]
    fn throughput_of_who_thinks_is_not_the_limit() {
        assert!(!judge(THINKS, 40, &up(40, [5, 5], [100, 100])).reached);
        assert!(judge(THINKS, 40, &up(40, [5, 60_000], [100, 100])).reached);
        // Three of four are refused at once.
        let mut refused = up(40, [5, 5], [100, 100]);
        refused.window.total.requests = 400;
        refused.window.total.faults.insert(Fault::Status, 300);
        assert!(judge(THINKS, 40, &refused).reached);
    }
}
