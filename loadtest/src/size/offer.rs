//! One load of the search: whether it holds, and whether the service is calm again after it.

use std::time::{Duration, Instant};

use super::measure::{Load, Measure};
use super::search::{Found, Search};
use super::step::{Step, judge};
use super::watch::{End, LONGER, Watch};
use crate::load::open::Arrivals;

/// A load that missed so often is one that is not held.
const MISSES: usize = 2;
/// Measurements of one load in which this program itself may be late.
const ATTEMPTS: usize = 6;

impl<M: Measure> Search<'_, M> {
    /// Whether a load holds. A miss is measured once more, as the machine may have had a hiccup,
    /// unless the load is at or above one that missed twice; what may be chance is no miss yet, but
    /// offered longer. What this program was too late for is offered again, a few times.
    pub(super) async fn holds(
        &self,
        rate: f64,
        found: &mut Found,
        watch: &mut Watch,
    ) -> Result<bool, End> {
        let known = watch.missed.is_some_and(|missed| rate >= missed);
        let (mut misses, mut own_limit) = (usize::from(known), None);
        let mut length = self.step;
        for _ in 0..ATTEMPTS {
            let step = self.steady(rate, length, watch).await?;
            own_limit = step.own_limit();
            let (held, counts) = (step.held(), own_limit.is_none());
            let unsure = length == self.step && step.may_be_chance();
            if counts {
                found.steps.push(step);
                misses += usize::from(!held && !unsure);
            }
            if counts && unsure {
                length *= LONGER;
                continue;
            }
            if !held {
                self.calm(rate, watch).await?;
            }
            if misses == MISSES {
                watch.missed = Some(watch.missed.map_or(rate, |missed| missed.min(rate)));
                return Ok(false);
            }
            if counts && held {
                watch.missed = watch.missed.filter(|_| !known);
                return Ok(true);
            }
        }
        let unsure = || End::Early(format!("{rate:.1} visitors/s is neither held nor missed"));
        Err(own_limit.map_or_else(unsure, End::Own))
    }

    /// Offers a load; again, with a longer warm-up, where it only held because fewer were there
    /// than will be.
    pub(super) async fn steady(
        &self,
        rate: f64,
        length: Duration,
        watch: &mut Watch,
    ) -> Result<Step, End> {
        loop {
            let warm_up = watch.warm_up;
            let arrivals = Arrivals::Even;
            let step = self.offer(&Load { rate, arrivals, warm_up, length }, watch).await?;
            if !step.held() || step.steady_after <= warm_up {
                return Ok(step);
            }
            watch.warm_up = step.steady_after;
        }
    }

    /// Offers a load once.
    async fn offer(&self, load: &Load, watch: &Watch) -> Result<Step, End> {
        let over = || {
            let wait = load.warm_up.as_secs_f64();
            let warm_up = if load.warm_up.is_zero() {
                String::new()
            } else {
                format!("; a load takes {wait:.1} s to be steady, as visitors think: --within")
            };
            End::Early(format!("the time for the search was over{warm_up}"))
        };
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left < load.warm_up.saturating_add(load.length) {
            return Err(over());
        }
        // Whoever still waits for an answer then does so in vain.
        let at = tokio::time::timeout(left, self.measure.at(load));
        let measured = tokio::select! {
            biased;
            () = self.cancelled.cancelled() => return Err(End::Early("ended early".to_owned())),
            measured = at => measured.map_err(|_| over())??,
        };
        let step = judge(load.rate, &measured, self.objectives);
        watch.tell(&step);
        Ok(step)
    }

    /// Waits until the lowest load holds again, as it did before: a service that collapsed would
    /// fail every load that comes next.
    pub(super) async fn calm(&self, after: f64, watch: &Watch) -> Result<(), End> {
        let (begun, rate) = (Instant::now(), self.from.min(after / 2.0));
        // Long enough for a handful of visitors.
        let length = (self.step / 4).max(Duration::from_secs_f64(5.0 / rate));
        let warm_up = self.measure.warm_up();
        let load = Load { rate, arrivals: Arrivals::Even, warm_up, length };
        loop {
            let step = self.offer(&load, watch).await?;
            if step.held() || step.may_be_chance() {
                return Ok(());
            }
            if begun.elapsed() >= self.recovery {
                if let Some(limit) = step.own_limit() {
                    return Err(End::Own(limit));
                }
                break;
            }
        }
        let waited = begun.elapsed().as_secs();
        Err(End::Early(format!(
            "after {after:.1} visitors/s the service did not recover: {waited} s later it still \
             missed its objectives at {rate:.1}"
        )))
    }
}
