//! The open model: visitors arrive at a rate, whatever the service does.
//!
//! A visitor who should arrive at *t* is counted from *t* on, also when this program or the
//! connection is late, so a service that stalls is seen to let people wait (no coordinated
//! omission). Each has a connection of its own, which ends with the visit.

use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use rand::Rng as _;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection::Connection;
use super::walk::{Walk, until};
use super::{Measurement, Recorder, Target};
use crate::progress::Progress;
use crate::scenario::Scenario;

/// How arrivals follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Arrivals {
    /// At equal distances
    #[default]
    Even,
    /// Independent of each other: exponential distances (a Poisson process)
    Poisson,
}

/// What is played.
#[derive(Clone, Debug)]
pub struct Open {
    /// Visitors a second.
    pub rate: f64,
    /// How they follow each other.
    pub arrivals: Arrivals,
    /// How long they come.
    pub length: Duration,
    /// So many visits under way at most; who comes then is not played, and counted as such.
    pub max_in_flight: usize,
    /// Of each request; whoever is under way at the end is given as long to finish.
    pub timeout: Duration,
}

/// Plays it.
///
/// # Errors
///
/// When the target leads nowhere.
pub async fn run(
    scenario: &Arc<Scenario>,
    target: &Arc<Target>,
    open: &Open,
    cancelled: &CancellationToken,
) -> anyhow::Result<Measurement> {
    let address = target.resolve().await?;
    let steps = scenario.steps.len();
    let recorder = Arc::new(Recorder::new(steps, Duration::ZERO..open.length));
    let progress = Progress::new("open load", u64::try_from(open.length.as_millis())?);
    let room = Arc::new(Semaphore::new(open.max_in_flight));
    let visits = TaskTracker::new();
    let over = CancellationToken::new();
    let end = recorder.started() + open.length;
    let mut due = recorder.started();
    let mut user = 0;
    while due < end {
        tokio::select! {
            () = until(due) => {}
            () = cancelled.cancelled() => break,
        }
        user += 1;
        match Arc::clone(&room).try_acquire_owned() {
            Ok(permit) => {
                let walk = Walk::begin(scenario, &recorder, user, due);
                let connection = Connection::new(target, address, open.timeout);
                let (present, over) = (recorder.enter(), over.clone());
                visits.spawn(async move {
                    let (_permit, _present) = (permit, present);
                    over.run_until_cancelled(visit(walk, connection)).await;
                });
            }
            Err(_) => recorder.visit_cannot_begin(),
        }
        let elapsed = recorder.started().elapsed().as_millis();
        progress.at(u64::try_from(elapsed)?, || recorder.line());
        due += Duration::from_secs_f64(open.arrivals.gap() / open.rate);
    }
    visits.close();
    tokio::select! {
        () = visits.wait() => {}
        () = tokio::time::sleep(open.timeout) => {}
        () = cancelled.cancelled() => {}
    }
    over.cancel();
    visits.wait().await;
    Ok(recorder.finish(cancelled.is_cancelled()))
}

async fn visit(mut walk: Walk, mut connection: Connection) {
    while let Some((turn, due)) = walk.turn() {
        until(due).await;
        if let Some(call) = &turn.call {
            let outcome = connection.send(call).await;
            if !walk.ended(&turn, due, outcome) {
                return;
            }
        }
    }
}

impl Arrivals {
    /// The distance to the next arrival, 1 on average.
    fn gap(self) -> f64 {
        match self {
            Self::Even => 1.0,
            // Inverse of the exponential distribution; 1 − u is never 0.
            Self::Poisson => -(1.0 - rand::rng().random::<f64>()).ln(),
        }
    }
}
