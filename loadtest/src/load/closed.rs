//! The closed model, which Goose runs: users who come again as soon as they are done.
//!
//! Goose starts and stops the users. Each user has a connection of its own.
//! Requests go through this program's client, not through Goose's, so both models have the same
//! faults and limits. A Goose user takes 20 KiB, so one plays several users of a large load.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use goose::client::GooseClientBuilder;
use goose::config::{GooseConfiguration, GooseDefault, GooseDefaultType};
use goose::goose::{GooseUser, Scenario as GooseScenario, Transaction, TransactionResult};
use goose::{GooseAttack, GooseError};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::walk::{self, Walk};
use super::{Measurement, Recorder};
use crate::client::{Connection, Fault, Route};
use crate::progress::Progress;
use crate::scenario::Scenario;
use crate::share::Share;

/// What is played: 1 → `users` in `ramp`, `hold` at `users`, then down to none in `down`.
#[derive(Clone, Copy, Debug)]
pub struct Closed {
    /// So many at most.
    pub users: usize,
    /// Whole seconds, at least one.
    pub ramp: Duration,
    /// Whole seconds, at least one.
    pub hold: Duration,
    /// Whole seconds, at least one.
    pub down: Duration,
    /// The part of the users that is played here; `users` are those of the part.
    pub share: Share,
    /// Of each request.
    pub timeout: Duration,
}

/// Plays it.
pub async fn run(
    scenario: &Arc<Scenario>,
    route: &Arc<Route>,
    closed: &Closed,
    cancelled: &CancellationToken,
) -> anyhow::Result<Measurement> {
    let Closed { users, ramp, hold, down, .. } = *closed;
    let length = ramp + hold + down;
    let recorder = Arc::new(Recorder::new(scenario.steps.len(), ramp..ramp + hold));
    let stage = Stage {
        closed: *closed,
        groups: users.min(GROUPS),
        playing: TaskTracker::new(),
        scenario: Arc::clone(scenario),
        route: Arc::clone(route),
        recorder: Arc::clone(&recorder),
        over: CancellationToken::new(),
        stopped: CancellationToken::new(),
    };
    let (over, stopped) = (stage.over.clone(), stage.stopped.clone());
    let playing = stage.playing.clone();
    let attack = attack(stage)?;
    let goose = tokio::spawn(async move { attack.execute().await.map_err(Box::new) });
    let progress = Progress::new("closed load", u64::try_from(length.as_millis())?);
    let mut reports = tokio::time::interval(Duration::from_millis(200));
    while !goose.is_finished() {
        reports.tick().await;
        let elapsed = recorder.elapsed();
        progress.at(u64::try_from(elapsed.as_millis())?, || recorder.line());
        if cancelled.is_cancelled() {
            goose::trigger_killswitch("interrupted");
        }
        // Who still thinks is not waited for, and after an interrupt no answer either.
        if elapsed > length {
            over.cancel();
        }
        if goose::is_killswitch_triggered() {
            over.cancel();
            stopped.cancel();
        }
    }
    goose.await?.map_err(|error: Box<GooseError>| *error)?;
    playing.close();
    playing.wait().await;
    Ok(recorder.finish(goose::is_killswitch_triggered()))
}

/// Goose users at most: steps of 0.5 % of the users.
const GROUPS: usize = 200;
/// How often a Goose user checks whether it is stopped.
const STOPPED: Duration = Duration::from_millis(100);

/// Who finds no connection comes again after that: else many users without one would ask as fast as
/// this machine can fail.
const NO_CONNECTION: Duration = Duration::from_millis(200);

/// What the users share.
struct Stage {
    closed: Closed,
    groups: usize,
    playing: TaskTracker,
    scenario: Arc<Scenario>,
    route: Arc<Route>,
    recorder: Arc<Recorder>,
    /// Users ask nothing any more.
    over: CancellationToken,
    /// Users do not wait for answers any more.
    stopped: CancellationToken,
}

fn attack(stage: Stage) -> Result<GooseAttack, GooseError> {
    let (groups, Closed { ramp, hold, down, .. }) = (stage.groups, stage.closed);
    let stage = Arc::new(stage);
    let host = stage.route.target.url.to_string();
    let begin = transaction(move |user| Box::pin(begin(Arc::clone(&stage), user)));
    // Goose stops users between transactions.
    let stay = transaction(|_| {
        Box::pin(async {
            tokio::time::sleep(STOPPED).await;
            Ok(())
        })
    });
    let scenario = GooseScenario::new("visit")
        .register_transaction(begin.set_on_start())
        .register_transaction(stay);
    // Nothing of Goose's own is read from this program's command line, written or listened on.
    let mut configuration = GooseConfiguration::default();
    configuration.no_telnet = true;
    configuration.no_metrics = true;
    configuration.no_print_metrics = true;
    configuration.no_error_summary = true;
    configuration.quiet = 1;
    // Not used. Without it Goose would make one for each user.
    let unused = GooseClientBuilder::new().without_cookies();
    let attack = GooseAttack::initialize_with_config(configuration)?
        .set_client_builder_without_cookies(unused)?
        .register_scenario(scenario)
        .set_default(GooseDefault::Host, host.as_str())?
        .set_default(GooseDefault::Users, groups)?;
    // A test plan would do the same, and print a line to standard output.
    let seconds = |time: Duration| usize::try_from(time.as_secs()).unwrap_or(usize::MAX);
    Ok(*if groups < 2 {
        // Goose takes no time to start and to stop one user.
        attack.set_default(GooseDefault::RunTime, seconds(ramp + hold + down))?
    } else {
        attack
            .set_default(GooseDefault::IncreaseTime, seconds(ramp))?
            .set_default(GooseDefault::RunTime, seconds(hold))?
            .set_default(GooseDefault::DecreaseTime, seconds(down))?
    })
}

type Running<'r> = Pin<Box<dyn Future<Output = TransactionResult> + Send + 'r>>;

fn transaction(
    function: impl for<'r> Fn(&'r mut GooseUser) -> Running<'r> + Send + Sync + 'static,
) -> Transaction {
    Transaction::new(Arc::new(function))
}

/// The users of a new Goose user begin. They end with it.
async fn begin(stage: Arc<Stage>, group: &mut GooseUser) -> TransactionResult {
    let stopped = CancellationToken::new();
    for number in (group.weighted_users_index..stage.closed.users).step_by(stage.groups) {
        stage.playing.spawn(user(Arc::clone(&stage), number, stopped.clone()));
    }
    group.set_session_data(Arc::new(stopped.drop_guard()));
    Ok(())
}

/// A user: one visit after the other.
async fn user(stage: Arc<Stage>, number: usize, left: CancellationToken) {
    let _present = stage.recorder.enter();
    let number = stage.closed.share.number(u32::try_from(number).unwrap_or(u32::MAX));
    let mut connection = Connection::new(&stage.route);
    // A user who leaves, and all at the end, do not wait out their thoughts.
    let waits = async |until: Instant| {
        let waited = left.run_until_cancelled(walk::until(until));
        stage.over.run_until_cancelled(waited).await.flatten().is_some()
    };
    let begin =
        || Walk::begin(&stage.scenario, &stage.recorder, u64::from(number) + 1, Instant::now());
    let mut walk = begin();
    while !left.is_cancelled() && !stage.over.is_cancelled() {
        let Some((turn, due)) = walk.turn() else {
            // A visit without requests left would else never let others run.
            tokio::task::yield_now().await;
            walk = begin();
            continue;
        };
        if !waits(due).await {
            return;
        }
        let Some(call) = &turn.call else { continue };
        let answered = walk.ask(&turn, call, Instant::now(), &mut connection, stage.closed.timeout);
        match stage.stopped.run_until_cancelled(answered).await {
            None => return,
            Some(None) => {}
            Some(Some(fault)) => {
                if fault == Fault::Connect || fault.is_own() {
                    waits(Instant::now() + NO_CONNECTION).await;
                }
                walk = begin();
            }
        }
    }
}
