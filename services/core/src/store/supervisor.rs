//! Who keeps the connection: one task connects, verifies, publishes, watches and begins again.
//!
//! Callers only look: when nothing is published they fail at once, and that is the breaker.

use std::{
    future::ready,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwapOption;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::{
    sync::{oneshot, watch},
    time::{Instant, sleep, sleep_until, timeout, timeout_at},
};

use super::{
    Error,
    client::{Addresses, Link},
    command::{command, text},
    config::Config,
    loss::Loss,
    permissions,
};

/// The first pause between two attempts to connect, and the longest.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// How many times its budget an attempt to connect gets at most. It doubles after each attempt that
/// timed out: in a process that is busy with refusing those who ask again, each step of an attempt
/// waits for its turn, and with a fixed budget the outage would last as long as they ask.
const MAX_TIMEOUT_FACTOR: u32 = 4;
/// So many attempts wait, at most, for a server that takes longer than the budget, while the next
/// one begins: the address may lead to another server by now.
const MOST_SLOW: usize = 4;
const TIMED_OUT: &str = "connecting timed out";
/// How often a connection is probed.
const PROBE_EVERY: Duration = Duration::from_secs(1);
/// So many time-outs in a row say that the link is dead although it looks open.
const TIMEOUTS_IN_A_ROW: u32 = 3;

/// A verified connection.
pub(super) struct Live {
    pub(super) link: Link,
    loss: Arc<Loss>,
    timeouts: AtomicU32,
    last_timeout: Mutex<Instant>,
    /// A call has failed in a way that a missing permission explains.
    permissions_suspect: AtomicBool,
    /// A call was forbidden, and the log shows it.
    forbidden: AtomicBool,
    /// All keys of a call must lie in one slot.
    pub(super) has_slots: bool,
}

impl Live {
    fn new(link: Link, loss: Arc<Loss>, has_slots: bool) -> Self {
        Self {
            link,
            loss,
            has_slots,
            timeouts: AtomicU32::new(0),
            last_timeout: Mutex::new(Instant::now()),
            permissions_suspect: AtomicBool::new(false),
            forbidden: AtomicBool::new(false),
        }
    }

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
            self.loss.lose(format!("{in_a_row} time-outs in a row"));
        }
    }

    /// The server answered, but not as it should: the next probe looks at the permissions too.
    pub(super) fn suspect_permissions(&self) {
        self.answered();
        self.permissions_suspect.store(true, Ordering::Relaxed);
    }

    /// The server forbids a call.
    pub(super) fn forbidden(&self, operation: &str, reason: &str) {
        self.suspect_permissions();
        if !self.forbidden.swap(true, Ordering::Relaxed) {
            tracing::warn!(operation, reason, "Redis refuses permission for an operation");
        }
    }

    /// Waits until the connection is of no more use.
    pub(super) async fn until_lost(&self) -> &str {
        self.loss.until_lost().await
    }

    /// The connection is of no more use.
    pub(super) fn lose(&self, reason: &str) {
        self.loss.lose(reason);
    }
}

/// Why no connection is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Down {
    /// One is.
    No,
    /// The server cannot be used now.
    Away(String),
    /// The server's user has no permission for these.
    Forbidden(String),
}

impl Down {
    fn reason(&self) -> String {
        match self {
            Self::No => String::new(),
            Self::Away(reason) => reason.clone(),
            Self::Forbidden(missing) => format!("no permission for {missing}"),
        }
    }
}

/// What callers and the supervisor share.
pub(super) struct Shared {
    live: ArcSwapOption<Live>,
    down: watch::Sender<Down>,
    /// Whether a connection was ever published.
    began: AtomicBool,
    /// How many were.
    connections: AtomicU64,
}

impl Shared {
    pub(super) fn new() -> Self {
        Self {
            live: ArcSwapOption::empty(),
            down: watch::Sender::new(Down::Away("not connected yet".to_owned())),
            began: AtomicBool::new(false),
            connections: AtomicU64::new(0),
        }
    }

    /// How many connections there have been.
    pub(super) fn connections(&self) -> u64 {
        self.connections.load(Ordering::Acquire)
    }

    /// The connection to use now, if there is one.
    pub(super) fn live(&self) -> Option<Arc<Live>> {
        self.live.load_full().filter(|live| live.loss.lost().is_none())
    }

    /// Whether there is a connection to use now. It writes no shared line.
    pub(super) fn is_live(&self) -> bool {
        self.live.load().as_ref().is_some_and(|live| live.loss.lost().is_none())
    }

    /// Why there is none.
    pub(super) fn error(&self) -> Error {
        if let Some(reason) = self.live.load().as_ref().and_then(|live| live.loss.lost()) {
            return Error::Unavailable(reason.to_owned());
        }
        match &*self.down.borrow() {
            Down::Forbidden(missing) => Error::Forbidden(missing.clone()),
            down => Error::Unavailable(down.reason()),
        }
    }

    /// Waits until nothing was published ever and the server forbids what is needed; says what.
    pub(super) async fn forbidden_at_start(&self) -> String {
        let mut down = self.down.subscribe();
        loop {
            if self.began.load(Ordering::Relaxed) {
                return std::future::pending().await;
            }
            if let Down::Forbidden(missing) = &*down.borrow_and_update() {
                return missing.clone();
            }
            if down.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Waits for a connection until `deadline`.
    pub(super) async fn live_by(&self, deadline: Instant) -> Option<Arc<Live>> {
        timeout_at(deadline, self.until_live()).await.ok()
    }

    /// Waits for a connection as long as it takes.
    pub(super) async fn until_live(&self) -> Arc<Live> {
        let mut down = self.down.subscribe();
        loop {
            down.mark_unchanged();
            if let Some(live) = self.live() {
                return live;
            }
            if down.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    fn publish(&self, live: Arc<Live>) {
        self.began.store(true, Ordering::Relaxed);
        self.connections.fetch_add(1, Ordering::AcqRel);
        self.live.store(Some(live));
        self.down.send_replace(Down::No);
    }

    fn withdraw(&self, down: Down) {
        self.live.store(None);
        self.down.send_replace(down);
    }

    /// Logs why, unless the log shows it already.
    fn cannot_be_used(&self, store: &str, down: Down) {
        if *self.down.borrow() == down {
            return;
        }
        let reason = down.reason();
        match down {
            Down::Forbidden(_) => tracing::warn!(store, reason, "Redis refuses this service"),
            _ => tracing::warn!(store, reason, "Redis cannot be reached"),
        }
        self.withdraw(down);
    }
}

/// Keeps a connection until `stop` is dropped.
pub(super) async fn keep(
    shared: Arc<Shared>,
    config: Config,
    addresses: Arc<Addresses>,
    stop: oneshot::Receiver<()>,
) {
    let work = async {
        let (config, addresses) = (&config, &*addresses);
        let (mut wait, mut pause, mut timeout_factor) = (Duration::ZERO, BACK_OFF.0, 1);
        let mut slow = FuturesUnordered::new();
        loop {
            let due = Instant::now() + wait + config.connect_timeout;
            let opened = {
                let mut attempt = Box::pin(async move {
                    sleep(wait).await;
                    open(config, addresses, timeout_factor).await
                });
                let has_room = slow.len() < MOST_SLOW;
                let mut slow_ones = slow.by_ref().filter_map(|opened| ready(Result::ok(opened)));
                tokio::select! {
                    opened = &mut attempt => opened,
                    Some(live) = slow_ones.next() => Ok(live),
                    () = sleep_until(due), if has_room => {
                        slow.push(attempt);
                        Err(Down::Away(TIMED_OUT.to_owned()))
                    }
                }
            };
            match opened {
                Ok(live) => {
                    slow.clear();
                    (wait, pause, timeout_factor) = (Duration::ZERO, BACK_OFF.0, 1);
                    let live = Arc::new(live);
                    shared.publish(live.clone());
                    tracing::info!(store = addresses.shown(), "Redis is up");
                    let reason = watch_over(&live, config.command_timeout).await;
                    shared.withdraw(Down::Away(reason.to_owned()));
                    tracing::warn!(store = addresses.shown(), reason, "Redis is down");
                }
                Err(down) => {
                    if Instant::now() >= due {
                        timeout_factor = (timeout_factor * 2).min(MAX_TIMEOUT_FACTOR);
                    }
                    shared.cannot_be_used(addresses.shown(), down);
                    // Between half and the whole: pods that lost it together come back apart.
                    wait = pause.mul_f64(rand::random_range(0.5..=1.0));
                    pause = (pause * 2).min(BACK_OFF.1);
                }
            }
        }
    };
    tokio::select! {
        () = work => {}
        _ = stop => shared.withdraw(Down::Away("the store was closed".to_owned())),
    }
}

/// Connects, and makes sure that the user may do what is needed and that the server takes writes.
///
/// It loads no scripts. The first call of each does, so that Redis keeps only the scripts in use:
/// Lua's garbage collector visits them all.
async fn open(config: &Config, addresses: &Addresses, timeout_factor: u32) -> Result<Live, Down> {
    let connect_timeout = config.connect_timeout * timeout_factor;
    let loss = Arc::new(Loss::default());
    let steps = async {
        let away = |error: redis::RedisError| Down::Away(error.to_string());
        let link = addresses.connect(&loss, connect_timeout).await.map_err(away)?;
        if let Some(missing) = permissions::missing(&link).await.map_err(away)? {
            return Err(Down::Forbidden(missing));
        }
        probe(&link).await.map_err(|failed| Down::Away(failed.into_reason()))?;
        let has_slots = has_slots(&link).await.map_err(away)?;
        Ok((link, has_slots))
    };
    // Sentinel and Cluster ask one address after the other, and some may be dead.
    let connects = u32::try_from(config.urls.len()).unwrap_or(u32::MAX).saturating_add(1);
    let budget = connect_timeout.saturating_mul(connects) + config.command_timeout;
    match timeout(budget, steps).await {
        Ok(Ok((link, has_slots))) => Ok(Live::new(link, loss, has_slots)),
        Ok(Err(down)) => Err(down),
        Err(_) => Err(Down::Away(TIMED_OUT.to_owned())),
    }
}

/// Probes the connection now and then until it is lost; returns why.
async fn watch_over(live: &Live, within: Duration) -> &str {
    let probing = async {
        loop {
            sleep(PROBE_EVERY).await;
            // Probed again at once, so that a dead link is known after three answers that did not
            // come, not after three seconds more.
            loop {
                let sent = Instant::now();
                match timeout(within, look(live)).await {
                    Ok(Ok(())) => {
                        live.answered();
                        break;
                    }
                    Ok(Err(Probe::Failed(reason))) => live.lose(&reason),
                    Ok(Err(Probe::Node(_))) | Err(_) => live.timed_out(sent),
                }
                if live.loss.lost().is_some() {
                    return;
                }
            }
        }
    };
    tokio::select! {
        biased;
        reason = live.until_lost() => reason,
        () = probing => live.loss.lost().unwrap_or_default(),
    }
}

/// A probe; where a call failed as if by a missing permission, of the permissions too.
async fn look(live: &Live) -> Result<(), Probe> {
    if live.permissions_suspect.swap(false, Ordering::Relaxed)
        && let Ok(Some(missing)) = permissions::missing(&live.link).await
    {
        return Err(Probe::Failed(Down::Forbidden(missing).reason()));
    }
    probe(&live.link).await
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

/// Asks for a sign of life, and whether the server still takes writes; of a cluster, whether it is
/// whole.
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
        // An ACL that forbids the question leaves it open.
        Err(error) if permissions::is_refusal(&error) => Ok(()),
        Err(error) => Err(Probe::Node(error.to_string())),
    }
}

/// Whether all keys of a call must lie in one slot: on Cluster, and on a node of one that is spoken
/// to as if it were a single server.
async fn has_slots(link: &Link) -> redis::RedisResult<bool> {
    if link.is_cluster() {
        return Ok(true);
    }
    match link.send(&command(&["INFO", "cluster"])).await {
        Ok(info) => Ok(text(&info).contains("cluster_enabled:1")),
        // An ACL that forbids the question leaves it open.
        Err(error) if permissions::is_refusal(&error) => Ok(false),
        Err(error) => Err(error),
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
        // Where an ACL forbids INFO it stays unknown; the READONLY reply still shows it.
        Err(error) if permissions::is_refusal(&error) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
