//! What all handlers share: the configuration in force, the queues, the metrics.
//!
//! A reload makes a new [`Live`] and swaps it in whole. What has a memory of its own (the queue's
//! lanes, its latest snapshot, who is known as active, open streams, the defences' counts) is
//! carried over from the queue of the same name.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anteroom_core::queue::{AssertionKeys, Queue, TokenKeys};
use anteroom_core::store::{self, Store};
use anteroom_runtime::Operations;
use anteroom_runtime::config::{Config, Origin, QueueConfig};
use arc_swap::{ArcSwap, Guard};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::Rng as _;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use crate::callers::client_address::Forwarding;
use crate::callers::cookies::Cookies;
use crate::callers::origin::Origins;
use crate::defences::stream_slots::StreamSlots;
use crate::defences::{JoinsPerAddress, RequestsPerPlace};
use crate::metrics::{Metrics, QueueMetrics};
use crate::problem::Problem;
use crate::problem::retry::{self, Returning};
use crate::queue::known::Known;
use crate::queue::latest::Latest;
use crate::queue::outage::Opening;
use crate::queue::return_to::ReturnTo;
use crate::queue::streams::Streams;
use crate::serve::descriptors::Share;

/// The state behind every handler.
pub struct App {
    live: ArcSwap<Live>,
    /// The store, for its readiness.
    pub store: Store,
    /// What admission counts.
    pub metrics: Metrics,
    /// Where answers are counted for the success ratio.
    pub operations: Operations,
    /// How many event streams there may be.
    pub stream_slots: Arc<StreamSlots>,
    /// Whom this process has told to come back.
    pub returning: Arc<Returning>,
    /// Cancelled when this process takes no more connections: streams end.
    pub stopping: CancellationToken,
    /// Signs tokens when no secret is configured; this process's own.
    own_secret: SecretString,
    /// Fixed when the process starts, like the lanes themselves.
    lane_bound: usize,
}

/// One configuration in force, with all that is made from it.
pub struct Live {
    /// The configuration.
    pub config: Arc<Config>,
    /// The secrets that sign tokens.
    pub tokens: TokenKeys,
    /// The secrets under which backends vouch for visitors.
    pub assertions: AssertionKeys,
    /// Who may call from another origin.
    pub origins: Origins,
    /// Tells of forwarding headers that were not believed.
    pub forwarding: Arc<Forwarding>,
    queues: HashMap<String, Arc<QueueState>>,
}

/// One queue as handlers see it.
pub struct QueueState {
    /// The operations.
    pub queue: Queue,
    /// Its configuration.
    pub config: QueueConfig,
    /// How its cookie is named and guarded.
    pub cookies: Arc<Cookies>,
    /// Where a visitor may go on to.
    pub return_to: ReturnTo,
    /// The newest snapshot.
    pub latest: Arc<Latest>,
    /// Who this process knows as active.
    pub known: Arc<Known>,
    /// Who passes while the store is away and `on_store_error` is `open`.
    pub opening: Arc<Opening>,
    /// How many joined from which address.
    pub joins_per_address: JoinsPerAddress,
    /// How many requests named which place.
    pub requests_per_place: RequestsPerPlace,
    /// Streams that are open, by place.
    pub streams: Arc<Streams>,
    /// What it counts.
    pub metrics: Arc<QueueMetrics>,
    /// Whom this process has told to come back.
    pub returning: Arc<Returning>,
    /// Whom it has told so because the queue takes nobody in: no concern of other queues.
    pub refused: Arc<Returning>,
}

impl QueueState {
    /// The name of the queue.
    pub fn name(&self) -> &str {
        self.queue.name()
    }

    /// How long the holder of a place may be silent: half of the time in which a turn must be claimed, and
    /// a new place be heard of. As far as this process knows: an operator may have changed it.
    pub fn patience(&self) -> Duration {
        let shortest =
            |claim_ttl: Duration, first_poll_ttl: Duration| claim_ttl.min(first_poll_ttl);
        let configured = shortest(self.config.rules.claim_ttl, self.config.rules.first_poll_ttl);
        let live = self.latest.get().map(|seen| {
            let rules = &seen.snapshot.rules;
            shortest(rules.claim_ttl, rules.first_poll_ttl)
        });
        live.map_or(configured, |live| live.min(configured)) / 2
    }

    /// When to come back after a failure on our side.
    pub fn retry(&self) -> Duration {
        self.returning.tell(self.depth(), retry::SOONEST, self.patience())
    }

    /// The same as a hint to many requests of one visitor, who does not come back for each.
    pub fn retry_hint(&self) -> Duration {
        retry::after(self.depth(), retry::SOONEST, self.patience(), rand::rng().random())
    }

    /// A failure of the store, with the time to come back.
    pub fn failed(&self, error: &store::Error) -> Problem {
        let problem = Problem::from(error);
        if problem.when().is_some() { problem.retry_after(self.retry()) } else { problem }
    }

    /// How many stood in line when it was read last.
    fn depth(&self) -> u64 {
        self.latest.get().map_or(0, |seen| seen.snapshot.depth)
    }
}

impl App {
    /// Makes the state from the first configuration, on ports of this share each.
    pub fn new(
        config: Arc<Config>,
        store: Store,
        metrics: Metrics,
        operations: Operations,
        share: Share,
        stopping: CancellationToken,
    ) -> Arc<Self> {
        let own_secret = random_secret();
        let lane_bound = config.admission.lane_bound;
        let none = HashMap::new();
        let returning = Arc::new(Returning::default());
        let live = Live::new(config, &none, &returning, &store, &metrics, &own_secret, lane_bound);
        let live = ArcSwap::from_pointee(live);
        let stream_slots = StreamSlots::new(share.connections, metrics.streams.clone());
        Arc::new(Self {
            live,
            store,
            metrics,
            operations,
            stream_slots,
            returning,
            stopping,
            own_secret,
            lane_bound,
        })
    }

    /// What is in force now. Not to be kept across a wait.
    pub fn live(&self) -> Guard<Arc<Live>> {
        self.live.load()
    }

    /// The queue of this name, if one is configured.
    pub fn queue(&self, name: &str) -> Option<Arc<QueueState>> {
        self.live.load().queue(name)
    }

    /// Every queue.
    pub fn queues(&self) -> Vec<Arc<QueueState>> {
        self.live.load().queues.values().cloned().collect()
    }

    /// Puts another configuration in force.
    pub fn reload(&self, config: Arc<Config>) {
        let before = self.live.load_full();
        let live = Live::new(
            config,
            &before.queues,
            &self.returning,
            &self.store,
            &self.metrics,
            &self.own_secret,
            self.lane_bound,
        );
        for name in before.queues.keys().filter(|name| !live.queues.contains_key(*name)) {
            self.metrics.gauges.forget(name);
        }
        self.live.store(Arc::new(live));
    }
}

impl Live {
    /// The queue of this name, if one is configured.
    pub fn queue(&self, name: &str) -> Option<Arc<QueueState>> {
        self.queues.get(name).cloned()
    }

    fn new(
        config: Arc<Config>,
        before: &HashMap<String, Arc<QueueState>>,
        returning: &Arc<Returning>,
        store: &Store,
        metrics: &Metrics,
        own_secret: &SecretString,
        lane_bound: usize,
    ) -> Self {
        let cookies = Arc::new(Cookies::new(
            config.admission.secure_cookies,
            config.admission.cookie_domain.as_deref(),
        ));
        let queues = config
            .queues
            .iter()
            .map(|(name, queue)| {
                let (queue, cookies) = (queue.clone(), cookies.clone());
                let state = match before.get(name) {
                    Some(before) => before.with(queue, cookies),
                    None => {
                        let metrics = Arc::new(metrics.queue(name));
                        let opened = Queue::open(store, name, queue.rules.clone(), lane_bound);
                        QueueState::new(opened, queue, cookies, metrics, returning.clone())
                    }
                };
                (name.clone(), Arc::new(state))
            })
            .collect();
        let tokens = TokenKeys::new(&config.admission.token_secrets)
            .or_else(|| TokenKeys::new(std::slice::from_ref(own_secret)))
            .expect("one secret is given");
        let assertions = AssertionKeys::new(&config.admission.identity_secrets);
        let origins = Origins::new(config.admission.allowed_origins.iter().map(Origin::as_str));
        let forwarding = metrics.forwarding.clone();
        Self { config, tokens, assertions, origins, forwarding, queues }
    }
}

impl QueueState {
    fn new(
        queue: Queue,
        config: QueueConfig,
        cookies: Arc<Cookies>,
        metrics: Arc<QueueMetrics>,
        returning: Arc<Returning>,
    ) -> Self {
        Self {
            queue,
            cookies,
            return_to: return_to(&config),
            joins_per_address: JoinsPerAddress::new(config.joins_per_address, &config.exempt),
            requests_per_place: RequestsPerPlace::new(config.requests_per_place),
            config,
            latest: Arc::default(),
            known: Arc::default(),
            opening: Arc::default(),
            streams: Arc::default(),
            metrics,
            returning,
            refused: Arc::default(),
        }
    }

    /// The same queue under another configuration.
    fn with(&self, config: QueueConfig, cookies: Arc<Cookies>) -> Self {
        self.queue.set_rules(config.rules.clone());
        Self {
            queue: self.queue.clone(),
            cookies,
            return_to: return_to(&config),
            joins_per_address: self
                .joins_per_address
                .with(config.joins_per_address, &config.exempt),
            requests_per_place: self.requests_per_place.with(config.requests_per_place),
            config,
            latest: self.latest.clone(),
            known: self.known.clone(),
            opening: self.opening.clone(),
            streams: self.streams.clone(),
            metrics: self.metrics.clone(),
            returning: self.returning.clone(),
            refused: self.refused.clone(),
        }
    }
}

fn return_to(config: &QueueConfig) -> ReturnTo {
    ReturnTo::new(config.return_to_origins.iter().map(Origin::as_str), config.return_query)
}

/// 256 random bits, as text.
fn random_secret() -> SecretString {
    URL_SAFE_NO_PAD.encode(rand::rng().random::<[u8; 32]>()).into()
}
