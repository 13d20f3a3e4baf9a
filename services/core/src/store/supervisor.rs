//! Who keeps the connection: one task connects, verifies, publishes, watches and begins again.
//!
//! Callers only look: when nothing is published they fail at once, and that is the breaker.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwapOption;
use redis::{Cmd, RedisError, Value};
use tokio::{
    sync::{oneshot, watch},
    time::{Instant, sleep, timeout, timeout_at},
};

use super::{
    Script,
    client::{Link, Target},
    config::Config,
    fault::{Fault, judge},
    pulse::Pulse,
};

/// The first pause between two attempts to connect, and the longest.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// How often a connection is probed.
const PROBE_EVERY: Duration = Duration::from_secs(1);
/// So many time-outs in a row say that the link is dead although it looks open.
const TIMEOUTS_IN_A_ROW: u32 = 3;

/// A verified connection.
pub(super) struct Live {
    pub(super) link: Link,
    pulse: Arc<Pulse>,
    timeouts: AtomicU32,
    last_timeout: Mutex<Instant>,
}

impl Live {
    /// The server answered.
    pub(super) fn answered(&self) {
        // Read first: writing a shared line in every call would cost more.
        if self.timeouts.load(Ordering::Relaxed) != 0 {
            self.timeouts.store(0, Ordering::Relaxed);
        }
    }

    /// The server did not answer a command, sent then, within its whole budget.
    ///
    /// Commands that were under way together time out together and count once: a server that
    /// halts for a moment is not a dead link.
    pub(super) fn timed_out(&self, sent: Instant) {
        let mut last = self.last_timeout.lock().unwrap_or_else(PoisonError::into_inner);
        if sent < *last {
            return;
        }
        *last = Instant::now();
        let in_a_row = self.timeouts.fetch_add(1, Ordering::Relaxed) + 1;
        if in_a_row >= TIMEOUTS_IN_A_ROW {
            self.pulse.lose(format!("{in_a_row} time-outs in a row"));
        }
    }

    /// The connection is of no more use.
    pub(super) fn lose(&self, reason: &str) {
        self.pulse.lose(reason);
    }
}

/// What callers and the supervisor share.
pub(super) struct Shared {
    live: ArcSwapOption<Live>,
    /// Why nothing is published; empty while something is.
    down: watch::Sender<String>,
}

impl Shared {
    pub(super) fn new() -> Self {
        Self {
            live: ArcSwapOption::empty(),
            down: watch::Sender::new("not connected yet".to_owned()),
        }
    }

    /// The connection to use now, if there is one.
    pub(super) fn live(&self) -> Option<Arc<Live>> {
        self.live.load_full().filter(|live| live.pulse.lost().is_none())
    }

    /// Why there is none.
    pub(super) fn reason(&self) -> String {
        match self.live.load().as_ref().and_then(|live| live.pulse.lost()) {
            Some(reason) => reason.to_owned(),
            None => self.down.borrow().clone(),
        }
    }

    /// Waits for a connection until `deadline`.
    pub(super) async fn live_by(&self, deadline: Instant) -> Option<Arc<Live>> {
        let mut down = self.down.subscribe();
        let found = timeout_at(deadline, async {
            loop {
                down.mark_unchanged();
                if let Some(live) = self.live() {
                    return Some(live);
                }
                down.changed().await.ok()?;
            }
        });
        found.await.ok().flatten()
    }

    fn publish(&self, live: Arc<Live>) {
        self.live.store(Some(live));
        self.down.send_replace(String::new());
    }

    fn withdraw(&self, reason: &str) {
        self.live.store(None);
        self.down.send_replace(reason.to_owned());
    }
}

/// Keeps a connection until `stop` is dropped.
pub(super) async fn keep(
    shared: Arc<Shared>,
    config: Config,
    target: Target,
    scripts: Vec<&'static Script>,
    stop: oneshot::Receiver<()>,
) {
    let work = async {
        let mut pause = BACK_OFF.0;
        loop {
            match open(&config, &target, &scripts).await {
                Ok(live) => {
                    pause = BACK_OFF.0;
                    let live = Arc::new(live);
                    shared.publish(live.clone());
                    tracing::info!(store = target.shown(), "the store is up");
                    let reason = watch_over(&live, config.command_timeout).await;
                    shared.withdraw(reason);
                    tracing::warn!(store = target.shown(), reason, "the store is down");
                }
                Err(reason) => {
                    if *shared.down.borrow() != reason {
                        tracing::warn!(
                            store = target.shown(),
                            reason,
                            "the store cannot be reached"
                        );
                        shared.withdraw(&reason);
                    }
                    // Between half and the whole: pods that lost it together come back apart.
                    sleep(pause.mul_f64(rand::random_range(0.5..=1.0))).await;
                    pause = (pause * 2).min(BACK_OFF.1);
                }
            }
        }
    };
    tokio::select! {
        () = work => {}
        _ = stop => shared.withdraw("the store was closed"),
    }
}

/// Connects, makes sure that the server takes writes, and loads the scripts.
async fn open(
    config: &Config,
    target: &Target,
    scripts: &[&'static Script],
) -> Result<Live, String> {
    let pulse = Arc::new(Pulse::default());
    let steps = async {
        let link = target.connect(&pulse).await.map_err(|error| error.to_string())?;
        probe(&link).await.map_err(Probe::into_reason)?;
        let sources = scripts.iter().map(|script| script.source);
        link.load(sources).await.map_err(|error| error.to_string())?;
        Ok(link)
    };
    // Sentinel and Cluster ask one address after the other, and some may be dead.
    let connects = u32::try_from(config.urls.len()).unwrap_or(u32::MAX).saturating_add(1);
    let budget = config.connect_timeout.saturating_mul(connects) + config.command_timeout;
    match timeout(budget, steps).await {
        Ok(Ok(link)) => Ok(Live {
            link,
            pulse,
            timeouts: AtomicU32::new(0),
            last_timeout: Mutex::new(Instant::now()),
        }),
        Ok(Err(reason)) => Err(reason),
        Err(_) => Err("connecting timed out".to_owned()),
    }
}

/// Probes the connection now and then until it is lost; returns why.
async fn watch_over(live: &Live, within: Duration) -> &str {
    let probing = async {
        loop {
            sleep(PROBE_EVERY).await;
            // Asked again at once, so that a dead link is known after three answers that did not
            // come, not after three seconds more.
            loop {
                let sent = Instant::now();
                match timeout(within, probe(&live.link)).await {
                    Ok(Ok(())) => {
                        live.answered();
                        break;
                    }
                    Ok(Err(Probe::Failed(reason))) => live.lose(&reason),
                    Ok(Err(Probe::Node(_))) | Err(_) => live.timed_out(sent),
                }
                if live.pulse.lost().is_some() {
                    return;
                }
            }
        }
    };
    tokio::select! {
        biased;
        reason = live.pulse.until_lost() => reason,
        () = probing => live.pulse.lost().unwrap_or_default(),
    }
}

/// How a probe failed.
enum Probe {
    /// The store as a whole cannot serve.
    Failed(String),
    /// One node of a cluster does not answer; the others may.
    Node(String),
}

impl Probe {
    fn into_reason(self) -> String {
        match self {
            Self::Failed(reason) | Self::Node(reason) => reason,
        }
    }
}

/// Asks for a sign of life, and whether the server still takes writes; of a cluster, whether it is whole.
async fn probe(link: &Link) -> Result<(), Probe> {
    if !link.is_cluster() {
        if let Err(error) = link.send(&command(&["PING"])).await {
            return Err(Probe::Failed(error.to_string()));
        }
        return refuse_replica(link).await.map_err(Probe::Failed);
    }
    match link.send_to_any(&command(&["CLUSTER", "INFO"])).await {
        Ok(info) if text(&info).contains("cluster_state:fail") => {
            Err(Probe::Failed("cluster_state:fail".to_owned()))
        }
        Ok(_) => Ok(()),
        Err(error) if may_not(&error) => Ok(()),
        Err(error) => Err(Probe::Node(error.to_string())),
    }
}

/// A server that follows another takes no writes; each script would fail in its middle.
async fn refuse_replica(link: &Link) -> Result<(), String> {
    if link.is_cluster() {
        return Ok(());
    }
    match link.send(&command(&["INFO", "replication"])).await {
        Ok(info) if text(&info).lines().any(|line| line.trim_end() == "role:slave") => {
            Err("the server is a read-only replica".to_owned())
        }
        Ok(_) => Ok(()),
        Err(error) if may_not(&error) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// An ACL that forbids the question leaves it open; the READONLY reply still tells.
fn may_not(error: &RedisError) -> bool {
    matches!(judge(error, false), Fault::Refused(_))
}

pub(super) fn command(words: &[&str]) -> Cmd {
    let mut command = Cmd::new();
    for word in words {
        command.arg(word);
    }
    command
}

/// The text of a reply to INFO.
pub(super) fn text(reply: &Value) -> String {
    match reply {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::VerbatimString { text, .. } => text.clone(),
        Value::SimpleString(text) => text.clone(),
        _ => String::new(),
    }
}
