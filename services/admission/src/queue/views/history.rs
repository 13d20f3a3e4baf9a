//! The last 15 minutes of a queue.

use anteroom_authorize::durations::{millis, moment};
use anteroom_authorize::queue::history::{STEP, Step};
use serde::Serialize;
use utoipa::ToSchema;

/// The last 15 minutes of a queue.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = History)]
pub struct HistoryView<'a> {
    /// The name of the queue.
    queue: &'a str,
    /// The length of a step in milliseconds.
    #[schema(example = 5_000)]
    step_ms: u64,
    /// The steps, oldest first. At most 180.
    points: Vec<PointView>,
}

/// A step.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = HistoryPoint)]
pub struct PointView {
    /// When this process first read the queue in this step, by its clock.
    #[schema(format = "date-time", required = true, example = "2027-01-15T11:00:00Z")]
    at: Option<String>,
    /// Waiting visitors at the end of the step, without inactive ones.
    depth: u64,
    /// Visitors who were called and have not entered yet, at the end of the step.
    ready: u64,
    /// Visitors who have entered, at the end of the step.
    active: u64,
    /// Visitors called since the step before. 0 in the first step.
    admitted: u64,
    /// Missed turns since the step before: called visitors who did not enter in time.
    missed: u64,
    /// The median wait of the visitors who were called, from the join to the call, in milliseconds.
    /// It is an estimate from a histogram with bounds from 1 s to 4.6 h, each √2 times the one
    /// before. Absent if no wait is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_p50_ms: Option<u64>,
    /// The 90th percentile of the same waits, in milliseconds. Absent if no wait is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_p90_ms: Option<u64>,
}

impl<'a> HistoryView<'a> {
    /// These steps of a queue.
    pub fn new(queue: &'a str, steps: Vec<Step>) -> Self {
        let points = steps.into_iter().map(PointView::from).collect();
        Self { queue, step_ms: millis(STEP), points }
    }
}

impl From<Step> for PointView {
    fn from(step: Step) -> Self {
        let quantile = |part| step.totals.wait_quantile(part).map(millis);
        Self {
            at: moment(step.at),
            depth: step.depth,
            ready: step.ready,
            active: step.active,
            admitted: step.totals.promoted(),
            missed: step.totals.missed,
            wait_p50_ms: quantile(0.5),
            wait_p90_ms: quantile(0.9),
        }
    }
}
