//! The closed model, which Goose runs: users who come again as soon as they are done.
//!
//! Goose starts and stops the users. Each has a connection of its own. A turn of the scenario is
//! one transaction, as Goose stops users between transactions. Requests go through this program's
//! client, not through Goose's, so both models have the same faults and limits.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use goose::client::GooseClientBuilder;
use goose::config::{GooseConfiguration, GooseDefault, GooseDefaultType};
use goose::goose::{GooseUser, Scenario as GooseScenario, Transaction, TransactionResult};
use goose::{GooseAttack, GooseError};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::record::Present;
use super::walk::{Walk, until};
use super::{Measurement, Recorder};
use crate::client::{Connection, Fault, Route};
use crate::progress::Progress;
use crate::scenario::Scenario;

/// What is played: 1 → `users` in `ramp`, `hold` at `users`, then down to none in `down`.
#[derive(Clone, Debug)]
pub struct Closed {
    /// So many at most.
    pub users: usize,
    /// Whole seconds, at least one.
    pub ramp: Duration,
    /// Whole seconds, at least one.
    pub hold: Duration,
    /// Whole seconds, at least one.
    pub down: Duration,
    /// Of each request.
    pub timeout: Duration,
}

/// Plays it.
///
/// # Errors
///
/// What Goose says.
pub async fn run(
    scenario: &Arc<Scenario>,
    route: &Arc<Route>,
    closed: &Closed,
    cancelled: &CancellationToken,
) -> anyhow::Result<Measurement> {
    let Closed { users, ramp, hold, down, .. } = *closed;
    let length = ramp + hold + down;
    let recorder = Arc::new(Recorder::new(scenario.steps.len(), ramp..ramp + hold));
    let plan =
        format!("{users},{}s;{users},{}s;0,{}s", ramp.as_secs(), hold.as_secs(), down.as_secs());
    let stage = Stage {
        scenario: Arc::clone(scenario),
        route: Arc::clone(route),
        recorder: Arc::clone(&recorder),
        timeout: closed.timeout,
        over: CancellationToken::new(),
        stopped: CancellationToken::new(),
    };
    let (over, stopped) = (stage.over.clone(), stage.stopped.clone());
    let attack = attack(stage, &plan)?;
    let goose = tokio::spawn(async move { attack.execute().await.map_err(Box::new) });
    let progress = Progress::new("closed load", u64::try_from(length.as_millis())?);
    let mut told = tokio::time::interval(Duration::from_millis(200));
    while !goose.is_finished() {
        told.tick().await;
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
    Ok(recorder.finish(goose::is_killswitch_triggered()))
}

/// How often a user whose time is over looks whether it is stopped.
const LEAVING: Duration = Duration::from_millis(50);

/// Who finds no connection comes again after that: else many users without one would ask as fast as
/// this machine can fail.
const NO_CONNECTION: Duration = Duration::from_millis(200);

/// What the users share.
struct Stage {
    scenario: Arc<Scenario>,
    route: Arc<Route>,
    recorder: Arc<Recorder>,
    timeout: Duration,
    /// Users ask nothing any more.
    over: CancellationToken,
    /// Users do not wait for answers any more.
    stopped: CancellationToken,
}

/// What a user keeps between turns.
struct Session {
    walk: Option<Walk>,
    connection: Connection,
    _present: Present,
}

fn attack(stage: Stage, plan: &str) -> Result<GooseAttack, GooseError> {
    let stage = Arc::new(stage);
    let host = stage.route.target.url.to_string();
    let begin = {
        let stage = Arc::clone(&stage);
        transaction(move |user| Box::pin(begin(Arc::clone(&stage), user)))
    };
    let turn = transaction(move |user| Box::pin(turn(Arc::clone(&stage), user)));
    let scenario = GooseScenario::new("visit")
        .register_transaction(begin.set_on_start())
        .register_transaction(turn);
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
        .set_default(GooseDefault::TestPlan, plan)?;
    Ok(*attack)
}

type Running<'r> = Pin<Box<dyn Future<Output = TransactionResult> + Send + 'r>>;

fn transaction(
    function: impl for<'r> Fn(&'r mut GooseUser) -> Running<'r> + Send + Sync + 'static,
) -> Transaction {
    Transaction::new(Arc::new(function))
}

/// A new user, with a connection of its own.
async fn begin(stage: Arc<Stage>, user: &mut GooseUser) -> TransactionResult {
    let session = Session {
        walk: None,
        connection: Connection::new(&stage.route),
        _present: stage.recorder.enter(),
    };
    user.set_session_data(Arc::new(Mutex::new(session)));
    Ok(())
}

/// The next turn of the user's visit, or the first of a new one.
async fn turn(stage: Arc<Stage>, user: &mut GooseUser) -> TransactionResult {
    let number = user.weighted_users_index as u64 + 1;
    let Some(session) = user.get_session_data::<Arc<Mutex<Session>>>() else { return Ok(()) };
    if stage.over.is_cancelled() {
        // Goose is about to stop this user; meanwhile it asks nothing.
        tokio::time::sleep(LEAVING).await;
        return Ok(());
    }
    // Goose runs one transaction of a user at a time.
    let mut session = session.lock().await;
    let begin = || Walk::begin(&stage.scenario, &stage.recorder, number, Instant::now());
    let mut walk = session.walk.take().unwrap_or_else(begin);
    let Some((turn, due)) = walk.turn() else {
        // A visit without requests left would else never let others run.
        tokio::task::yield_now().await;
        return Ok(());
    };
    if stage.over.run_until_cancelled(until(due)).await.is_none() {
        return Ok(());
    }
    if let Some(call) = &turn.call {
        let asked = walk.ask(&turn, call, Instant::now(), &mut session.connection, stage.timeout);
        let Some(fault) = stage.stopped.run_until_cancelled(asked).await else { return Ok(()) };
        if fault.is_some_and(|fault| fault == Fault::Connect || fault.is_own()) {
            stage.over.run_until_cancelled(tokio::time::sleep(NO_CONNECTION)).await;
        }
        if fault.is_some() {
            return Ok(());
        }
    }
    session.walk = Some(walk);
    Ok(())
}
