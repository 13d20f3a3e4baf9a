//! What all handlers share: the configuration in force, what it names, the metrics.
//!
//! A reload makes a new [`LiveConfig`] and swaps it in whole. What has a memory of its own is
//! carried over from the entity of the same name.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anteroom_authorize::callers::client_address::Forwarding;
use anteroom_authorize::defences::PerAddress;
use anteroom_authorize::problem;
use anteroom_authorize::problem::retry::PendingRetries;
use anteroom_authorize::process::{random_secret, secrets};
use anteroom_authorize::queue::line::report_polls;
use anteroom_authorize::queue::state::QueueState;
use anteroom_authorize::{Problem, Process};
use anteroom_config::{Config, QueueConfig};
use anteroom_core::event::ApplicationKeys;
use anteroom_core::limit::Limits;
use anteroom_core::queue::AssertionKeys;
use anteroom_core::session::SessionKeys;
use anteroom_core::store::Store;
use anteroom_runtime::Operations;
use arc_swap::{ArcSwap, Guard};
use futures_util::future::join_all;
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use crate::callers::caller::Access;
use crate::entities::{EntityContext, InForce, Listed};
use crate::live::Feed;
use crate::metrics::AdmissionMetrics;
use crate::queue::stream_slots::StreamSlots;
use crate::queue::waiting_page::QueuePage;

/// Before a report that Redis has not taken is repeated.
const REPORT_AGAIN: Duration = Duration::from_millis(100);

/// The state behind every handler.
pub struct App {
    live: ArcSwap<LiveConfig>,
    /// Redis, and what the calls of visitors share.
    pub process: Process,
    /// The way to all limits.
    pub(crate) limits: Limits,
    /// What admission counts.
    pub metrics: AdmissionMetrics,
    /// Where answers are counted for the success ratio.
    pub operations: Operations,
    /// How many event streams there may be.
    pub(crate) stream_slots: Arc<StreamSlots>,
    /// The frames that all live streams share.
    pub(crate) feed: Feed,
    /// The retries that this process has scheduled.
    pub(crate) retries: Arc<PendingRetries>,
    /// Cancelled when this process takes no more connections: streams end.
    pub(crate) stopping: CancellationToken,
    /// Signs tokens when no secret is configured; this process's own.
    own_secret: SecretString,
    /// Fixed when the process starts, like the lanes themselves.
    lane_bound: usize,
    /// Whether this process has a console. Fixed at its start, like its routes.
    pub(crate) has_console: bool,
    /// Sign-ins to the console, by address.
    pub(crate) sign_ins: PerAddress,
}

/// One configuration in force, with all that is made from it.
pub(crate) struct LiveConfig {
    pub config: Arc<Config>,
    /// The secrets that sign tokens, for applications to events.
    pub applications: ApplicationKeys,
    /// The secrets that sign tokens, for sessions of the console; `None` if there is no console.
    sessions: Option<SessionKeys>,
    /// The secrets with which backends sign identities.
    pub assertions: AssertionKeys,
    /// What the waiting pages of the queues are made of, by queue.
    pub pages: HashMap<String, Arc<QueuePage>>,
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
        let has_console = config.admission.console;
        let retries = Arc::new(PendingRetries::default());
        let context =
            EntityContext { config: &config, store: &store, retries: &retries, lane_bound };
        let in_force = InForce::reload(&InForce::default(), &metrics.kinds, &context);
        let secrets = secrets(&config, &own_secret);
        let forwarding = Forwarding::new(metrics.forwarding_ignored.clone());
        let process = Process::new(store.clone(), Some(forwarding), &config, secrets);
        let live = LiveConfig::new(config.clone(), in_force, secrets, has_console);
        let stream_slots = StreamSlots::new(max_connections, metrics.streams.clone());
        let feed = Feed::new(metrics.live_streams.clone());
        Arc::new(Self {
            live: ArcSwap::from_pointee(live),
            limits: Limits::open(&store, lane_bound),
            process,
            metrics,
            operations,
            stream_slots,
            feed,
            retries,
            stopping,
            own_secret,
            lane_bound,
            has_console,
            sign_ins: PerAddress::default(),
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

    /// Reports which waiting visitors were answered without Redis lately, and tries until Redis has
    /// taken all. To be called when no request is in progress any more.
    pub async fn report_polls(&self) {
        let live = self.live.load_full();
        let queues = QueueState::of(&live.in_force);
        let all = queues.names().into_iter().filter_map(|name| queues.get(name));
        let report = async |queue: Arc<QueueState>| {
            while !report_polls(&queue).await {
                tokio::time::sleep(REPORT_AGAIN).await;
            }
        };
        join_all(all.map(report)).await;
    }

    /// The entity of this kind and name, if one is configured.
    pub(crate) fn entity<K: Listed>(&self, name: &str) -> Option<Arc<K>> {
        K::of(&self.live.load().in_force).get(name)
    }

    /// The entity of this kind that a path names.
    ///
    /// # Errors
    ///
    /// When none is configured.
    pub(crate) fn at<K: Listed>(&self, path: &str) -> Result<Arc<K>, Problem> {
        K::of(&self.live.load().in_force).at(path)
    }

    /// What the waiting page of a queue is made of.
    pub(crate) fn page(&self, queue: &QueueState) -> Arc<QueuePage> {
        let page = self.live.load().pages.get(queue.name()).cloned();
        // Since the request came, a reload may have left the queue out.
        page.unwrap_or_else(|| Arc::new(QueuePage::new(&queue.config.page)))
    }

    /// Puts another configuration in force.
    pub(crate) fn reload(&self, config: Arc<Config>) {
        let context = EntityContext {
            config: &config,
            store: &self.process.store,
            retries: &self.retries,
            lane_bound: self.lane_bound,
        };
        let before = &self.live.load_full().in_force;
        let in_force = InForce::reload(before, &self.metrics.kinds, &context);
        let secrets = secrets(&config, &self.own_secret);
        self.process.reload(&config, secrets);
        let live = LiveConfig::new(config.clone(), in_force, secrets, self.has_console);
        self.live.store(Arc::new(live));
    }
}

impl LiveConfig {
    fn new(
        config: Arc<Config>,
        in_force: InForce,
        secrets: &[SecretString],
        has_console: bool,
    ) -> Self {
        let applications = ApplicationKeys::new(secrets).expect("one secret is given");
        let sessions = if has_console { SessionKeys::new(secrets) } else { None };
        let assertions = AssertionKeys::new(&config.admission.identity_secrets);
        let page = |(name, queue): (&String, &QueueConfig)| {
            (name.clone(), Arc::new(QueuePage::new(&queue.page)))
        };
        let pages = config.queues.iter().map(page).collect();
        problem::set_docs_url(config.admission.docs_url.as_str());
        Self { applications, sessions, assertions, pages, in_force, config }
    }

    /// How callers of the service port authenticate.
    pub fn access(&self) -> Access<'_> {
        Access { keys: &self.config.keys, sessions: self.sessions.as_ref() }
    }
}
