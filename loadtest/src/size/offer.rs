//! One load of the search, and whether the service recovers after it.

use std::time::{Duration, Instant};

use super::measure::{Load, Measure};
use super::search::{LONGER, Next, Search};
use super::step::{Step, judge};
use crate::load::open::Arrivals;
use crate::own_limit::OwnLimit;
use crate::progress::Progress;

/// Measurements of one load in which the harness itself reaches a limit.
const ATTEMPTS: usize = 3;
/// What the last visitors of a load take, and the recovery of the service, most often.
pub const AFTER: Duration = Duration::from_millis(1_500);

/// How far the search has gone.
pub struct Watch {
    begun: Instant,
    progress: Progress,
    /// How long loads are offered until they are steady, as far as that is known.
    pub warm_up: Duration,
}

/// Why a search ended before it was settled.
pub enum End {
    /// Neither time nor wish for more.
    Early(String),
    /// This program was at its own limit.
    Own(OwnLimit),
    Failed(anyhow::Error),
}

impl Watch {
    pub fn new<M: Measure>(search: &Search<'_, M>) -> Self {
        let begun = search.now();
        let left = search.deadline.saturating_duration_since(begun).as_millis();
        let progress = Progress::new("size", u64::try_from(left).unwrap_or(u64::MAX));
        Self { begun, progress, warm_up: search.measure.warm_up() }
    }

    pub fn elapsed<M: Measure>(&self, search: &Search<'_, M>) -> Duration {
        search.now() - self.begun
    }
}

impl<M: Measure> Search<'_, M> {
    /// Offers a load until the harness is not its own limit, and until it is steady: one that met
    /// its objectives only because fewer visitors were there than will be is offered with a longer
    /// warm-up. What is found may be offered for less than it should if the time is nearly over.
    pub(super) async fn counted(
        &self,
        &Next { rate, length, verifies }: &Next,
        watch: &mut Watch,
    ) -> Result<Step, End> {
        let mut attempts = 0;
        loop {
            let left = self.deadline.saturating_duration_since(self.now());
            let left = left.saturating_sub(watch.warm_up + AFTER);
            let shorter = verifies && left >= length * 2 / LONGER;
            let length = if shorter { length.min(left) } else { length };
            let step = self.offer(rate, watch.warm_up, length, watch).await?;
            attempts += usize::from(step.own_limit.is_some());
            match &step.own_limit {
                None if step.held() && step.steady_after > watch.warm_up => {
                    watch.warm_up = step.steady_after;
                }
                None => return Ok(step),
                Some(limit) if attempts == ATTEMPTS => return Err(End::Own(limit.clone())),
                Some(_) => {}
            }
        }
    }

    /// Offers a load once.
    pub(super) async fn offer(
        &self,
        rate: f64,
        warm_up: Duration,
        length: Duration,
        watch: &Watch,
    ) -> Result<Step, End> {
        let over = || End::Early("the time for the search was over".to_owned());
        let left = self.deadline.saturating_duration_since(self.now());
        if left < warm_up.saturating_add(length) {
            return Err(over());
        }
        let load = Load { rate, arrivals: Arrivals::Even, warm_up, length };
        // Answers that come later than that are waited for in vain.
        let at = tokio::time::timeout(left, self.measure.at(&load));
        let measured = tokio::select! {
            biased;
            () = self.cancelled.cancelled() => return Err(End::Early("ended early".to_owned())),
            measured = at => measured.map_err(|_| over())?.map_err(End::Failed)?,
        };
        let step = judge(rate, length.as_secs_f64(), &measured, self.objectives);
        let passed = u64::try_from(watch.elapsed(self).as_millis()).unwrap_or(u64::MAX);
        watch.progress.at(passed, || step.line());
        Ok(step)
    }

    /// Waits until a low load meets the objectives: a service that collapsed would fail every load
    /// that comes next.
    pub(super) async fn recovers(&self, after: f64, met: f64, watch: &Watch) -> Result<(), End> {
        let begun = self.now();
        let rate = self.from.min(after / 2.0).min(met);
        // Long enough for a handful of visitors.
        let length = (self.step / 4).max(Duration::from_secs_f64(5.0 / rate));
        loop {
            let step = self.offer(rate, self.measure.warm_up(), length, watch).await?;
            if !step.is_clear_miss() {
                return Ok(());
            }
            let waited = (self.now() - begun).as_secs();
            if waited >= self.recovery.as_secs() {
                return Err(step.own_limit.map_or_else(
                    || {
                        End::Early(format!(
                            "after {after:.1} visitors/s the service did not recover: {waited} s \
                             later it still missed its objectives at {rate:.1}"
                        ))
                    },
                    End::Own,
                ));
            }
        }
    }
}
