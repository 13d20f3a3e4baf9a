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

use super::walk::{Walk, until};
use super::{Measurement, Recorder};
use crate::client::{Connection, Route};
use crate::progress::Progress;
use crate::scenario::Scenario;
use crate::share::Share;

/// Between the last timeout and the end.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// How arrivals follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Arrivals {
    /// At equal distances
    #[default]
    Even,
    /// Independent of each other: exponential distances (a Poisson process)
    Poisson,
    /// All of an interval at once at its start, as a room with `pace = "batch"` admits them
    #[value(skip)]
    Batches(Duration),
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
    /// So long at the beginning they are not looked at.
    pub warm_up: Duration,
    /// So many visits under way at most; who comes then is not played, and counted as such.
    pub max_in_flight: usize,
    /// The part of the visitors that is played here.
    pub share: Share,
    /// Of each request. Visits that are under way at the end have as long to finish.
    pub timeout: Duration,
}

/// Plays it.
pub async fn run(
    scenario: &Arc<Scenario>,
    route: &Arc<Route>,
    open: &Open,
    cancelled: &CancellationToken,
) -> anyhow::Result<Measurement> {
    let progress = Progress::new("open load", u64::try_from(open.length.as_millis())?);
    let report = |recorder: &Recorder| {
        let elapsed = u64::try_from(recorder.elapsed().as_millis()).unwrap_or(u64::MAX);
        progress.at(elapsed, || recorder.line());
    };
    play(scenario, route, open, cancelled, report).await
}

/// As [`run`], with a progress display of the caller. When it is dropped, all visits end.
pub async fn play(
    scenario: &Arc<Scenario>,
    route: &Arc<Route>,
    open: &Open,
    cancelled: &CancellationToken,
    report: impl Fn(&Recorder),
) -> anyhow::Result<Measurement> {
    let steps = scenario.steps.len();
    let recorder = Arc::new(Recorder::new(steps, open.warm_up..open.length));
    let room = Arc::new(Semaphore::new(open.max_in_flight));
    let visits = TaskTracker::new();
    let over = CancellationToken::new();
    let _ends_when_dropped = over.clone().drop_guard();
    let end = recorder.started() + open.length;
    let mut user = 0_u32;
    let mut due = recorder.started() + open.first();
    while due < end {
        tokio::select! {
            () = until(due) => {}
            () = cancelled.cancelled() => break,
        }
        user += 1;
        match Arc::clone(&room).try_acquire_owned() {
            Ok(permit) => {
                let walk =
                    Walk::begin(scenario, &recorder, u64::from(open.share.number(user)), due);
                let connection = Connection::new(route);
                let (present, over) = (recorder.enter(), over.clone());
                let timeout = open.timeout;
                visits.spawn(async move {
                    let (_permit, _present) = (permit, present);
                    over.run_until_cancelled(visit(walk, connection, timeout)).await;
                });
            }
            Err(_) => recorder.visit_cannot_begin(),
        }
        report(&recorder);
        due = match open.arrivals {
            Arrivals::Even => recorder.started() + open.at(user),
            Arrivals::Poisson => due + open.by_chance(),
            Arrivals::Batches(interval) => {
                let batches = open.at(user).as_nanos() / interval.as_nanos().max(1);
                recorder.started() + interval * u32::try_from(batches)?
            }
        };
    }
    visits.close();
    tokio::select! {
        () = visits.wait() => {}
        // Who was due last has its time out, and it is written down.
        () = until(end + open.timeout + LAST_WORDS) => {}
        () = cancelled.cancelled() => {}
    }
    over.cancel();
    visits.wait().await;
    Ok(recorder.finish(cancelled.is_cancelled()))
}

async fn visit(mut walk: Walk, mut connection: Connection, timeout: Duration) {
    while let Some((turn, due)) = walk.turn() {
        until(due).await;
        let Some(call) = &turn.call else { continue };
        if walk.ask(&turn, call, due, &mut connection, timeout).await.is_some() {
            return;
        }
    }
}

impl Open {
    /// When the visitor of this share who has so many before comes, at equal distances.
    fn at(&self, before: u32) -> Duration {
        Duration::from_secs_f64(f64::from(self.share.number(before)) / self.rate)
    }

    /// A distance of the exponential distribution, by its inverse; 1 − u is never 0.
    fn by_chance(&self) -> Duration {
        let average = 1.0 / self.share.rate(self.rate);
        Duration::from_secs_f64(-(1.0 - rand::rng().random::<f64>()).ln() * average)
    }

    /// When the first visitor comes.
    fn first(&self) -> Duration {
        match self.arrivals {
            Arrivals::Even => self.at(0),
            Arrivals::Poisson if self.share != Share::WHOLE => self.by_chance(),
            _ => Duration::ZERO,
        }
    }
}
