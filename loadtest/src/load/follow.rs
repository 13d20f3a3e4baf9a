//! Who waits for an answer, and how long visits last that were followed to their end.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::merges;

/// Fewer visits than these say nothing.
pub const FEW: u64 = 20;

/// The second half of the window, when what is slow from the start on is no news any more.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SecondHalf {
    /// Visits that began in it.
    pub arrived: u64,
    /// Visits that failed in it, whenever they began.
    pub failed: u64,
    /// Requests that were due and had no answer yet, at its start and at its end.
    pub waiting: [u64; 2],
}

merges!(SecondHalf { arrived, failed, waiting });

/// The visits that began in one second.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Cohort {
    begun: u64,
    ended: u64,
    completed: u64,
    stayed: Duration,
}

merges!(Cohort { begun, ended, completed, stayed });

/// All visits, by the second in which they began.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Cohorts(Vec<Cohort>);

merges!(Cohorts { 0 });

impl Cohorts {
    pub(super) fn begins(&mut self, at: Duration) {
        self.of(at).begun += 1;
    }

    pub(super) fn ends(&mut self, began: Duration, stayed: Duration, completed: bool) {
        let cohort = self.of(began);
        cohort.ended += 1;
        if completed {
            cohort.completed += 1;
            cohort.stayed += stayed;
        }
    }

    fn of(&mut self, at: Duration) -> &mut Cohort {
        let second = usize::try_from(at.as_secs()).unwrap_or(usize::MAX);
        if second >= self.0.len() {
            self.0.resize_with(second + 1, Cohort::default);
        }
        &mut self.0[second]
    }

    /// How long a completed visit takes on average, of those that began from this moment of the
    /// run on and before any that was cut: a visit is cut because it is long, so the mean of all
    /// that ended would be too short. None where these are fewer than [`FEW`].
    pub fn stay(&self, from: Duration) -> Option<Duration> {
        let first = usize::try_from(from.as_secs()).unwrap_or(usize::MAX);
        let followed = self.0.iter().skip(first).take_while(|cohort| cohort.ended == cohort.begun);
        let (completed, stayed) = followed.fold((0, Duration::ZERO), |(completed, stayed), it| {
            (completed + it.completed, stayed + it.stayed)
        });
        (completed >= FEW).then(|| stayed.div_f64(completed as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten a second for a minute, who stay 1 s to 40 s; at 60 s the run is over.
    #[test]
    fn a_stay_is_that_of_visits_none_of_which_was_cut() {
        let mut cohorts = Cohorts::default();
        for n in 0..600_u64 {
            let (at, stay) = (Duration::from_millis(n * 100), Duration::from_secs(1 + n * 7 % 40));
            cohorts.begins(at);
            if at + stay <= Duration::from_secs(60) {
                cohorts.ends(at, stay, true);
            }
        }
        let stay = cohorts.stay(Duration::ZERO).map(|it| it.as_secs_f64());
        assert!(stay.is_some_and(|it| (19.5..=21.5).contains(&it)), "{stay:?}");
        assert_eq!(cohorts.stay(Duration::from_secs(30)), None);
        assert_eq!(Cohorts::default().stay(Duration::ZERO), None);
    }
}
