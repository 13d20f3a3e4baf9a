//! The choke point: every call to the store passes here, under its operation's name.

use std::{
    sync::Arc,
    time::{Duration, Instant as Clock},
};

use prometheus::Registry;
use redis::{Cmd, Value};
use tokio::{
    sync::{SetOnce, oneshot},
    time::{Instant, sleep, timeout_at},
};
use tracing::Instrument as _;

use super::{
    Args, Config, ConfigError, Error, Mode, Refused, Script, Subscription,
    client::Addresses,
    fault::{Fault, judge},
    metrics::{Metrics, Operation},
    supervisor::{self, Live, Shared},
};

/// The first pause before a command that was not executed is sent again, and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(100));

/// What to do about a call whose effect is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// The operation is idempotent: send it once more, with the same arguments, inside the
    /// request's budget.
    IfUnknown,
    /// Leave it: a second execution would count twice.
    Never,
}

/// The store. A clone is another handle on the same connection.
#[derive(Clone)]
pub struct Store(Arc<StoreInner>);

struct StoreInner {
    config: Config,
    addresses: Arc<Addresses>,
    shared: Arc<Shared>,
    metrics: Metrics,
    has_run: SetOnce<()>,
    /// Dropped with the last handle; the supervisor hears it and ends.
    _stop: oneshot::Sender<()>,
}

impl Store {
    /// Starts the task that keeps the connection, and returns without waiting for it.
    ///
    /// The metrics of `scripts` go to `registry`. An address that cannot be understood is refused.
    /// Must be called inside a Tokio runtime.
    pub fn open(
        config: &Config,
        scripts: &[&'static Script],
        registry: &Registry,
    ) -> Result<Self, ConfigError> {
        let addresses = Arc::new(Addresses::new(config)?);
        let metrics =
            Metrics::new(scripts, registry).expect("names and labels are valid constants");
        let shared = Arc::new(Shared::new());
        let (stop, stopped) = oneshot::channel();
        tokio::spawn(supervisor::keep(shared.clone(), config.clone(), addresses.clone(), stopped));
        let has_run = SetOnce::new();
        Ok(Self(Arc::new(StoreInner {
            config: config.clone(),
            addresses,
            shared,
            metrics,
            has_run,
            _stop: stop,
        })))
    }

    /// Whether a verified connection is in place.
    pub fn is_up(&self) -> bool {
        self.0.shared.is_live()
    }

    /// How many connections there have been: after a new one the store may have older data.
    pub fn connections(&self) -> u64 {
        self.0.shared.connections()
    }

    /// Waits until the store has run a script for this process.
    pub async fn until_run(&self) {
        self.0.has_run.wait().await;
    }

    /// Waits until a verified connection is in place.
    pub async fn until_up(&self) {
        self.0.shared.until_live().await;
    }

    /// Waits until a verified connection is in place; false when it took longer than `within`.
    pub async fn wait_up(&self, within: Duration) -> bool {
        self.0.shared.live_by(Instant::now() + within).await.is_some()
    }

    /// Waits until the first server that answers turns out to refuse for good, and says what is
    /// missing. Once a connection was in place it waits for ever: a service that has begun goes on,
    /// and waits for the permission to come back.
    pub async fn refused_at_start(&self) -> Refused {
        Refused(self.0.shared.forbidden_at_start().await)
    }

    /// What the server forbids this process for good; `None` while a connection is in place.
    pub fn forbidden(&self) -> Option<Refused> {
        match self.0.shared.error() {
            Error::Forbidden(missing) if !self.is_up() => Some(Refused(missing)),
            _ => None,
        }
    }

    /// Listens to this channel, on a connection of its own, until the subscription is dropped. Must
    /// be called inside a Tokio runtime.
    pub fn subscribe(&self, channel: impl Into<String>) -> Subscription {
        let StoreInner { config, shared, addresses, .. } = &*self.0;
        Subscription::start(config.clone(), shared.clone(), addresses.clone(), channel.into())
    }

    /// Runs `script` once and returns its reply, within the request's budget.
    ///
    /// Without a connection it fails at once. `keys` share one hash tag.
    pub async fn call(
        &self,
        script: &'static Script,
        keys: &Args,
        args: &Args,
        repeat: Repeat,
    ) -> Result<Value, Error> {
        let operation = self.operation(script);
        let deadline = Instant::now() + self.0.config.request_timeout;
        let result = self.call_by(script, &operation, keys, args, repeat, deadline).await;
        self.ended(&operation, result.as_ref().err(), 1);
        result
    }

    /// [`call`](Self::call) with a deadline of the caller's, who also counts the outcome.
    pub(super) async fn call_by(
        &self,
        script: &'static Script,
        operation: &Operation,
        keys: &Args,
        args: &Args,
        repeat: Repeat,
        deadline: Instant,
    ) -> Result<Value, Error> {
        let begun = Clock::now();
        let call = Call { script, keys, args, repeat, deadline };
        // Exporters show a span under its `otel.name`: a span's own name must be a constant.
        let span = tracing::debug_span!("store call", otel.name = script.name);
        let result = call.run(&self.0.shared, self.0.config.command_timeout).instrument(span).await;
        let took = begun.elapsed();
        // Read first: writing a shared line in every call would cost more.
        if result.is_ok() && !self.0.has_run.initialized() {
            // An error means that another call was first.
            let _ = self.0.has_run.set(());
        }
        operation.called(took);
        let outcome = result.as_ref().err().map_or("ok", Error::kind);
        tracing::debug!(operation = script.name, outcome, ?took, "store call");
        result
    }

    pub(super) fn operation(&self, script: &'static Script) -> Arc<Operation> {
        self.0.metrics.operation(script)
    }

    pub(super) fn ended(&self, operation: &Operation, error: Option<&Error>, items: usize) {
        self.0.metrics.ended(operation, error, items);
    }

    /// Whether all keys of a call must lie in one slot, as far as is known.
    pub(super) fn has_slots(&self) -> bool {
        matches!(self.0.config.mode, Mode::Cluster)
            || self.0.shared.live().is_some_and(|live| live.has_slots)
    }

    /// What a request may take in all.
    pub(crate) fn request_timeout(&self) -> Duration {
        self.0.config.request_timeout
    }

    pub(super) fn config(&self) -> &Config {
        &self.0.config
    }

    pub(super) fn live(&self) -> Result<Arc<Live>, Error> {
        let shared = &self.0.shared;
        shared.live().ok_or_else(|| shared.error())
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("up", &self.is_up()).finish_non_exhaustive()
    }
}

/// One call under way.
struct Call<'a> {
    script: &'static Script,
    keys: &'a Args,
    args: &'a Args,
    repeat: Repeat,
    deadline: Instant,
}

impl Call<'_> {
    /// Sends until there is an answer, or no use or no time to send again.
    async fn run(&self, shared: &Shared, command_timeout: Duration) -> Result<Value, Error> {
        let Some(mut live) = shared.live() else {
            return Err(shared.error());
        };
        let mut command = self.command(false);
        let mut with_source = false;
        let mut redirect = None;
        // Why an earlier sending may have been executed. From then on no failure is harmless.
        let mut unknown: Option<String> = None;
        let mut pause = PAUSE.0;
        loop {
            match self.send(&live, &command, redirect.take(), command_timeout).await {
                Ok(reply) => return Ok(reply),
                Err(Fault::NoScript) if !with_source => {
                    // EVAL runs the script and keeps it, in one round trip.
                    command = self.command(true);
                    with_source = true;
                    continue;
                }
                Err(Fault::Redirect { host, port }) => {
                    redirect = Some((host, port));
                    continue;
                }
                Err(Fault::Mistake(detail)) => {
                    return Err(Error::Reply { operation: self.script.name, detail });
                }
                Err(Fault::Refused(reason)) => {
                    return Err(self.failed(unknown, Error::Unavailable(reason)));
                }
                Err(Fault::Forbidden(reason)) => {
                    return Err(self.failed(unknown, Error::Forbidden(reason)));
                }
                Err(Fault::Full) => return Err(self.failed(unknown, Error::Full)),
                Err(Fault::Broken(reason)) => {
                    if self.repeat == Repeat::Never || unknown.is_some() {
                        return Err(Error::Unknown(reason));
                    }
                    unknown = Some(reason);
                }
                Err(Fault::NoScript) => {
                    return Err(self.failed(unknown, unavailable("the server forgets scripts")));
                }
                Err(Fault::Again(reason) | Fault::Wrong(reason)) => {
                    if Instant::now() + pause >= self.deadline {
                        return Err(self.failed(unknown, Error::Unavailable(reason)));
                    }
                    sleep(pause).await;
                    pause = (pause * 2).min(PAUSE.1);
                }
            }
            live = match shared.live_by(self.deadline).await {
                Some(live) if Instant::now() < self.deadline => live,
                Some(_) => return Err(self.failed(unknown, unavailable("no time to send again"))),
                None => return Err(self.failed(unknown, shared.error())),
            };
        }
    }

    /// Sends once and reports the outcome to the connection.
    async fn send(
        &self,
        live: &Live,
        command: &Cmd,
        redirect: Option<(String, u16)>,
        command_timeout: Duration,
    ) -> Result<Value, Fault> {
        let begun = Instant::now();
        let full = begun + command_timeout;
        let sent = timeout_at(full.min(self.deadline), async {
            match &redirect {
                None => live.link.send(command).await,
                Some((host, port)) => live.link.send_asking(command, (host, *port)).await,
            }
        });
        match sent.await {
            Ok(Ok(reply)) => {
                live.answered();
                Ok(reply)
            }
            Ok(Err(error)) => {
                let cluster = live.link.is_cluster();
                let fault = match judge(&error, cluster) {
                    // Two nodes that do not agree yet would send the call back and forth.
                    Fault::Redirect { .. } if redirect.is_some() => Fault::Again(error.to_string()),
                    fault => fault,
                };
                match &fault {
                    // A cluster is more than the one node that failed.
                    Fault::Broken(_) if cluster => live.timed_out(begun),
                    Fault::Broken(reason) | Fault::Wrong(reason) => live.lose(reason),
                    Fault::Forbidden(reason) => live.forbidden(self.script.name, reason),
                    // A command in the middle of a script may be what is forbidden.
                    Fault::Mistake(_) => live.suspect_permissions(),
                    _ => live.answered(),
                }
                Err(fault)
            }
            Err(_) => {
                // A command that had less than its budget says little about the link.
                if full <= self.deadline {
                    live.timed_out(begun);
                }
                Err(Fault::Broken("no answer in time".to_owned()))
            }
        }
    }

    /// The command: by the script's hash, or with its source.
    fn command(&self, with_source: bool) -> Cmd {
        let (name, script) = if with_source {
            ("EVAL", self.script.source())
        } else {
            ("EVALSHA", self.script.sha())
        };
        let mut command = Cmd::with_capacity(
            3 + self.keys.len() + self.args.len(),
            16 + script.len() + self.keys.bytes() + self.args.bytes(),
        );
        command.arg(name).arg(script).arg(self.keys.len());
        for arg in self.keys.iter().chain(self.args.iter()) {
            command.arg(arg);
        }
        command
    }

    /// The error when nothing more can be sent: harmless only if no earlier sending was unknown.
    fn failed(&self, unknown: Option<String>, error: Error) -> Error {
        unknown.map_or(error, Error::Unknown)
    }
}

fn unavailable(reason: &str) -> Error {
    Error::Unavailable(reason.to_owned())
}
