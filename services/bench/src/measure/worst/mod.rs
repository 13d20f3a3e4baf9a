//! The longest that a single call of a script can take: states that are built for it, with a
//! million of what can be a million, on a store that does nothing else. The clock is moved by hand,
//! so that states of minutes are built in a moment.

pub mod event;
pub mod limit;
pub mod pool;
pub mod queue;

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use anteroom_core::store::{Clock, Config, Store};
use anteroom_testkit::Redis;
use anyhow::{Context as _, ensure};
use futures_util::future::join_all;

use crate::{
    meter,
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

/// Runs the work on a thread of its own, so that all items of a call are submitted before it is
/// sent.
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

/// An entity on a store of its own, with a clock that is moved by hand, and what its calls took.
struct Stand<E> {
    entity: E,
    /// How many were made of what fills it: places, applications, or names of calls.
    made: u64,
    redis: Redis,
    clock: Arc<AtomicU64>,
    /// Times in µs by row, in the order of the first calls.
    times: RefCell<Vec<(String, Vec<f64>)>>,
    _store: Store,
}

impl<E> Stand<E> {
    async fn new(open: impl FnOnce(&Store, Clock) -> E) -> anyhow::Result<Self> {
        let redis = Redis::start().await;
        let patient = Duration::from_secs(60);
        let config = Config {
            command_timeout: patient,
            request_timeout: patient,
            ..Config::new(redis.socket_url())
        };
        let store = Store::open(&config, &anteroom_core::scripts(), &prometheus::Registry::new())?;
        ensure!(store.wait_up(patient).await, "the store does not answer");
        let clock = Arc::new(AtomicU64::new(1_800_000_000 * SECOND));
        let entity = open(&store, Clock::Given(clock.clone()));
        Ok(Self { entity, made: 0, redis, clock, times: RefCell::default(), _store: store })
    }

    /// Moves the clock forward.
    fn advance(&self, micros: u64) {
        self.clock.fetch_add(micros, Ordering::SeqCst);
    }

    /// The numbers of the next ones that fill it, at most [`TOGETHER`], up to this one.
    fn next(&mut self, end: u64) -> std::ops::Range<u64> {
        let numbers = self.made..end.min(self.made + TOGETHER);
        self.made = numbers.end;
        numbers
    }

    /// The result of a call; its time goes to a row.
    async fn timed<T, F: Into<anyhow::Error>>(
        &self,
        row: &str,
        call: impl Future<Output = Result<T, F>>,
    ) -> anyhow::Result<T> {
        self.reset().await;
        let result = call.await.map_err(Into::into)?;
        self.add(row, 1).await?;
        Ok(result)
    }

    /// The time of the one call that all these items share goes to a row.
    async fn timed_all<T, F: Into<anyhow::Error>>(
        &self,
        row: &str,
        items: impl Iterator<Item = impl Future<Output = Result<T, F>>>,
    ) -> anyhow::Result<()> {
        let all =
            async { join_all(items).await.into_iter().try_for_each(|result| result.map(drop)) };
        self.timed(row, all).await
    }

    /// The mean time of the calls that one operation makes goes to a row.
    async fn timed_parts<T, F: Into<anyhow::Error>>(
        &self,
        row: &str,
        operation: impl Future<Output = Result<T, F>>,
    ) -> anyhow::Result<()> {
        self.reset().await;
        operation.await.map_err(Into::into)?;
        let stats: String = self.redis.run(&["INFO", "commandstats"]).await;
        self.add(row, meter::field_of(&stats, "evalsha", "calls") as u64).await
    }

    async fn reset(&self) {
        self.redis.run::<()>(&["CONFIG", "RESETSTAT"]).await;
    }

    /// Adds the mean time of the calls since the reset, which are so many.
    async fn add(&self, row: &str, calls: u64) -> anyhow::Result<()> {
        let [us] = self.call_us(calls, ["evalsha"]).await?;
        let mut times = self.times.borrow_mut();
        match times.iter_mut().find(|(name, _)| name == row) {
            Some((_, times)) => times.push(us),
            None => times.push((row.to_owned(), vec![us])),
        }
        Ok(())
    }

    /// The mean times of commands in so many calls of scripts since the reset.
    async fn call_us<const N: usize>(
        &self,
        calls: u64,
        commands: [&str; N],
    ) -> anyhow::Result<[f64; N]> {
        let stats: String = self.redis.run(&["INFO", "commandstats"]).await;
        let found = meter::field_of(&stats, "evalsha", "calls");
        ensure!(found == calls as f64, "{calls} calls were expected: {found}");
        Ok(commands.map(|command| meter::field_of(&stats, command, "usec_per_call")))
    }

    fn rows(self) -> Vec<Row> {
        let row = |(name, times): (String, Vec<f64>)| {
            let row = Row::new(name)
                .within("µs", median(&times), Some(Bound::AtMost(1_000.0)))
                .figure("least", least(&times))
                .figure("most", most(&times));
            say(&format!("worst: {}, {:?}", row.name, row.figures));
            row
        };
        self.times.into_inner().into_iter().map(row).collect()
    }
}

fn section(name: &'static str, title: String, rows: Vec<Row>) -> Section {
    let how = format!(
        "Single calls by Redis' own clock (`INFO commandstats`), the median of {CALLS}. \
         Each comes after a pause, and finds cold caches."
    );
    Section { name, title, how, rows }
}
