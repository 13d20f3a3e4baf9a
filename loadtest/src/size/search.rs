//! The search for the highest load that holds its objectives: steps that double, bisection between
//! the last that held and the first that missed, and as many runs as agree.
//!
//! Time is bounded by a deadline: what is not found by then is said, not guessed.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::measure::Measure;
use super::objective::Objective;
use super::step::{Step, judge};
use crate::load::open::Arrivals;
use crate::progress::Progress;

/// Between a load that held and one that missed, when a run is over.
const PRECISION: f64 = 1.04;
/// The largest of the runs that agree ÷ the smallest.
const AGREE: f64 = 1.10;
/// Runs that must agree.
const RUNS: usize = 3;
/// A load that missed so often is one that is not held.
const MISSES: usize = 2;
/// Measurements of one load in which this program itself may be late.
const ATTEMPTS: usize = 20;
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
    /// How long a load is offered.
    pub step: Duration,
    /// How long a service may take to be calm again after it missed.
    pub recovery: Duration,
    /// No step begins that would end after it.
    pub deadline: Instant,
    /// Ends it early.
    pub cancelled: &'a CancellationToken,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// The highest load that held: the median of the runs that agree, in visitors a second. None
    /// when nothing held.
    pub held: Option<f64>,
    /// What each run found, in visitors a second.
    pub runs: Vec<f64>,
    /// Whether the last three agree within 10 %.
    pub agree: bool,
    /// The objective that the next higher load missed.
    pub stopped_by: Option<String>,
    /// Every load that was offered, in order, but for those that only looked for calm.
    pub steps: Vec<Step>,
    /// What else there is to say.
    pub remarks: Vec<String>,
}

impl Found {
    /// The highest load that held, and the nearest that was measured to.
    pub fn highest(&self) -> Option<(f64, &Step)> {
        let held = self.held?;
        let near = self.steps.iter().filter(|step| step.held() && step.rate <= held);
        Some((held, near.max_by(|one, other| one.rate.total_cmp(&other.rate))?))
    }
}

/// How far the time has gone.
struct Watch {
    begun: Instant,
    progress: Progress,
}

impl Watch {
    fn until(deadline: Instant) -> Self {
        let begun = Instant::now();
        let left = deadline.saturating_duration_since(begun).as_millis();
        let progress = Progress::new("size", u64::try_from(left).unwrap_or(u64::MAX));
        Self { begun, progress }
    }

    fn tell(&self, step: &Step) {
        let passed = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.progress.at(passed, || step.line());
    }
}

/// Why a search ended before it was done.
enum End {
    /// Neither time nor wish for more.
    Early(String),
    Failed(anyhow::Error),
}

impl From<anyhow::Error> for End {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
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
        let watch = Watch::until(self.deadline);
        match self.runs(&mut found, &watch).await {
            Ok(()) => {}
            Err(End::Early(why)) => found.remarks.push(why),
            Err(End::Failed(error)) => return Err(error),
        }
        let last = &found.runs[found.runs.len().saturating_sub(RUNS)..];
        found.agree = agree(last);
        let mut last = last.to_vec();
        last.sort_by(f64::total_cmp);
        found.held = last.get(last.len() / 2).copied();
        if found.held.is_none() {
            // Not one run to its end: what held so far is at least true.
            let held = found.steps.iter().filter(|step| step.held()).map(|step| step.rate);
            found.held = held.reduce(f64::max);
        }
        found.stopped_by = stopped_by(&found.steps, found.held);
        if found.held.is_some() && !found.agree {
            let runs = found.runs.len();
            found.remarks.push(format!("{runs} runs, of which no three agree within 10 %"));
        }
        Ok(found)
    }

    async fn runs(&self, found: &mut Found, watch: &Watch) -> Result<(), End> {
        let (mut low, mut high) = (None, None);
        let mut rate = self.from.min(self.most);
        while high.is_none() || low.is_none() {
            if self.holds(rate, found, watch).await? {
                low = Some(rate);
                if rate >= self.most {
                    found.runs.push(rate);
                    let said = format!("it held {rate} visitors/s, the most that was offered");
                    return Err(End::Early(said));
                }
                rate = if high.is_some() { rate } else { (2.0 * rate).min(self.most) };
            } else {
                high = Some(rate);
                rate = if low.is_some() { rate } else { rate / 2.0 };
                if rate < LEAST {
                    return Err(End::Early("not even one visitor in two seconds was held".into()));
                }
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
            let recent = &found.runs[found.runs.len().saturating_sub(RUNS)..];
            if recent.len() == RUNS && agree(recent) {
                return Ok(());
            }
            // The next run finds its own bounds around what this one found.
            (low, high) = (low / AGREE, high * AGREE);
            while !self.holds(low, found, watch).await? {
                (low, high) = (low / AGREE, low);
            }
            while high < self.most && self.holds(high, found, watch).await? {
                (low, high) = (high, high * AGREE);
            }
        }
    }

    /// Whether a load holds. A miss is measured once more: the machine may have had a hiccup. So is
    /// what this program was too late for, a few times.
    async fn holds(&self, rate: f64, found: &mut Found, watch: &Watch) -> Result<bool, End> {
        let mut misses = 0;
        for _ in 0..ATTEMPTS {
            let step = self.offer(rate, self.step, watch).await?;
            let (held, counts) = (step.held(), !step.is_of_the_driver());
            if counts {
                found.steps.push(step);
                misses += usize::from(!held);
            }
            if !held {
                self.calm(rate, watch).await?;
            }
            if misses == MISSES || (counts && held) {
                return Ok(held);
            }
        }
        Err(End::Early(format!(
            "at {rate:.1} visitors/s this program itself was late, or out of connections: it, or \
             the machine that it runs on, is the bottleneck"
        )))
    }

    /// Offers a load.
    async fn offer(&self, rate: f64, length: Duration, watch: &Watch) -> Result<Step, End> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left < self.measure.lasts(length) {
            return Err(End::Early("the time for the search was over".to_owned()));
        }
        let measured = tokio::select! {
            biased;
            () = self.cancelled.cancelled() => return Err(End::Early("ended early".to_owned())),
            measured = self.measure.at(rate, Arrivals::Even, length) => measured?,
        };
        let step = judge(rate, &measured, self.objectives);
        watch.tell(&step);
        Ok(step)
    }

    /// Waits until the lowest load holds again, as it did before: a service that collapsed would
    /// fail every load that comes next.
    async fn calm(&self, after: f64, watch: &Watch) -> Result<(), End> {
        let (begun, low) = (Instant::now(), self.from.min(after / 2.0));
        // Long enough for a handful of visitors.
        let length = (self.step / 4).max(Duration::from_secs_f64(5.0 / low));
        while begun.elapsed() < self.recovery {
            if self.offer(low, length, watch).await?.held() {
                return Ok(());
            }
        }
        let waited = begun.elapsed().as_secs();
        Err(End::Early(format!(
            "after {after:.1} visitors/s the service did not recover: {waited} s later it still \
             missed its objectives at {low:.1}"
        )))
    }
}

fn agree(runs: &[f64]) -> bool {
    let least = runs.iter().copied().fold(f64::INFINITY, f64::min);
    let most = runs.iter().copied().fold(0.0, f64::max);
    runs.len() >= RUNS && most <= least * AGREE
}

/// What the lowest load above the one that was found missed.
fn stopped_by(steps: &[Step], held: Option<f64>) -> Option<String> {
    let missed = steps.iter().filter(|step| held.is_none_or(|held| step.rate > held));
    let lowest =
        missed.filter(|step| !step.held()).min_by(|one, other| one.rate.total_cmp(&other.rate));
    lowest.and_then(Step::missed)
}
