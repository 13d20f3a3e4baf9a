//! What all handlers share: the configuration in force, what it names, the metrics.
//!
//! A reload makes a new [`LiveConfig`] and swaps it in whole. What has a memory of its own is
//! carried over from the entity of the same name.

use std::sync::Arc;

use anteroom_core::event::ApplicationKeys;
use anteroom_core::limit::Limits;
use anteroom_core::queue::{AssertionKeys, TokenKeys};
use anteroom_core::store::Store;
use anteroom_runtime::Operations;
use anteroom_runtime::config::{AllowedOrigin, Config};
use arc_swap::{ArcSwap, Guard};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::Rng as _;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use crate::breaker::state::{self as breaker, BreakerState};
use crate::callers::client_address::Forwarding;
use crate::callers::origin::Origins;
use crate::defences::stream_slots::StreamSlots;
use crate::entities::{Entities, EntityContext};
use crate::event::state::{self as event, EventState};
use crate::limit::state::{self as limit, LimitState};
use crate::metrics::AdmissionMetrics;
use crate::pool::state::{self as pool, PoolState};
use crate::problem::retry::PendingRetries;
use crate::queue::state::{self as queue, QueueState};

/// The state behind every handler.
pub struct App {
    live: ArcSwap<LiveConfig>,
    /// The store, where no entity stands for it: its readiness, and the purge of what the
    /// configuration no longer names.
    pub store: Store,
    /// The way to all limits.
    pub(crate) limits: Limits,
    /// What admission counts.
    pub metrics: AdmissionMetrics,
    /// Where answers are counted for the success ratio.
    pub operations: Operations,
    /// How many event streams there may be.
    pub(crate) stream_slots: Arc<StreamSlots>,
    /// The retries that this process has scheduled.
    pub(crate) retries: Arc<PendingRetries>,
    /// Cancelled when this process takes no more connections: streams end.
    pub(crate) stopping: CancellationToken,
    /// Signs tokens when no secret is configured; this process's own.
    own_secret: SecretString,
    /// Fixed when the process starts, like the lanes themselves.
    lane_bound: usize,
}

/// One configuration in force, with all that is made from it.
pub(crate) struct LiveConfig {
    pub config: Arc<Config>,
    /// The secrets that sign tokens.
    pub tokens: TokenKeys,
    /// The same secrets, for applications to events.
    pub applications: ApplicationKeys,
    /// The secrets under which backends vouch for visitors.
    pub assertions: AssertionKeys,
    /// Who may call from another origin.
    pub origins: Origins,
    /// Tells of forwarding headers that were not believed.
    pub forwarding: Arc<Forwarding>,
    pub queues: Entities<QueueState>,
    pub limits: Entities<LimitState>,
    pub targets: Entities<BreakerState>,
    pub events: Entities<EventState>,
    pub pools: Entities<PoolState>,
}

impl App {
    /// Makes the state from the first configuration, on ports of so many connections each.
    pub fn new(
        config: Arc<Config>,
        store: Store,
        metrics: AdmissionMetrics,
        operations: Operations,
        max_connections: usize,
        stopping: CancellationToken,
    ) -> Arc<Self> {
        let own_secret = random_secret();
        let lane_bound = config.admission.lane_bound;
        let retries = Arc::new(PendingRetries::default());
        let context = EntityContext { store: &store, retries: &retries, lane_bound };
        let live = LiveConfig::new(config, None, &context, &metrics, &own_secret);
        let stream_slots = StreamSlots::new(max_connections, metrics.streams.clone());
        Arc::new(Self {
            live: ArcSwap::from_pointee(live),
            limits: Limits::open(&store, lane_bound),
            store,
            metrics,
            operations,
            stream_slots,
            retries,
            stopping,
            own_secret,
            lane_bound,
        })
    }

    /// What is in force now. Not to be kept across a wait.
    pub(crate) fn live(&self) -> Guard<Arc<LiveConfig>> {
        self.live.load()
    }

    /// The queue of this name, if one is configured.
    pub fn queue(&self, name: &str) -> Option<Arc<QueueState>> {
        self.live.load().queues.get(name)
    }

    /// The target of this name, if one is configured.
    pub(crate) fn target(&self, name: &str) -> Option<Arc<BreakerState>> {
        self.live.load().targets.get(name)
    }

    /// The pool of this name, if one is configured.
    pub(crate) fn pool(&self, name: &str) -> Option<Arc<PoolState>> {
        self.live.load().pools.get(name)
    }

    /// Puts another configuration in force.
    pub(crate) fn reload(&self, config: Arc<Config>) {
        let before = self.live.load_full();
        let (store, retries) = (&self.store, &self.retries);
        let context = EntityContext { store, retries, lane_bound: self.lane_bound };
        let metrics = &self.metrics;
        let live = LiveConfig::new(config, Some(&before), &context, metrics, &self.own_secret);
        for name in before.queues.left_out(&live.queues) {
            metrics.queues.gauges.forget(name);
        }
        for name in before.targets.left_out(&live.targets) {
            metrics.targets.gauges.forget(name);
        }
        for name in before.pools.left_out(&live.pools) {
            metrics.pools.gauges.forget(name);
        }
        self.live.store(Arc::new(live));
    }
}

impl LiveConfig {
    fn new(
        config: Arc<Config>,
        before: Option<&Self>,
        context: &EntityContext<'_>,
        metrics: &AdmissionMetrics,
        own_secret: &SecretString,
    ) -> Self {
        let queues = before.map(|before| &before.queues);
        let queues = queue::reload(&config, queues, context, &metrics.queues);
        let limits = before.map(|before| &before.limits);
        let limits = limit::reload(&config, limits, &metrics.limits);
        let targets = before.map(|before| &before.targets);
        let targets = breaker::reload(&config, targets, context, &metrics.targets);
        let events = before.map(|before| &before.events);
        let events = event::reload(&config, events, context, &metrics.events);
        let pools = before.map(|before| &before.pools);
        let pools = pool::reload(&config, pools, context, &metrics.pools);
        let own_secret = std::slice::from_ref(own_secret);
        let secrets = Some(config.admission.token_secrets.as_slice());
        let secrets = secrets.filter(|secrets| !secrets.is_empty()).unwrap_or(own_secret);
        let tokens = TokenKeys::new(secrets).expect("one secret is given");
        let applications = ApplicationKeys::new(secrets).expect("one secret is given");
        let assertions = AssertionKeys::new(&config.admission.identity_secrets);
        let allowed = config.admission.allowed_origins.iter();
        let origins = Origins::new(allowed.map(AllowedOrigin::as_str));
        let forwarding = metrics.forwarding.clone();
        Self {
            tokens,
            applications,
            assertions,
            origins,
            forwarding,
            queues,
            limits,
            targets,
            events,
            pools,
            config,
        }
    }
}

impl AsRef<Entities<QueueState>> for LiveConfig {
    fn as_ref(&self) -> &Entities<QueueState> {
        &self.queues
    }
}

impl AsRef<Entities<LimitState>> for LiveConfig {
    fn as_ref(&self) -> &Entities<LimitState> {
        &self.limits
    }
}

impl AsRef<Entities<BreakerState>> for LiveConfig {
    fn as_ref(&self) -> &Entities<BreakerState> {
        &self.targets
    }
}

impl AsRef<Entities<EventState>> for LiveConfig {
    fn as_ref(&self) -> &Entities<EventState> {
        &self.events
    }
}

impl AsRef<Entities<PoolState>> for LiveConfig {
    fn as_ref(&self) -> &Entities<PoolState> {
        &self.pools
    }
}

/// 256 random bits, as text.
fn random_secret() -> SecretString {
    URL_SAFE_NO_PAD.encode(rand::rng().random::<[u8; 32]>()).into()
}
