//! What all handlers share: the configuration in force, what it names, the metrics.
//!
//! A reload makes a new [`LiveConfig`] and swaps it in whole. What has a memory of its own is
//! carried over from the entity of the same name.

use std::sync::Arc;

use anteroom_config::{AllowedOrigin, Config};
use anteroom_core::event::ApplicationKeys;
use anteroom_core::limit::Limits;
use anteroom_core::queue::{AssertionKeys, TokenKeys};
use anteroom_core::store::Store;
use anteroom_runtime::Operations;
use arc_swap::{ArcSwap, Guard};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::Rng as _;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use crate::callers::client_address::Forwarding;
use crate::callers::origin::Origins;
use crate::defences::stream_slots::StreamSlots;
use crate::entities::{EntityContext, InForce, Listed};
use crate::metrics::AdmissionMetrics;
use crate::problem;
use crate::problem::retry::PendingRetries;
use crate::queue::state::QueueState;

/// The state behind every handler.
pub struct App {
    live: ArcSwap<LiveConfig>,
    /// Redis, for calls about no configured entity: its readiness, and the purge of what the
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
    /// The secrets with which backends sign identities.
    pub assertions: AssertionKeys,
    /// Who may call from another origin.
    pub origins: Origins,
    /// Counts and logs forwarding headers that are not believed.
    pub forwarding: Arc<Forwarding>,
    /// What the configuration names.
    pub in_force: InForce,
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
        let context =
            EntityContext { config: &config, store: &store, retries: &retries, lane_bound };
        let in_force = InForce::reload(&InForce::default(), &metrics.kinds, &context);
        let live = LiveConfig::new(config.clone(), in_force, &metrics, &own_secret);
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
        self.entity(name)
    }

    /// The entity of this kind and name, if one is configured.
    pub(crate) fn entity<K: Listed>(&self, name: &str) -> Option<Arc<K>> {
        K::of(&self.live.load().in_force).get(name)
    }

    /// Puts another configuration in force.
    pub(crate) fn reload(&self, config: Arc<Config>) {
        let context = EntityContext {
            config: &config,
            store: &self.store,
            retries: &self.retries,
            lane_bound: self.lane_bound,
        };
        let before = &self.live.load_full().in_force;
        let in_force = InForce::reload(before, &self.metrics.kinds, &context);
        let live = LiveConfig::new(config.clone(), in_force, &self.metrics, &self.own_secret);
        self.live.store(Arc::new(live));
    }
}

impl LiveConfig {
    fn new(
        config: Arc<Config>,
        in_force: InForce,
        metrics: &AdmissionMetrics,
        own_secret: &SecretString,
    ) -> Self {
        let own_secret = std::slice::from_ref(own_secret);
        let secrets = Some(config.admission.token_secrets.as_slice());
        let secrets = secrets.filter(|secrets| !secrets.is_empty()).unwrap_or(own_secret);
        let tokens = TokenKeys::new(secrets).expect("one secret is given");
        let applications = ApplicationKeys::new(secrets).expect("one secret is given");
        let assertions = AssertionKeys::new(&config.admission.identity_secrets);
        let allowed = config.admission.allowed_origins.iter();
        let origins = Origins::new(allowed.map(AllowedOrigin::as_str));
        let forwarding = metrics.forwarding.clone();
        problem::set_docs_url(config.admission.docs_url.as_str());
        Self { tokens, applications, assertions, origins, forwarding, in_force, config }
    }
}

/// 256 random bits, as text.
fn random_secret() -> SecretString {
    URL_SAFE_NO_PAD.encode(rand::rng().random::<[u8; 32]>()).into()
}
