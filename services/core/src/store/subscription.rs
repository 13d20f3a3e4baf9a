//! Listening to a channel: a connection of its own, for as long as somebody listens.
//!
//! Pub/Sub keeps nothing: what is said while nobody is connected is lost. So each new connection is
//! told of too, and whoever must not miss anything looks for it then, and now and then besides.

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
/// How often the connection is asked for a sign of life: no message tells nothing.
const PROBE_EVERY: Duration = Duration::from_secs(1);

/// What is heard of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A connection is in place, the first or another one. What was said before is lost.
    Connected,
    /// Something was said, once or several times since the last look.
    Message,
}

/// Listens to one channel of the store until it is dropped.
#[derive(Debug)]
pub struct Subscription {
    ear: Arc<Ear>,
    /// The task that keeps the connection hears of its end.
    _stop: oneshot::Sender<()>,
}

impl Subscription {
    pub(super) fn start(
        config: Config,
        shared: Arc<Shared>,
        addresses: Arc<Addresses>,
        channel: String,
    ) -> Self {
        let ear = Arc::<Ear>::default();
        let (stop, stopped) = oneshot::channel();
        let listener = Listener { config, shared, addresses, channel, ear: ear.clone() };
        tokio::spawn(async move {
            tokio::select! {
                () = listener.keep() => {}
                _ = stopped => {}
            }
        });
        Self { ear, _stop: stop }
    }

    /// Waits for the next that is heard. May be dropped at any time: nothing is lost by it. For one
    /// task at a time.
    pub async fn next(&self) -> Heard {
        loop {
            if let Some(heard) = self.ear.take() {
                return heard;
            }
            self.ear.something.notified().await;
        }
    }
}

/// What was heard and not yet told. However much is said, this is all that is kept.
#[derive(Debug, Default)]
struct Ear {
    connected: AtomicBool,
    message: AtomicBool,
    something: Notify,
}

impl Ear {
    fn hear(&self, heard: Heard) {
        match heard {
            Heard::Connected => self.connected.store(true, Release),
            Heard::Message => self.message.store(true, Release),
        }
        self.something.notify_one();
    }

    fn take(&self) -> Option<Heard> {
        if self.connected.swap(false, AcqRel) {
            return Some(Heard::Connected);
        }
        self.message.swap(false, AcqRel).then_some(Heard::Message)
    }
}

/// Who keeps the connection.
struct Listener {
    config: Config,
    shared: Arc<Shared>,
    addresses: Arc<Addresses>,
    channel: String,
    ear: Arc<Ear>,
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
                        tracing::info!(channel = self.channel, "listening to the store again");
                    }
                    (pause, fails) = (BACK_OFF.0, false);
                    self.ear.hear(Heard::Connected);
                    self.watch_over(&live, &link, &loss).await;
                }
                Err(reason) => {
                    // The store tells of itself.
                    if !fails && self.shared.live().is_some() {
                        tracing::warn!(
                            channel = self.channel,
                            reason,
                            "cannot listen to the store"
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
        let (ear, lost) = (self.ear.clone(), loss.clone());
        let on_push = move |push: PushInfo| {
            match push.kind {
                PushKind::Message => ear.hear(Heard::Message),
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
        // Sentinels are asked one after the other, and some may be dead.
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
