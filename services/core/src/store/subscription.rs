//! Listening to a channel: a connection of its own, for as long as there is a listener.
//!
//! Pub/Sub keeps nothing: messages are lost while the listener is not connected. So each new
//! connection is a notice too. A listener that must not miss anything checks the state then, and
//! from time to time besides.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{
            AtomicBool,
            Ordering::{AcqRel, Release},
        },
    },
    time::Duration,
};

use redis::{PushInfo, PushKind, RedisResult};
use tokio::{
    sync::{Notify, oneshot},
    time::{sleep, timeout},
};

use super::{
    Config,
    client::{Addresses, Link},
    command::command,
    loss::Loss,
    permissions::is_refusal,
    supervisor::{Live, Shared},
};

/// The first pause between two attempts to connect, and the longest.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));
/// How often the connection is probed: silence means nothing.
const PROBE_EVERY: Duration = Duration::from_secs(1);

/// What a listener is notified of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A connection is in place, the first or another one. Earlier messages are lost.
    Connected,
    /// Messages came, one or several since the last notice.
    Message,
}

/// Listens to one channel of the store until it is dropped.
#[derive(Debug)]
pub struct Subscription {
    mailbox: Arc<Mailbox>,
    /// Ends the task that keeps the connection.
    _stop: oneshot::Sender<()>,
}

impl Subscription {
    pub(super) fn start(
        config: Config,
        shared: Arc<Shared>,
        addresses: Arc<Addresses>,
        channel: String,
    ) -> Self {
        let mailbox = Arc::<Mailbox>::default();
        let (stop, stopped) = oneshot::channel();
        let listener = Listener { config, shared, addresses, channel, mailbox: mailbox.clone() };
        tokio::spawn(async move {
            tokio::select! {
                () = listener.keep() => {}
                _ = stopped => {}
            }
        });
        Self { mailbox, _stop: stop }
    }

    /// Waits for the next notice. May be dropped at any time: nothing is lost by it. For one
    /// task at a time.
    pub async fn next(&self) -> Notice {
        loop {
            if let Some(notice) = self.mailbox.take() {
                return notice;
            }
            self.mailbox.something.notified().await;
        }
    }
}

/// Notices that were not taken yet. However many messages come, this is all that is kept.
#[derive(Debug, Default)]
struct Mailbox {
    connected: AtomicBool,
    message: AtomicBool,
    something: Notify,
}

impl Mailbox {
    fn add(&self, notice: Notice) {
        match notice {
            Notice::Connected => self.connected.store(true, Release),
            Notice::Message => self.message.store(true, Release),
        }
        self.something.notify_one();
    }

    fn take(&self) -> Option<Notice> {
        if self.connected.swap(false, AcqRel) {
            return Some(Notice::Connected);
        }
        self.message.swap(false, AcqRel).then_some(Notice::Message)
    }
}

/// The task that keeps the connection.
struct Listener {
    config: Config,
    shared: Arc<Shared>,
    addresses: Arc<Addresses>,
    channel: String,
    mailbox: Arc<Mailbox>,
}

impl Listener {
    /// Connects whenever the store is up, and again when that connection, or the store's, is lost:
    /// the address may lead to another primary by then.
    async fn keep(&self) {
        let (mut pause, mut fails) = (BACK_OFF.0, false);
        for attempt in 0.. {
            let live = self.shared.until_live().await;
            let loss = Arc::new(Loss::default());
            match self.connect(attempt, &loss).await {
                Ok(link) => {
                    if fails {
                        tracing::info!(
                            channel = self.channel,
                            "subscribed to the channel of Redis again"
                        );
                    }
                    (pause, fails) = (BACK_OFF.0, false);
                    self.mailbox.add(Notice::Connected);
                    self.watch_over(&live, &link, &loss).await;
                }
                Err(reason) => {
                    // The store logs its own outage.
                    if !fails && self.shared.live().is_some() {
                        tracing::warn!(
                            channel = self.channel,
                            reason,
                            "cannot subscribe to a channel of Redis"
                        );
                        fails = true;
                    }
                }
            }
            // Between half and the whole: those who lost it together come back apart.
            sleep(pause.mul_f64(rand::random_range(0.5..=1.0))).await;
            pause = (pause * 2).min(BACK_OFF.1);
        }
    }

    /// Connects and subscribes; of a cluster to one node after the other, for each hears it all.
    async fn connect(&self, attempt: usize, loss: &Arc<Loss>) -> Result<Link, String> {
        let within = self.config.connect_timeout;
        let (mailbox, lost) = (self.mailbox.clone(), loss.clone());
        let on_push = move |push: PushInfo| {
            match push.kind {
                PushKind::Message => mailbox.add(Notice::Message),
                PushKind::Disconnection => lost.lose("the server closed the connection"),
                _ => {}
            }
            Ok::<(), Infallible>(())
        };
        let steps = async {
            let link = self.addresses.connect_listener(attempt, within, on_push).await?;
            link.subscribe(&self.channel).await?;
            RedisResult::Ok(link)
        };
        // Sentinels are tried one after the other, and some may be dead.
        let connects = u32::try_from(self.config.urls.len()).unwrap_or(u32::MAX).saturating_add(1);
        match timeout(within.saturating_mul(connects), steps).await {
            Ok(Ok(link)) => Ok(link),
            Ok(Err(error)) if is_refusal(&error) => {
                Err(format!("no permission for +subscribe or the channel: {error}"))
            }
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("connecting timed out".to_owned()),
        }
    }

    /// Until the connection, or the store's own, is of no more use.
    async fn watch_over(&self, live: &Live, link: &Link, loss: &Loss) {
        let ping = command(&["PING"]);
        let probing = async {
            loop {
                sleep(PROBE_EVERY).await;
                let alive = timeout(self.config.connect_timeout, link.send(&ping)).await;
                if !matches!(alive, Ok(Ok(_))) {
                    return;
                }
            }
        };
        tokio::select! {
            _ = loss.until_lost() => {}
            _ = live.until_lost() => {}
            () = probing => {}
        }
    }
}
