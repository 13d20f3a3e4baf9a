//! The closed model, which Goose runs: users who come again as soon as they are done.
//!
//! Goose starts and stops the users; each has a client, so a connection, of its own. A turn of the
//! scenario is one transaction, as Goose stops users between transactions.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use goose::client::GooseClientBuilder;
use goose::config::{GooseConfiguration, GooseDefault, GooseDefaultType};
use goose::goose::{
    GooseMethod, GooseRequest, GooseUser, Scenario as GooseScenario, Transaction, TransactionResult,
};
use goose::{GooseAttack, GooseError};
use hyper::Method;
use tokio_util::sync::CancellationToken;

use super::record::Present;
use super::walk::{Answer, Body, Walk, until};
use super::{Fault, Measurement, Recorder, Target};
use crate::progress::Progress;
use crate::scenario::{Call, Scenario};

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
    target: &Arc<Target>,
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
        target: Arc::clone(target),
        recorder: Arc::clone(&recorder),
        timeout: closed.timeout,
        over: CancellationToken::new(),
        stopped: CancellationToken::new(),
    };
    let (over, stopped) = (stage.over.clone(), stage.stopped.clone());
    let attack = attack(stage, target, &plan)?;
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
    target: Arc<Target>,
    recorder: Arc<Recorder>,
    timeout: Duration,
    /// Nobody asks any more.
    over: CancellationToken,
    /// Nobody waits for an answer any more.
    stopped: CancellationToken,
}

/// What a user has between turns; Goose wants a type that it could clone.
#[derive(Clone)]
struct Session {
    walk: Arc<Mutex<Option<Walk>>>,
    _present: Arc<Present>,
}

impl Session {
    fn walk(&self) -> MutexGuard<'_, Option<Walk>> {
        self.walk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn attack(stage: Stage, target: &Target, plan: &str) -> Result<GooseAttack, GooseError> {
    let stage = Arc::new(stage);
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
    configuration.no_print_metrics = true;
    configuration.no_error_summary = true;
    configuration.quiet = 1;
    // Replaced when the user begins; without it Goose would make one for each before the start.
    let unused = GooseClientBuilder::new().without_cookies();
    let attack = GooseAttack::initialize_with_config(configuration)?
        .set_client_builder_without_cookies(unused)?
        .register_scenario(scenario)
        .set_default(GooseDefault::Host, target.url.as_str())?
        .set_default(GooseDefault::TestPlan, plan)?;
    Ok(*attack)
}

type Running<'r> = Pin<Box<dyn Future<Output = TransactionResult> + Send + 'r>>;

fn transaction(
    function: impl for<'r> Fn(&'r mut GooseUser) -> Running<'r> + Send + Sync + 'static,
) -> Transaction {
    Transaction::new(Arc::new(function))
}

/// A new user, with a client of its own.
async fn begin(stage: Arc<Stage>, user: &mut GooseUser) -> TransactionResult {
    // Goose logs each request that failed as a warning; by now it has set its own level.
    log::set_max_level(log::LevelFilter::Error);
    let mut client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .timeout(stage.timeout)
        .pool_max_idle_per_host(1);
    if stage.target.url.scheme() == "http" {
        // The system's certificates are not needed, and reading them takes a user's worth of time.
        client = client.tls_certs_only([]);
    }
    user.set_client_builder(client).await.map_err(Box::new)?;
    let present = Arc::new(stage.recorder.enter());
    user.set_session_data(Session { walk: Arc::default(), _present: present });
    Ok(())
}

/// The next turn of the user's visit, or the first of a new one.
async fn turn(stage: Arc<Stage>, user: &mut GooseUser) -> TransactionResult {
    let number = user.weighted_users_index as u64 + 1;
    let Some(session) = user.get_session_data::<Session>().cloned() else { return Ok(()) };
    if stage.over.is_cancelled() {
        // Goose is about to stop this user; meanwhile it asks nothing.
        tokio::time::sleep(LEAVING).await;
        return Ok(());
    }
    let walk = session.walk().take();
    let mut walk = walk
        .unwrap_or_else(|| Walk::begin(&stage.scenario, &stage.recorder, number, Instant::now()));
    let Some((turn, due)) = walk.turn() else {
        // A visit without requests left would else never let others run.
        tokio::task::yield_now().await;
        return Ok(());
    };
    if stage.over.run_until_cancelled(until(due)).await.is_none() {
        return Ok(());
    }
    let mut goes_on = true;
    if let Some(call) = &turn.call {
        let started = Instant::now();
        let name = &stage.scenario.steps[turn.step].name;
        walk.asks(started);
        let answer = stage.stopped.run_until_cancelled(send(&stage.target, user, name, call));
        let Some(outcome) = answer.await else { return Ok(()) };
        let connected = !matches!(outcome, Err(Fault::Connect | Fault::Descriptors));
        goes_on = walk.ended(&turn, started, outcome);
        if !connected {
            stage.over.run_until_cancelled(tokio::time::sleep(NO_CONNECTION)).await;
        }
    }
    *session.walk() = goes_on.then_some(walk);
    Ok(())
}

async fn send(
    target: &Target,
    user: &mut GooseUser,
    name: &str,
    call: &Call,
) -> Result<Answer, Fault> {
    let builder = user
        .client
        .request(call.method.clone(), target.address(&call.target))
        .headers(call.headers.clone())
        .body(call.body.clone());
    let request = GooseRequest::builder()
        .method(method(&call.method))
        .name(name)
        .set_request_builder(builder)
        .build();
    let answer = user.request(request).await.map_err(|_| Fault::Broken)?.response;
    let fault = |error: reqwest::Error| {
        let otherwise = if error.is_timeout() {
            Fault::Timeout
        } else if error.is_connect() {
            Fault::Connect
        } else {
            Fault::Broken
        };
        Fault::of(&error, otherwise)
    };
    let mut answer = answer.map_err(fault)?;
    let (status, headers) = (answer.status(), std::mem::take(answer.headers_mut()));
    let mut body = Body::default();
    while let Some(piece) = answer.chunk().await.map_err(fault)? {
        body.add(&piece);
    }
    Ok(Answer { status, headers, body: body.into_bytes() })
}

fn method(method: &Method) -> GooseMethod {
    match method.as_str() {
        "POST" => GooseMethod::Post,
        "PUT" => GooseMethod::Put,
        "PATCH" => GooseMethod::Patch,
        "DELETE" => GooseMethod::Delete,
        "HEAD" => GooseMethod::Head,
        // A scenario has no other.
        _ => GooseMethod::Get,
    }
}
