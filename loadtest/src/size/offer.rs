//! One load of the search, and whether the service recovers after it.

use std::time::Duration;

use super::measure::{Load, Measure};
use super::search::{LONGER, Next, Search, State};
use super::steady::millis;
use super::step::{Step, judge};
use crate::load::open::Arrivals;
use crate::own_limit::OwnLimit;

/// Measurements of one load in which the harness itself reaches a limit.
const ATTEMPTS: usize = 3;
/// What the last visitors of a load take, and the recovery of the service, most often.
pub const AFTER: Duration = Duration::from_millis(1_500);

const SECOND: Duration = Duration::from_secs(1);

/// Why a search ended before it was settled.
pub enum End {
    /// Neither time nor wish for more.
    Early(String),
    /// This program was at its own limit.
    Own(OwnLimit),
    Failed(anyhow::Error),
}

impl<M: Measure> Search<'_, M> {
    /// Offers a load until the harness is not its own limit, and until it is steady: one that met
    /// its objectives only because fewer visitors were there than will be is offered with a longer
    /// warm-up. What is found may be offered for less than it should if the time is nearly over.
    pub(super) async fn counted(
        &self,
        &Next { rate, length, verifies }: &Next,
        state: &mut State,
    ) -> Result<Step, End> {
        let mut attempts = 0;
        // What was refused in a second may have used up what the service allows in all of it.
        let refused = state.found.steps.last().is_some_and(|last| last.only_refused);
        let least = if refused { SECOND } else { Duration::ZERO };
        loop {
            let warm_up = state.found.warm_up.max(least);
            let left = self.deadline.saturating_duration_since(self.now());
            let left = left.saturating_sub(warm_up + AFTER);
            let shorter = verifies && left >= length * 2 / LONGER;
            let length = if shorter { length.min(left) } else { length };
            let step = self.offer(rate, warm_up, length, state).await?;
            attempts += usize::from(step.own_limit.is_some());
            match &step.own_limit {
                None if step.held() && step.steady_after > warm_up => {
                    state.found.warm_up = step.steady_after;
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
        state: &State,
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
        state.progress.at(millis(self.now() - state.begun), || step.line());
        Ok(step)
    }

    /// Waits until a low load meets the objectives: a service that collapsed would fail every load
    /// that comes next.
    pub(super) async fn recovers(&self, after: f64, state: &State) -> Result<(), End> {
        let begun = self.now();
        let rate = self.from.min(after / 2.0).min(state.highest);
        // Long enough for a handful of visitors.
        let length = (self.step / 4).max(Duration::from_secs_f64(5.0 / rate));
        loop {
            let step = self.offer(rate, self.measure.warm_up(), length, state).await?;
            if !step.is_clear_miss() {
                return Ok(());
            }
            let waited = (self.now() - begun).as_secs();
            if waited >= self.recovery.as_secs() {
                let why = format!(
                    "after {after:.1} visitors/s the service did not recover: {waited} s later it \
                     still missed its objectives at {rate:.1}"
                );
                return Err(step.own_limit.map_or(End::Early(why), End::Own));
            }
        }
    }
}
