//! What all calls share: the configuration in force, and what it names.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anteroom_authorize::Process;
use anteroom_authorize::callers::cookies::Cookies;
use anteroom_authorize::limit::LimitState;
use anteroom_authorize::limit::metrics::LimitFamilies;
use anteroom_authorize::problem::retry::PendingRetries;
use anteroom_authorize::problem::set_docs_url;
use anteroom_authorize::process::{random_secret, secrets};
use anteroom_authorize::queue::QueueState;
use anteroom_authorize::queue::metrics::QueueFamilies;
use anteroom_authorize::queue::state::QueueContext;
use anteroom_config::Config;
use anteroom_core::limit::Limits;
use anteroom_core::store::Store;
use anteroom_runtime::{Families as _, Operations};
use arc_swap::{ArcSwap, Guard};
use prometheus::Registry;
use secrecy::SecretString;
use tonic::metadata::MetadataMap;

use crate::deadline;
use crate::metrics::EnvoyMetrics;

/// The state behind every call.
pub struct App {
    /// Redis, and what all checks share.
    pub process: Process,
    /// The way to all limits.
    pub limits: Limits,
    pub metrics: EnvoyMetrics,
    /// Where answers are counted for the success ratio.
    pub operations: Operations,
    /// The retries that this process has scheduled.
    pub retries: Arc<PendingRetries>,
    live: ArcSwap<Live>,
    families: EntityFamilies,
    own_secret: SecretString,
    lane_bound: usize,
}

/// The metrics of all queues and of all limits.
struct EntityFamilies {
    queues: QueueFamilies,
    limits: LimitFamilies,
}

/// One configuration in force, with all that is made from it.
pub struct Live {
    pub config: Arc<Config>,
    queues: HashMap<String, Arc<QueueState>>,
    limits: HashMap<String, Arc<LimitState>>,
}

impl App {
    /// Makes the state from the first configuration. Must be called inside a Tokio runtime.
    ///
    /// # Errors
    ///
    /// When the name of a metric is taken.
    pub fn new(
        config: Arc<Config>,
        store: Store,
        registry: &Registry,
        operations: Operations,
    ) -> prometheus::Result<Self> {
        let own_secret = random_secret();
        let nothing =
            Live { config: config.clone(), queues: HashMap::new(), limits: HashMap::new() };
        let app = Self {
            limits: Limits::open(&store, config.admission.lane_bound),
            process: Process::new(store, None, &config, secrets(&config, &own_secret)),
            metrics: EnvoyMetrics::register(registry)?,
            operations,
            retries: Arc::default(),
            live: ArcSwap::from_pointee(nothing),
            families: EntityFamilies {
                queues: QueueFamilies::register(registry)?,
                limits: LimitFamilies::register(registry)?,
            },
            own_secret,
            lane_bound: config.admission.lane_bound,
        };
        app.reload(config);
        Ok(app)
    }

    /// Puts another configuration in force. What has a memory is carried over from the entity of
    /// the same name.
    pub fn reload(&self, config: Arc<Config>) {
        let before = self.live.load_full();
        let queues = config.queues.iter().map(|(name, queue)| {
            let context = QueueContext {
                name,
                config: queue,
                cookies: Cookies::of(&config.admission),
                families: &self.families.queues,
                store: &self.process.store,
                lane_bound: self.lane_bound,
                retries: &self.retries,
            };
            let before = before.queues.get(name).map(Arc::as_ref);
            (name.clone(), Arc::new(QueueState::new(context, before)))
        });
        let limits = config.limits.iter().map(|(name, limit)| {
            let before = before.limits.get(name).map(Arc::as_ref);
            let limit = LimitState::new(name, limit, before, &self.families.limits);
            (name.clone(), Arc::new(limit))
        });
        let (queues, limits) = (queues.collect(), limits.collect());
        for name in before.queues.keys().filter(|name| !config.queues.contains_key(*name)) {
            self.families.queues.forget(name);
        }
        self.process.reload(&config, secrets(&config, &self.own_secret));
        set_docs_url(config.admission.docs_url.as_str());
        self.live.store(Arc::new(Live { config, queues, limits }));
    }

    /// What is in force now. Not to be kept across a wait.
    pub fn live(&self) -> Guard<Arc<Live>> {
        self.live.load()
    }

    /// How long a call with this metadata may take.
    pub fn time_for(&self, metadata: &MetadataMap) -> Duration {
        deadline::time_for(metadata, self.live.load().config.envoy.request_timeout)
    }

    /// The queue of this name, if one is configured.
    pub fn queue(&self, name: &str) -> Option<Arc<QueueState>> {
        self.live.load().queues.get(name).cloned()
    }
}

impl Live {
    /// The limit of this name.
    pub fn limit(&self, name: &str) -> Option<&Arc<LimitState>> {
        self.limits.get(name)
    }
}
