//! The services under test, on a store of their own, and the visitors in their queues.
//!
//! Lines are filled through the product's own operations, in batches, so the store holds what joins
//! over HTTP would have left there.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use anteroom_config::Config;
use anteroom_core::{
    event::{Apply, Event, Rules as EventRules},
    queue::{Join, Place, PlaceId, PlaceRef, Queue, Rules, Status, Token, TokenKeys, Visit},
    store::{Config as StoreConfig, Store},
};
use anteroom_testkit::{Anteroom, Redis, Service};
use anyhow::{Context as _, bail, ensure};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use crate::{
    meter::{Processes, Question},
    request::{KEY_DIGEST, Requests},
};

/// Signs the tokens of the run.
const SECRET: &str = "the-secret-of-the-benchmark-of-32-bytes-and-more";
/// How many calls the driver keeps in flight while it fills a line.
pub const IN_FLIGHT: usize = 2_000;
/// For the driver's own calls, which compete with nothing.
const AMPLE: Duration = Duration::from_secs(20);
/// About as often as places are promoted.
const A_TICK: Duration = Duration::from_millis(100);

/// What every queue of the benchmark has: no place is skipped, no session ends, no call is over a
/// limit during the run. The limits themselves are on, because they cost time; those by address are
/// for many addresses, and here all calls come from one.
const EVERY_QUEUE: &str = r#"
[queues."*"]
max_waiting = 10_000_000
idle_ttl = "24h"
first_poll_ttl = "24h"
keep_ttl = "7d"
session_ttl = "1h"
session_max = "24h"
joins_per_address = "1000000/1s"
exempt = ["127.0.0.0/8"]
requests_per_place = 1000
"#;

/// A queue in which everyone waits, whose answers all come from Redis.
pub fn line(name: &str) -> String {
    room(name, 1) + "opens_at = \"2100-01-01T00:00:00Z\"\n"
}

/// A queue with room for so many, whose answers all come from Redis.
pub fn room(name: &str, capacity: u64) -> String {
    format!("[queues.{name}]\ncapacity = {capacity}\n{EXACT}")
}

/// The same queue with local answers.
pub fn local(queue: &str) -> String {
    queue.replace(EXACT, "local_answers = true\n")
}

const EXACT: &str = "local_answers = false\n";

/// So many new visitors apply to an event, and all are accepted; `series` makes them other ones.
pub async fn apply(event: &Event, series: u64, visitors: u64) -> anyhow::Result<()> {
    let apply = async |n| {
        // As long as a UUID.
        let applied = event.apply(&format!("{series:018x}{n:018x}")).await?;
        ensure!(matches!(applied, Apply::Accepted(_)), "an application ended in {applied:?}");
        Ok(())
    };
    stream::iter(0..visitors).map(apply).buffer_unordered(IN_FLIGHT).try_collect().await
}

/// The services, the store and the visitors.
pub struct World {
    /// Admission, scheduler and Redis.
    pub anteroom: Anteroom,
    /// Further admissions.
    pub more_admissions: Vec<Service>,
    /// Further schedulers.
    pub more_schedulers: Vec<Service>,
    store: Store,
    rules: HashMap<String, Rules>,
    events: HashMap<String, EventRules>,
    keys: TokenKeys,
}

impl World {
    /// Starts an admission and a scheduler with these queues, limits and targets (TOML) and waits
    /// until they are ready.
    pub async fn start(sections: &[String]) -> anyhow::Result<Self> {
        let key = format!("[keys.bench]\ndigest = \"{KEY_DIGEST}\"\nrole = \"backend\"\n");
        let config = format!("{key}{EVERY_QUEUE}{}", sections.concat());
        let redis = Redis::start().await;
        let env = [
            ("ANTEROOM_ADMISSION__TOKEN_SECRETS", SECRET),
            // All that comes here comes from one address.
            ("ANTEROOM_ADMISSION__SSE_PER_ADDRESS", "0"),
        ];
        let anteroom = Anteroom::start_on(redis, &config, &env).await;
        let url = StoreConfig::new(anteroom.deployment.redis.socket_url());
        let patient = StoreConfig { command_timeout: AMPLE, request_timeout: AMPLE, ..url };
        let store = Store::open(&patient, &anteroom_core::scripts(), &prometheus::Registry::new())?;
        ensure!(store.wait_up(AMPLE).await, "the store is not up");
        let file = anteroom.deployment.config_file();
        let config = Config::load(Some(&file)).context("the benchmark's own configuration")?;
        let rules = config.queues.iter().map(|(name, queue)| (name.clone(), queue.rules.clone()));
        let events = config.events.iter().map(|(name, event)| (name.clone(), event.rules.clone()));
        anteroom.admission.until_ready().await;
        anteroom.scheduler.until_ready().await;
        Ok(Self {
            rules: rules.collect(),
            events: events.collect(),
            keys: TokenKeys::new(&[SECRET.into()]).context("one secret is given")?,
            more_admissions: Vec::new(),
            more_schedulers: Vec::new(),
            store,
            anteroom,
        })
    }

    /// A way to one of the queues that goes past admission.
    pub fn queue(&self, name: &str) -> anyhow::Result<Queue> {
        let rules = self.rules.get(name).with_context(|| format!("no queue {name}"))?;
        Ok(Queue::open(&self.store, name, rules.clone(), 2 * IN_FLIGHT))
    }

    /// A way to one of the events that goes past admission.
    pub fn event(&self, name: &str) -> anyhow::Result<Event> {
        let rules = self.events.get(name).with_context(|| format!("no event {name}"))?;
        Ok(Event::open(&self.store, name, rules.clone(), 2 * IN_FLIGHT))
    }

    /// Lets so many new visitors join, and expects all of them to wait.
    pub async fn fill(&self, queue: &str, visitors: u64) -> anyhow::Result<Vec<PlaceRef>> {
        let joined = self.join(queue, "waits", visitors).await?;
        let places = joined.into_iter().map(|(of, place)| {
            ensure!(place.status() == Status::Waiting, "who should wait in {queue} is {place:?}");
            Ok(of)
        });
        places.collect()
    }

    /// Lets so many new visitors in, waiting for their turns if they do not come at once.
    pub async fn admit(&self, queue: &str, visitors: u64) -> anyhow::Result<Vec<PlaceRef>> {
        let joined = self.join(queue, "goes in", visitors).await?;
        let (queue, deadline) = (&self.queue(queue)?, Instant::now() + AMPLE);
        let claim = async |of| loop {
            match queue.claim(of).await? {
                Visit::Here(place) if place.status() == Status::Active => return Ok(of),
                Visit::NotReady(_) if Instant::now() < deadline => tokio::time::sleep(A_TICK).await,
                other => bail!("a claim of the benchmark ended in {other:?}"),
            }
        };
        let places = joined.into_iter().map(|(of, _)| claim(of));
        stream::iter(places).buffered(IN_FLIGHT).try_collect().await
    }

    async fn join(
        &self,
        queue: &str,
        who: &str,
        visitors: u64,
    ) -> anyhow::Result<Vec<(PlaceRef, Place)>> {
        let queue = &self.queue(queue)?;
        let join = async |n| {
            let key = format!("a visitor of the benchmark who {who}: {n}");
            match queue.join(PlaceId::of_key(queue.name(), key.as_bytes())).await? {
                Join::Created(of, place) => Ok((of, place)),
                other => bail!("a join of the benchmark ended in {other:?}"),
            }
        };
        stream::iter(0..visitors).map(join).buffered(IN_FLIGHT).try_collect().await
    }

    /// The gate's question about at most `most` of so many places, which this lets in.
    pub async fn authorize(
        &self,
        queue: &str,
        visitors: u64,
        most: u64,
    ) -> anyhow::Result<Question> {
        let places = self.admit(queue, visitors).await?;
        let path = format!("/v1/queues/{queue}/authorize");
        Ok(self.question("queue.authorize", queue, &path, &places, most))
    }

    /// The polls of at most `most` of so many places, which this lets wait.
    pub async fn place(&self, queue: &str, waiting: u64, most: u64) -> anyhow::Result<Question> {
        let places = self.fill(queue, waiting).await?;
        let path = format!("/v1/queues/{queue}/token");
        Ok(self.question("queue.place", queue, &path, &places, most))
    }

    fn question(
        &self,
        operation: &'static str,
        queue: &str,
        path: &str,
        places: &[PlaceRef],
        most: u64,
    ) -> Question {
        let requests = Requests::with_tokens(path, &self.tokens(queue, places, most));
        Question { operation, requests: Arc::new(requests), expect: 200 }
    }

    /// Tokens of at most `most` of these places, spread over all of them.
    pub fn tokens(&self, queue: &str, places: &[PlaceRef], most: u64) -> Vec<String> {
        let most = usize::try_from(most).unwrap_or(usize::MAX).max(1);
        let step = places.len().div_ceil(most).max(1);
        let token = |place: &PlaceRef| Token { place: *place, visitor_id: None };
        places.iter().step_by(step).map(|place| self.keys.sign(queue, &token(place))).collect()
    }

    /// Starts a further admission and waits until it is ready.
    pub async fn add_admission(&mut self) {
        let admission = self.anteroom.deployment.admission().await;
        admission.until_ready().await;
        self.more_admissions.push(admission);
    }

    /// All admissions.
    pub fn admissions(&self) -> impl Iterator<Item = &Service> {
        std::iter::once(&self.anteroom.admission).chain(&self.more_admissions)
    }

    /// Where the requests of an operation go.
    pub fn addresses(&self, operation: &str) -> anyhow::Result<Vec<SocketAddr>> {
        let port = if operation.starts_with("queue.") { "public" } else { "service" };
        self.admissions().map(|admission| Ok(admission.address(port).parse()?)).collect()
    }

    /// All that answer a load.
    pub fn processes(&self) -> Processes {
        let id = |service: &Service| service.process.id();
        let schedulers = std::iter::once(&self.anteroom.scheduler).chain(&self.more_schedulers);
        Processes {
            gateway: None,
            servers: self.admissions().map(id).collect(),
            schedulers: schedulers.map(id).collect(),
            store: self.anteroom.deployment.redis.id(),
        }
    }

    /// A way to the store that goes past admission.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Bytes that the store's allocator has given out.
    pub async fn used_memory(&self) -> anyhow::Result<f64> {
        let info: String = self.anteroom.deployment.redis.run(&["INFO", "memory"]).await;
        let used =
            info.lines().find_map(|line| line.strip_prefix("used_memory:")?.trim().parse().ok());
        used.context("no used_memory")
    }

    /// The process id of the store.
    pub fn store_id(&self) -> anyhow::Result<u32> {
        self.anteroom.deployment.redis.id().context("the store runs")
    }
}
