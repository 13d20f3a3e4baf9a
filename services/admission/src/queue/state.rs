//! What this process keeps of a queue between requests, and what a queue refuses.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anteroom_config::{Origin, QueueConfig};
use anteroom_core::queue::{Queue, Rules, Snapshot};
use anteroom_core::store::Error;
use rand::Rng as _;

use super::active_cache::ActiveCache;
use super::fail_open::FailOpen;
use super::gate::BypassedVisits;
use super::metrics::{QueueFamilies, QueueMetrics};
use super::problems;
use super::return_to::ReturnTo;
use super::streams::Streams;
use super::waiting_page::QueuePage;
use crate::callers::cookies::Cookies;
use crate::defences::{FirstPlaces, JoinsPerAddress, RequestsPerPlace};
use crate::entities::{Entity, EntityContext, Served, Snapshots};
use crate::latest::{Latest, Seen};
use crate::problem::retry::{self, PendingRetries};
use crate::problem::{Code, Problem};
use crate::tasks::{Tasks, revocations};

/// One queue as handlers see it.
#[derive(Clone)]
pub struct QueueState {
    /// The operations.
    pub queue: Queue,
    pub(crate) config: QueueConfig,
    /// How its cookie is named and guarded.
    pub(crate) cookies: Arc<Cookies>,
    /// What its waiting page is made of.
    pub(crate) page: Arc<QueuePage>,
    /// Where a visitor may go on to.
    pub(crate) return_to: ReturnTo,
    /// The newest snapshot.
    pub(crate) latest: Arc<Latest<Snapshot>>,
    /// The places that this process has seen active.
    pub(crate) active_cache: Arc<ActiveCache>,
    /// Who passes while Redis is down and `on_store_error` is `open`.
    pub(crate) fail_open: Arc<FailOpen>,
    /// How many joined from which address.
    pub(crate) joins_per_address: JoinsPerAddress,
    /// The last warning, under this configuration, that one address can hold half of the slots.
    crowding: Arc<Mutex<Option<String>>>,
    /// Which addresses had a place before.
    pub(crate) first_places: Arc<FirstPlaces>,
    /// How many requests named which place.
    pub(crate) requests_per_place: RequestsPerPlace,
    /// Streams that are open, by place.
    pub(crate) streams: Arc<Streams>,
    /// Visits of places that pass in a bypass.
    pub(crate) bypassed_visits: Arc<BypassedVisits>,
    pub(crate) metrics: Arc<QueueMetrics>,
    /// The retries that this process has scheduled, of any queue.
    pub(crate) retries: Arc<PendingRetries>,
    /// The retries after joins that this queue refused: they delay no other queue.
    pub(crate) refused: Arc<PendingRetries>,
}

impl QueueState {
    pub(crate) fn name(&self) -> &str {
        self.queue.name()
    }

    /// The longest time between two polls of a place: half of the time in which a turn must be
    /// claimed and a new place must poll, as far as this process knows. An operator may have
    /// changed it.
    pub(crate) fn max_poll_delay(&self) -> Duration {
        let shortest =
            |claim_ttl: Duration, first_poll_ttl: Duration| claim_ttl.min(first_poll_ttl);
        let configured = shortest(self.config.rules.claim_ttl, self.config.rules.first_poll_ttl);
        let live = self.latest.get().map(|seen| {
            let rules = &seen.snapshot.rules;
            shortest(rules.claim_ttl, rules.first_poll_ttl)
        });
        live.map_or(configured, |live| live.min(configured)) / 2
    }

    /// Warns if one address can hold half of the slots by these rules, which are in force: at the
    /// start, after a reload, and when they change.
    pub(crate) fn warn_of_crowding(&self, rules: &Rules) {
        let warning = self.config.crowding(self.name(), rules);
        let mut last = self.crowding.lock().unwrap_or_else(PoisonError::into_inner);
        if warning != *last {
            if let Some(warning) = &warning {
                tracing::warn!("{warning}");
            }
            *last = warning;
        }
    }

    /// How many places one address may hold, by the rules in force as far as this process knows;
    /// `None` for any number.
    pub(crate) fn most_per_address(&self) -> Option<u64> {
        self.in_force(Rules::most_per_address)
    }

    /// A value of the rules in force; of the configured ones before this process has read those.
    pub(crate) fn in_force<T>(&self, read: impl Fn(&Rules) -> T) -> T {
        let live = self.latest.map(|seen| read(&seen.snapshot.rules));
        live.unwrap_or_else(|| read(&self.config.rules))
    }

    /// Schedules a retry after a failure on our side.
    pub(crate) fn retry(&self) -> Duration {
        self.retries.schedule(self.depth(), retry::MIN_DELAY, self.max_poll_delay())
    }

    /// The same as a hint to many requests of one visitor, who does not retry each of them.
    pub(crate) fn retry_hint(&self) -> Duration {
        retry::after(self.depth(), retry::MIN_DELAY, self.max_poll_delay(), rand::rng().random())
    }

    /// A failure of the store, with its `Retry-After`.
    pub(crate) fn failed(&self, error: &Error) -> Problem {
        let problem = Problem::from(error);
        if problem.retry_delay().is_some() { problem.retry_after(self.retry()) } else { problem }
    }

    /// The last reading of the line's length.
    fn depth(&self) -> u64 {
        self.latest.get().map_or(0, |seen| seen.snapshot.depth)
    }
}

impl Served for Queue {
    type State = QueueState;
}

impl Entity for QueueState {
    type Kind = Queue;
    type Families = QueueFamilies;

    const UNKNOWN: Code = Code::UNKNOWN_QUEUE;
    const CODES: &'static [&'static [Code]] = &[problems::TOKEN, problems::QUEUE];

    fn make(
        name: &str,
        config: &QueueConfig,
        before: Option<&Self>,
        families: &QueueFamilies,
        context: &EntityContext<'_>,
    ) -> Self {
        let admission = &context.config.admission;
        let domain = admission.cookie_domain.as_deref();
        let cookies = Arc::new(Cookies::new(admission.secure_cookies, domain));
        let origins = config.return_to_origins.iter().map(Origin::as_str);
        let return_to = ReturnTo::new(origins, config.return_query);
        if let Some(before) = before {
            before.queue.set_rules(config.rules.clone());
            let joins = &before.joins_per_address;
            return Self {
                cookies,
                page: Arc::new(QueuePage::new(&config.page)),
                return_to,
                joins_per_address: joins.with(config.joins_per_address, &config.exempt),
                requests_per_place: before.requests_per_place.with(config.requests_per_place),
                config: config.clone(),
                crowding: Arc::default(),
                ..before.clone()
            };
        }
        Self {
            queue: Queue::open(context.store, name, config.rules.clone(), context.lane_bound),
            cookies,
            page: Arc::new(QueuePage::new(&config.page)),
            return_to,
            joins_per_address: JoinsPerAddress::new(config.joins_per_address, &config.exempt),
            requests_per_place: RequestsPerPlace::new(config.requests_per_place),
            config: config.clone(),
            crowding: Arc::default(),
            first_places: Arc::default(),
            latest: Arc::default(),
            active_cache: Arc::default(),
            fail_open: Arc::default(),
            streams: Arc::default(),
            bypassed_visits: Arc::new(BypassedVisits::start()),
            metrics: Arc::new(families.of(name)),
            retries: context.retries.clone(),
            refused: Arc::default(),
        }
    }

    fn spawn(tasks: &Tasks<'_>) {
        tasks.snapshots::<Self>();
        tasks.keep::<Self, _>("queue_revocations".to_owned(), revocations::keep);
    }
}

impl Snapshots for QueueState {
    type Snapshot = Snapshot;

    fn latest(&self) -> &Latest<Snapshot> {
        &self.latest
    }

    async fn snapshot(&self) -> Result<Snapshot, Error> {
        self.queue.snapshot().await
    }

    fn act_on(&self, families: &QueueFamilies, snapshot: &Snapshot) {
        families.gauges.show(self.name(), snapshot);
        self.warn_of_crowding(&snapshot.rules);
    }

    fn observe(&self, requested_at: Instant, snapshot: Snapshot) -> Arc<Seen<Snapshot>> {
        if self.latest.map(|seen| seen.snapshot.epoch != snapshot.epoch) == Some(true) {
            self.active_cache.clear();
        }
        self.latest.set(requested_at, snapshot)
    }
}
