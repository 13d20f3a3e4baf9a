//! The longest that a single call of a script can take: states that are built for it, with a
//! million of whatever there can be a million of, on a store that does nothing else. Time is given,
//! so that what takes minutes in life is built in a moment.

pub mod event;
pub mod limit;
pub mod pool;
pub mod queue;

use std::{
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use anteroom_core::store::{Clock, Config, Store};
use anteroom_testkit::Redis;
use anyhow::{Context as _, ensure};
use futures_util::future::join_all;

use crate::{
    progress::say,
    report::{Bound, Row, Section},
    stats::{least, median, most},
};

/// Calls of each state.
const CALLS: usize = 9;
/// Items of a full call.
const ITEMS: u64 = 64;
/// Calls that are under way at once while something is filled.
const TOGETHER: u64 = 2_048;
const SECOND: u64 = 1_000_000;

/// Lets the work run on one thread of its own, where all items of a call are asked for before the
/// call goes.
async fn on_a_thread<T, F>(work: impl FnOnce() -> F + Send + 'static) -> anyhow::Result<T>
where
    T: Send + 'static,
    F: Future<Output = anyhow::Result<T>>,
{
    let done = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(work())
    });
    done.await.context("a state could not be built")?
}

/// What was measured of the calls.
#[derive(Default)]
struct Rows(Vec<Row>);

impl Rows {
    fn add(&mut self, name: &str, times: Vec<f64>) {
        let row = Row::new(name)
            .within("µs", median(&times), Some(Bound::AtMost(1_000.0)))
            .figure("least", least(&times))
            .figure("most", most(&times));
        say(&format!("worst: {}, {:?}", row.name, row.figures));
        self.0.push(row);
    }

    fn section(self, name: &'static str, title: &str) -> Section {
        Section {
            name,
            title: title.to_owned(),
            how: format!(
                "Single calls by Redis' own clock (`INFO commandstats`), the median of {CALLS}. \
                 Each comes after a pause, and finds cold caches."
            ),
            rows: self.0,
        }
    }
}

/// A store of its own, with a clock that is moved by hand.
struct Stand {
    redis: Redis,
    store: Store,
    clock: Arc<AtomicU64>,
}

impl Stand {
    async fn new() -> anyhow::Result<Self> {
        let redis = Redis::start().await;
        let patient = Duration::from_secs(60);
        let config = Config {
            command_timeout: patient,
            request_timeout: patient,
            ..Config::new(redis.socket_url())
        };
        let store = Store::open(&config, &anteroom_core::scripts(), &prometheus::Registry::new())?;
        ensure!(store.wait_up(patient).await, "the store does not answer");
        Ok(Self { redis, store, clock: Arc::new(AtomicU64::new(1_800_000_000 * SECOND)) })
    }

    /// The clock for what is measured.
    fn given(&self) -> Clock {
        Clock::Given(self.clock.clone())
    }

    /// What a call answers, and its time in µs.
    async fn timed<T, E: Into<anyhow::Error>>(
        &self,
        call: impl Future<Output = Result<T, E>>,
    ) -> anyhow::Result<(T, f64)> {
        self.redis.run::<()>(&["CONFIG", "RESETSTAT"]).await;
        let answer = call.await.map_err(Into::into)?;
        Ok((answer, self.one_call_us("evalsha").await?))
    }

    /// The time of one call that all these share.
    async fn timed_all<T, E: Into<anyhow::Error>>(
        &self,
        items: impl Iterator<Item = impl Future<Output = Result<T, E>>>,
    ) -> anyhow::Result<f64> {
        self.redis.run::<()>(&["CONFIG", "RESETSTAT"]).await;
        for answer in join_all(items).await {
            answer.map_err(Into::into)?;
        }
        self.one_call_us("evalsha").await
    }

    /// The time of the only call of a command since the last reset.
    async fn one_call_us(&self, command: &str) -> anyhow::Result<f64> {
        let calls = self.redis.calls(command).await;
        ensure!(calls == 1, "one call of {command} was expected: {calls}");
        self.call_us(command).await
    }

    /// The mean time of the calls of a command since the last reset.
    async fn call_us(&self, command: &str) -> anyhow::Result<f64> {
        let stats: String = self.redis.run(&["INFO", "commandstats"]).await;
        let prefix = format!("cmdstat_{command}:");
        let line = stats.lines().find_map(|line| line.strip_prefix(&prefix));
        let mut fields = line.into_iter().flat_map(|line| line.split(','));
        let us = fields.find_map(|field| field.strip_prefix("usec_per_call=")?.parse().ok());
        us.context("Redis says what the call took")
    }
}
