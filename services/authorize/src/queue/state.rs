//! What this process keeps of a queue between requests, and what a queue refuses.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anteroom_config::{Origin, QueueConfig};
use anteroom_core::queue::{PlaceRef, Queue, Rules, Snapshot, Visit};
use anteroom_core::store::{Error, Store};
use anteroom_runtime::SnapshotGauges;
use rand::Rng as _;

use super::active_cache::ActiveCache;
use super::fail_open::FailOpen;
use super::gate::BypassedVisits;
use super::history::History;
use super::line::{FRESH, Line};
use super::metrics::{QueueFamilies, QueueMetrics};
use super::return_to::ReturnTo;
use super::streams::Streams;
use crate::callers::cookies::Cookies;
use crate::defences::{FirstPlaces, JoinsPerAddress, RequestsPerPlace};
use crate::latest::{Latest, Seen};
use crate::problem::Problem;
use crate::problem::retry::{self, PendingRetries};
use crate::snapshots::Snapshots;

/// One queue as handlers see it.
#[derive(Clone)]
pub struct QueueState {
    /// The operations.
    pub queue: Queue,
    /// Its part of the configuration.
    pub config: QueueConfig,
    /// How its cookie is named and guarded.
    pub cookies: Arc<Cookies>,
    /// Where a visitor may go on to.
    pub return_to: ReturnTo,
    /// The newest snapshot.
    pub latest: Arc<Latest<Snapshot>>,
    /// What the snapshots of the last 15 minutes show.
    pub history: Arc<History>,
    /// The places that this process has seen active.
    pub active_cache: Arc<ActiveCache>,
    /// The line, from which this process answers polls.
    pub line: Arc<Line>,
    /// Who passes while Redis is down and `on_store_error` is `open`.
    pub fail_open: Arc<FailOpen>,
    /// How many joined from which address.
    pub joins_per_address: JoinsPerAddress,
    /// The last warning, under this configuration, that one address can hold half of the slots.
    crowding: Arc<Mutex<Option<String>>>,
    /// Which addresses had a place before.
    pub first_places: Arc<FirstPlaces>,
    /// How many requests named which place.
    pub requests_per_place: RequestsPerPlace,
    /// Streams that are open, by place.
    pub streams: Arc<Streams>,
    /// Visits of places that pass in a bypass.
    pub bypassed_visits: Arc<BypassedVisits>,
    /// What is counted of it.
    pub metrics: Arc<QueueMetrics>,
    gauges: SnapshotGauges<Snapshot>,
    /// The retries that this process has scheduled, of any queue.
    pub retries: Arc<PendingRetries>,
    /// The retries after joins that this queue refused: they delay no other queue.
    pub refused: Arc<PendingRetries>,
}

impl QueueState {
    /// The name of the queue.
    pub fn name(&self) -> &str {
        self.queue.name()
    }

    /// The longest time between two polls of a place: half of the time in which a turn must be
    /// claimed and a new place must poll, as far as this process knows. An operator may have
    /// changed it.
    pub fn max_poll_delay(&self) -> Duration {
        let shortest =
            |claim_ttl: Duration, first_poll_ttl: Duration| claim_ttl.min(first_poll_ttl);
        let configured = shortest(self.config.rules.claim_ttl, self.config.rules.first_poll_ttl);
        let live = self.latest.map(|seen| {
            let rules = &seen.snapshot.rules;
            shortest(rules.claim_ttl, rules.first_poll_ttl)
        });
        live.map_or(configured, |live| live.min(configured)) / 2
    }

    /// Warns if one address can hold half of the slots by these rules, which are in force: at the
    /// start, after a reload, and when they change.
    pub fn warn_of_crowding(&self, rules: &Rules) {
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
    pub fn most_per_address(&self) -> Option<u64> {
        self.in_force(Rules::most_per_address)
    }

    /// A value of the rules in force; of the configured ones before this process has read those.
    pub fn in_force<T>(&self, read: impl Fn(&Rules) -> T) -> T {
        let live = self.latest.map(|seen| read(&seen.snapshot.rules));
        live.unwrap_or_else(|| read(&self.config.rules))
    }

    /// How many places two intervals can promote; without a batch as many as there are slots, or as
    /// were promoted lately in 2 times the age of the oldest sketch that answers.
    pub fn front(&self) -> u64 {
        let of = |rules: &Rules, adaptive: Option<u64>, rate: f64| match rules.batch.max(adaptive) {
            Some(batch) => batch.saturating_mul(2),
            None => rules
                .capacity
                .unwrap_or_default()
                .max((2.0 * rate * FRESH.as_secs_f64()).ceil() as u64),
        };
        let live = self.latest.map(|seen| {
            let Snapshot { rules, adaptive, rate_per_second, .. } = &seen.snapshot;
            let adaptive = adaptive.as_ref().map(|adaptive| adaptive.batch);
            of(rules, adaptive, rate_per_second.unwrap_or_default())
        });
        live.unwrap_or_else(|| of(&self.config.rules, None, 0.0))
    }

    /// Redis has answered a poll, or what counts as one.
    pub fn polled(&self, of: PlaceRef, visit: &Visit) {
        self.metrics.polled(visit);
        self.line.learn(of, visit);
    }

    /// Redis has returned that a place has ended: this process answers nothing of it by itself.
    pub fn has_ended(&self, of: PlaceRef) {
        self.active_cache.forget(of);
        self.line.forget(of.ticket);
    }

    /// Schedules a retry after a failure on our side.
    pub fn retry(&self) -> Duration {
        self.retries.schedule(self.depth(), retry::MIN_DELAY, self.max_poll_delay())
    }

    /// The same as a hint to many requests of one visitor, who does not retry each of them.
    pub fn retry_hint(&self) -> Duration {
        retry::after(self.depth(), retry::MIN_DELAY, self.max_poll_delay(), rand::rng().random())
    }

    /// A failure of the store, with its `Retry-After`.
    pub fn failed(&self, error: &Error) -> Problem {
        let problem = Problem::from(error);
        if problem.retry_delay().is_some() { problem.retry_after(self.retry()) } else { problem }
    }

    /// The same for a call that changes nothing for its caller: no effect of it can be unknown.
    pub fn read_failed(&self, error: Error) -> Problem {
        self.failed(&match error {
            Error::Unknown(cause) => Error::Unavailable(cause),
            error => error,
        })
    }

    /// The last reading of the line's length.
    fn depth(&self) -> u64 {
        self.latest.get().map_or(0, |seen| seen.snapshot.depth)
    }
}

/// What a queue is made with.
pub struct QueueContext<'a> {
    /// The name of the queue.
    pub name: &'a str,
    /// Its part of the configuration.
    pub config: &'a QueueConfig,
    /// How cookies are named and guarded.
    pub cookies: Cookies,
    /// The metrics of all queues.
    pub families: &'a QueueFamilies,
    /// Redis.
    pub store: &'a Store,
    /// How many calls may wait in a lane.
    pub lane_bound: usize,
    /// The retries that this process has scheduled.
    pub retries: &'a Arc<PendingRetries>,
}

impl QueueState {
    /// The queue of a new configuration, which carries over what `before` remembers. Must be called
    /// inside a Tokio runtime.
    pub fn new(context: QueueContext<'_>, before: Option<&Self>) -> Self {
        let QueueContext { name, config, cookies, families, store, lane_bound, retries } = context;
        let cookies = Arc::new(cookies);
        let origins = config.return_to_origins.iter().map(Origin::as_str);
        let return_to = ReturnTo::new(origins, config.return_query);
        if let Some(before) = before {
            before.queue.set_rules(config.rules.clone());
            let joins = &before.joins_per_address;
            return Self {
                cookies,
                return_to,
                joins_per_address: joins.with(config.joins_per_address, &config.exempt),
                requests_per_place: before.requests_per_place.with(config.requests_per_place),
                config: config.clone(),
                crowding: Arc::default(),
                ..before.clone()
            };
        }
        Self {
            queue: Queue::open(store, name, config.rules.clone(), lane_bound),
            cookies,
            return_to,
            joins_per_address: JoinsPerAddress::new(config.joins_per_address, &config.exempt),
            requests_per_place: RequestsPerPlace::new(config.requests_per_place),
            config: config.clone(),
            crowding: Arc::default(),
            first_places: Arc::default(),
            latest: Arc::default(),
            history: Arc::default(),
            active_cache: Arc::default(),
            line: Arc::default(),
            fail_open: Arc::default(),
            streams: Arc::default(),
            bypassed_visits: Arc::new(BypassedVisits::start()),
            metrics: Arc::new(families.of(name)),
            gauges: families.gauges.clone(),
            retries: retries.clone(),
            refused: Arc::default(),
        }
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

    fn act_on(&self, snapshot: &Snapshot) {
        self.gauges.show(self.name(), snapshot);
        self.warn_of_crowding(&snapshot.rules);
    }

    fn observe(&self, requested_at: Instant, snapshot: Snapshot) -> Arc<Seen<Snapshot>> {
        if self.latest.map(|seen| seen.snapshot.epoch != snapshot.epoch) == Some(true) {
            self.active_cache.clear();
            self.line.lose();
        }
        self.history.note(requested_at, &snapshot);
        self.latest.set(requested_at, snapshot)
    }
}
