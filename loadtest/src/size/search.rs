//! The search for the highest load that holds its objectives: steps that double, bisection between
//! the last that held and the first that missed, and as many runs as agree.
//!
//! Time is bounded by a deadline: what is not found by then is said, not guessed.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::measure::Measure;
use super::objective::Objective;
use super::step::Step;
use super::watch::{End, LONGER, Watch};
use crate::own_limit::OwnLimit;

/// Between a load that held and one that missed, when a run is over.
const PRECISION: f64 = 1.04;
/// The largest of the runs that agree ÷ the smallest.
const AGREE: f64 = 1.10;
/// Runs that must agree.
const RUNS: usize = 3;
/// What the last visitors of a load may take.
const LAST_ANSWERS: Duration = Duration::from_secs(1);
/// The least load, in visitors a second.
const LEAST: f64 = 0.5;

/// What to search, and how.
pub struct Search<'a, M> {
    /// Offers the load.
    pub measure: &'a M,
    /// What must hold.
    pub objectives: &'a [Objective],
    /// The first step, in visitors a second.
    pub from: f64,
    /// The highest load that is offered, in visitors a second.
    pub most: f64,
    /// How long a load is measured.
    pub step: Duration,
    /// How long a service may take to be calm again after it missed.
    pub recovery: Duration,
    /// A load that is under way then is given up.
    pub deadline: Instant,
    /// Ends it early.
    pub cancelled: &'a CancellationToken,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The highest load that held: the median of the runs that agree, or less where that did not
    /// last, in visitors a second. None when nothing held.
    pub held: Option<f64>,
    /// What each run found, in visitors a second.
    pub runs: Vec<f64>,
    /// Whether the last three agree within 10 %, and what they found does not miss when it lasts.
    pub agree: bool,
    /// Whether it held when it was offered longer, where there was time to see that.
    pub lasts: Option<bool>,
    /// The objective that the next higher load missed, or will where its line only grew yet.
    pub stopped_by: Option<String>,
    /// How long a load was offered before it was steady, at the end of the search.
    pub warm_up: Duration,
    /// Every load that was measured, in order, but for those that only looked for calm.
    pub steps: Vec<Step>,
    /// The limit of this program that ended the search.
    pub own_limit: Option<OwnLimit>,
    /// What else there is to say.
    pub remarks: Vec<String>,
}

impl Found {
    /// As many as must agree.
    fn last_runs(&self) -> &[f64] {
        &self.runs[self.runs.len().saturating_sub(RUNS)..]
    }

    /// The lowest load above the one that was found that was missed, by more than chance if there
    /// is one.
    pub fn next_higher(&self) -> Option<&Step> {
        let above = self.steps.iter().filter(|step| self.held.is_none_or(|it| step.rate > it));
        let missed = above.filter(|step| !step.held());
        missed.min_by(|one, other| {
            let chance = one.may_be_chance().cmp(&other.may_be_chance());
            chance.then(one.rate.total_cmp(&other.rate))
        })
    }

    /// The highest load that held, and the nearest that was measured to.
    pub fn highest(&self) -> Option<(f64, &Step)> {
        let held = self.held?;
        let near = self.steps.iter().filter(|step| step.held() && step.rate <= held);
        Some((held, near.max_by(|one, other| one.rate.total_cmp(&other.rate))?))
    }
}

impl<M: Measure> Search<'_, M> {
    /// Searches.
    ///
    /// # Errors
    ///
    /// When a load could not be offered at all.
    pub async fn run(&self) -> anyhow::Result<Found> {
        let mut found = Found::default();
        let mut watch = Watch::until(self.deadline, self.measure.warm_up());
        let searched = self.runs(&mut found, &mut watch).await;
        found.warm_up = watch.warm_up;
        match searched {
            Ok(()) => {}
            Err(End::Early(why)) => found.remarks.push(why),
            Err(End::Own(limit)) => {
                found.remarks.push(limit.to_string());
                found.own_limit = Some(limit);
            }
            Err(End::Failed(error)) => return Err(error),
        }
        let agreed = agree(found.last_runs());
        found.agree = agreed && found.own_limit.is_none() && found.lasts != Some(false);
        found.held = found.held.or_else(|| median(found.last_runs()));
        if found.held.is_none() {
            // Not one run to its end: what held so far is at least true.
            let held = found.steps.iter().filter(|step| step.held()).map(|step| step.rate);
            found.held = held.reduce(f64::max);
        }
        found.stopped_by = found.next_higher().and_then(Step::missed);
        if found.held.is_some() && !agreed {
            let runs = found.runs.len();
            found.remarks.push(match runs {
                0..RUNS => format!("{runs} of three runs were made"),
                _ => format!("{runs} runs, of which no three agree within 10 %"),
            });
        }
        Ok(found)
    }

    async fn runs(&self, found: &mut Found, watch: &mut Watch) -> Result<(), End> {
        let (mut low, mut high) = (None, None);
        let mut rate = self.from.min(self.most);
        while high.is_none() || low.is_none() {
            if self.holds(rate, found, watch).await? {
                low = Some(rate);
                if rate >= self.most {
                    found.runs.push(rate);
                    return Err(self.held_most());
                }
                rate = if high.is_some() { rate } else { (2.0 * rate).min(self.most) };
            } else {
                high = Some(rate);
                rate = if low.is_some() { rate } else { self.least(rate / 2.0)? };
            }
        }
        let (mut low, mut high) = (low.unwrap_or(rate), high.unwrap_or(rate));
        loop {
            while high / low > PRECISION {
                let middle = (low * high).sqrt();
                let held = self.holds(middle, found, watch).await?;
                *(if held { &mut low } else { &mut high }) = middle;
            }
            found.runs.push(low);
            if low >= self.most {
                return Err(self.held_most());
            }
            if agree(found.last_runs()) {
                return self.lasts(found, watch).await;
            }
            // The next run finds its own bounds around what this one found, in longer and longer
            // strides where that was far off.
            (low, high) = (low / AGREE, (high * AGREE).min(self.most));
            let mut stride = AGREE;
            while !self.holds(low, found, watch).await? {
                high = low;
                low = self.least(low / stride)?;
                stride = (stride * stride).min(2.0);
            }
            stride = AGREE;
            while low < high && self.holds(high, found, watch).await? {
                low = high;
                high = (high * stride).min(self.most);
                stride = (stride * stride).min(2.0);
            }
        }
    }

    /// Whether what the runs found holds longer, as a service that saves up for a burst, or whose
    /// line grows slowly, bears a short load beyond what it can do; else what does.
    async fn lasts(&self, found: &mut Found, watch: &mut Watch) -> Result<(), End> {
        let Some(of_runs) = median(found.last_runs()) else { return Ok(()) };
        let mut rate = of_runs;
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            let left = left.saturating_sub(watch.warm_up + LAST_ANSWERS);
            let length = (LONGER * self.step).min(left);
            if length < 2 * self.step {
                let unsure = format!("no time was left to see whether {rate:.1} visitors/s lasts");
                return Err(End::Early(unsure));
            }
            let step = self.steady(rate, length, watch).await?;
            let (held, of_the_driver) = (step.held(), step.own_limit().is_some());
            let refused = step.refused();
            if !of_the_driver {
                found.steps.push(step);
            }
            if held && !of_the_driver {
                (found.held, found.lasts) = (Some(rate), Some(true));
                return Ok(());
            }
            if !of_the_driver {
                if found.lasts.is_none() {
                    let seconds = self.step.as_secs_f64();
                    found.remarks.push(format!(
                        "{rate:.1} visitors/s missed when they came for longer than {seconds} s: \
                         the service bears bursts, or its line grows slowly"
                    ));
                }
                rate = self.least(rate * (1.0 - refused) / PRECISION)?;
                (found.held, found.lasts) = (Some(rate), Some(false));
            }
            self.calm(rate, watch).await?;
        }
    }

    /// A load below another that was missed, while there is one.
    fn least(&self, rate: f64) -> Result<f64, End> {
        let none = || End::Early("not even one visitor in two seconds was held".to_owned());
        (rate >= LEAST).then_some(rate).ok_or_else(none)
    }

    fn held_most(&self) -> End {
        End::Early(format!("it held {} visitors/s, the most that was offered", self.most))
    }
}

fn median(runs: &[f64]) -> Option<f64> {
    let mut runs = runs.to_vec();
    runs.sort_by(f64::total_cmp);
    runs.get(runs.len() / 2).copied()
}

fn agree(runs: &[f64]) -> bool {
    let least = runs.iter().copied().fold(f64::INFINITY, f64::min);
    let most = runs.iter().copied().fold(0.0, f64::max);
    runs.len() >= RUNS && most <= least * AGREE
}
