//! When a load is steady: visitors who think, and who try again after they thought, are under way
//! long after they came, and a load that is looked at before as many are there as will be is less
//! than what it will become.

use std::collections::BTreeMap;
use std::time::Duration;

use hyper::StatusCode;

use crate::client::Fault;
use crate::load::{Tally, share};
use crate::scenario::{Scenario, Step};

/// The part of a load's requests that may be missing in what is looked at.
const MISSING: f64 = 0.04;
/// What the next warm-up aims at, so that a load which differs a little is steady after it, too.
const AIM: f64 = 0.02;
/// Of all visits, so few are not followed further.
const FEW: f64 = 1e-6;
/// Steps that are followed at most, also where nearly all try again.
const MOST: usize = 200_000;

/// What an average visit comes to, each step as it went under one load.
pub struct Visits {
    /// Requests of a visit, by their milliseconds since its arrival.
    requests: Vec<(u64, f64)>,
    /// How long it lasts.
    pub stay: Duration,
}

/// What became of those who were at a step, as parts of 1; the others ended there.
struct Pass {
    again: f64,
    on: f64,
    think: Duration,
    answer: Duration,
}

impl Visits {
    /// Follows an average visit to its end: what a step brought does not depend on how many came
    /// to their end while it was measured, as the length of whole visits would.
    pub fn of(scenario: &Scenario, steps: &[Tally]) -> Self {
        let passes: Vec<_> = scenario.steps.iter().zip(steps).map(Pass::of).collect();
        let stages = &scenario.stages;
        let stage_of =
            |step| stages.iter().position(|it| it.iter().any(|(index, _)| *index == step));
        let (mut requests, mut ended, mut stay) = (Vec::new(), 0.0, 0.0);
        let mut here = BTreeMap::from([((0, 0), 1.0)]);
        for _ in 0..MOST {
            let Some(((age, stage), mass)) = here.pop_first() else { break };
            let Some(alternatives) = stages.get(stage) else {
                (ended, stay) = (ended + mass, stay + mass * age as f64);
                continue;
            };
            for (index, share) in alternatives {
                let (pass, step, mass) = (&passes[*index], &scenario.steps[*index], mass * share);
                let sent = age + millis(pass.think);
                if step.ask.is_some() {
                    requests.push((sent, mass));
                }
                // Whatever is tried again takes time, so this comes to an end.
                let after = sent + millis(pass.answer).max(1);
                let back = step.retry.as_ref().and_then(|retry| stage_of(retry.from));
                for (next, part) in [(back, pass.again), (Some(stage + 1), pass.on)] {
                    if let Some(next) = next.filter(|_| mass * part > FEW) {
                        *here.entry((after, next)).or_default() += mass * part;
                    }
                }
                let gone = mass * (1.0 - pass.again - pass.on);
                (ended, stay) = (ended + gone, stay + gone * after as f64);
            }
        }
        let stay = if ended > 0.0 { stay / ended / 1e3 } else { 0.0 };
        Self { requests, stay: Duration::from_secs_f64(stay.max(0.0)) }
    }

    /// After which warm-up a load is steady that is looked at for so long: the one it had, if that
    /// was enough.
    pub fn steady_after(&self, warm_up: Duration, length: Duration) -> Duration {
        let (mut enough, length) = (millis(warm_up), millis(length).max(1));
        if self.missing(enough, length) <= MISSING {
            return warm_up;
        }
        let mut too_short = enough;
        enough = self.requests.iter().map(|(age, _)| *age).max().unwrap_or_default();
        while enough - too_short > 1 {
            let middle = too_short.midpoint(enough);
            let steady = self.missing(middle, length) <= AIM;
            *(if steady { &mut enough } else { &mut too_short }) = middle;
        }
        Duration::from_millis(enough)
    }

    /// The part of all requests that is missing in a window of this length after this warm-up, as
    /// those who would make them have not come yet.
    fn missing(&self, warm_up: u64, length: u64) -> f64 {
        let all: f64 = self.requests.iter().map(|(_, part)| part).sum();
        let missing = self.requests.iter().map(|(age, part)| {
            part * (age.saturating_sub(warm_up) as f64 / length as f64).min(1.0)
        });
        missing.sum::<f64>() / all.max(FEW)
    }
}

impl Pass {
    fn of((step, tally): (&Step, &Tally)) -> Self {
        let (think, answer) = (step.think.mean(), tally.latency.mean());
        if tally.requests == 0 {
            return Self { again: 0.0, on: 1.0, think, answer };
        }
        let retried = |status: &u16| {
            let status = StatusCode::from_u16(*status).ok();
            step.retry.as_ref().zip(status).is_some_and(|(it, status)| it.on.contains(status))
        };
        let again = tally.statuses.iter().filter(|(status, _)| retried(status));
        let again: u64 = again.map(|(_, count)| count).sum();
        let used_up = tally.faults.get(&Fault::Retries).copied().unwrap_or_default();
        let again = again.saturating_sub(used_up);
        let on = tally.requests.saturating_sub(tally.errors() + again);
        let [again, on] = [again, on].map(|part| share(part, tally.requests));
        Self { again, on, think, answer }
    }
}

/// In whole milliseconds.
pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn visits(scenario: &str, again: u64) -> Visits {
        let scenario = Scenario::parse(scenario, "test.toml").expect("a scenario");
        let tally = |again: u64| Tally {
            requests: 100,
            statuses: BTreeMap::from([(200, 100 - again), (409, again)]),
            ..Tally::default()
        };
        Visits::of(&scenario, &[tally(0), tally(again)])
    }

    #[test]
    fn who_thinks_again_before_trying_again_makes_a_load_steady_later() {
        let again = "[[steps]]\nname = 'a'\npath = '/'\n[[steps]]\npath = '/buy'\nthink = '3s'\n\
            retry_on = [409]\nretry_from = 'a'\nretry_max = 30";
        let half = visits(again, 50);
        // Two rounds on average.
        assert!((half.stay.as_secs_f64() - 6.0).abs() < 0.02, "{:?}", half.stay);
        let sent: f64 = half.requests.iter().map(|(_, part)| part).sum();
        assert!((sent - 4.0).abs() < 0.001, "{sent}");
        // In the fourth round there is an eighth, in the sixth a 32nd.
        let after = half.steady_after(3 * SECOND, 4 * SECOND);
        assert!((9 * SECOND..18 * SECOND).contains(&after), "{after:?}");
        assert_eq!(half.steady_after(after, 4 * SECOND), after);
        let once = visits(again, 0);
        assert_eq!(once.steady_after(3 * SECOND, 4 * SECOND), 3 * SECOND);
        assert!((once.stay.as_secs_f64() - 3.0).abs() < 0.02, "{:?}", once.stay);
        // Hardly a visitor ever goes on: this ends all the same.
        assert!(visits(again, 100).steady_after(SECOND, SECOND) > 60 * SECOND);
    }
}
