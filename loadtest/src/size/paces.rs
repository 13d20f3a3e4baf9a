//! The same average at two paces: what a batch let in at once costs, beside the stream of an even
//! pace.

use std::time::Duration;

use serde::Serialize;

use super::measure::{Load, Measure};
use super::search::Search;
use super::step::{Step, judge};
use crate::load::open::Arrivals;

/// Measurements of the batch pace at most, each at half the average of the one before.
const MOST: usize = 8;

/// Loads of the batch pace, from the average that an even pace holds downwards.
#[derive(Clone, Debug, Serialize)]
pub struct Paces {
    /// The interval of the batches, in seconds.
    pub interval_seconds: f64,
    /// Each with the average as its rate.
    pub batches: Vec<Step>,
}

impl Paces {
    /// The highest average that held, in visitors a second.
    pub fn held(&self) -> Option<f64> {
        self.batches.iter().filter(|step| step.held()).map(|step| step.rate).reduce(f64::max)
    }
}

/// Measures one batch after the other, until one holds.
pub async fn compare<M: Measure>(
    search: &Search<'_, M>,
    held: f64,
    interval: Duration,
    warm_up: Duration,
) -> anyhow::Result<Paces> {
    let mut paces = Paces { interval_seconds: interval.as_secs_f64(), batches: Vec::new() };
    let mut average = held;
    while paces.batches.len() < MOST && average * interval.as_secs_f64() >= 1.0 {
        let arrivals = Arrivals::Batches(interval);
        let load = Load { rate: average, arrivals, warm_up, length: interval };
        let measured = search.measure.at(&load).await?;
        // All of a batch come at the same time, so there is no growth to look at.
        let step = judge(average, interval.as_secs_f64(), &measured, search.objectives);
        let held = step.held();
        paces.batches.push(step);
        if held {
            break;
        }
        average /= 2.0;
    }
    Ok(paces)
}
