//! How far a search has gone, and why one ends before it is done.

use std::time::{Duration, Instant};

use super::step::Step;
use crate::own_limit::OwnLimit;
use crate::progress::Progress;

/// So many times as long is a load offered of which a step says too little.
pub const LONGER: u32 = 4;

/// How far the search has gone.
pub struct Watch {
    begun: Instant,
    progress: Progress,
    /// How long loads are offered until they are steady, as far as that is known.
    pub warm_up: Duration,
    /// The lowest load that is known to miss.
    pub missed: Option<f64>,
}

impl Watch {
    pub fn until(deadline: Instant, warm_up: Duration) -> Self {
        let begun = Instant::now();
        let left = deadline.saturating_duration_since(begun).as_millis();
        let progress = Progress::new("size", u64::try_from(left).unwrap_or(u64::MAX));
        Self { begun, progress, warm_up, missed: None }
    }

    pub fn tell(&self, step: &Step) {
        let passed = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.progress.at(passed, || step.line());
    }
}

/// Why a search ended before it was done.
pub enum End {
    /// Neither time nor wish for more.
    Early(String),
    /// This program was at its own limit.
    Own(OwnLimit),
    Failed(anyhow::Error),
}

impl From<anyhow::Error> for End {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}
