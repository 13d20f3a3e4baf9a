//! What the tests of the store share: scripts, batches, and stores with budgets of every kind.

use std::{borrow::Cow, time::Duration};

use anteroom_core::store::{Args, Batch, Config, Constants, Error, Repeat, Script, Sharded, Store};
use anteroom_testkit::{Log, PATIENCE, Proxy, Redis};
use prometheus::Registry;
use redis::Value;

const fn script(name: &'static str, source: &'static str) -> Script {
    Script::new(name, "", &[], source, Constants::shared)
}

pub static ADD: Script = script("test.add", include_str!("../lua/add.lua"));
pub static ECHO: Script = script("test.echo", include_str!("../lua/echo.lua"));
pub static FAIL: Script = script("test.fail", include_str!("../lua/fail.lua"));
pub static LIST: Script = script("test.list", include_str!("../lua/list.lua"));
pub static DEPOSIT: Script = script("test.deposit", include_str!("../lua/deposit.lua"));
pub static SCRIPTS: [&Script; 5] = [&ADD, &ECHO, &FAIL, &LIST, &DEPOSIT];

/// Budgets so wide that only a call that blocks by mistake would use them up.
pub fn patient(url: impl Into<String>) -> Config {
    Config { command_timeout: PATIENCE * 2, request_timeout: PATIENCE * 4, ..Config::new(url) }
}

/// Budgets for a peer that does not answer: a short time for a command, ample for a request.
pub fn brisk(url: impl Into<String>) -> Config {
    Config {
        connect_timeout: Duration::from_millis(300),
        command_timeout: Duration::from_millis(150),
        request_timeout: PATIENCE,
        ..Config::new(url)
    }
}

pub fn open(config: &Config) -> Store {
    open_in(&Registry::new(), config)
}

/// Opens a store whose metrics are in this registry.
pub fn open_in(registry: &Registry, config: &Config) -> Store {
    Log::keep_events_on();
    Store::open(config, &SCRIPTS, registry).expect("a valid configuration")
}

pub async fn opened(config: &Config) -> Store {
    let store = open(config);
    assert!(store.wait_up(PATIENCE).await, "the store does not come up");
    store
}

/// A server of its own, and a store on it.
pub async fn fresh() -> (Redis, Store) {
    let redis = Redis::start().await;
    let store = opened(&patient(redis.url())).await;
    (redis, store)
}

/// A server of its own, a proxy before it, and a store that goes through it.
pub async fn proxied(config: impl FnOnce(String) -> Config) -> (Redis, Proxy, Store) {
    let redis = Redis::start().await;
    let proxy = Proxy::start(redis.port()).await;
    let store = opened(&config(proxy.url())).await;
    (redis, proxy, store)
}

pub fn keys(tag: &str) -> Args {
    Args::new().with(format!("test:{{{tag}}}:account"))
}

pub async fn echo(store: &Store, text: &str) -> Result<String, Error> {
    let args = Args::new().with(text);
    store.call(&ECHO, &keys("echo"), &args, Repeat::IfUnknown).await.map(text_of)
}

/// (total, runs)
pub async fn add(
    store: &Store,
    tag: &str,
    id: &str,
    amount: i64,
    repeat: Repeat,
) -> Result<(i64, i64), Error> {
    let args = Args::new().with(id).with(amount);
    let reply = store.call(&ADD, &keys(tag), &args, repeat).await?;
    Ok(redis::from_redis_value(reply).expect("two numbers"))
}

/// Adds to accounts that are spread over many hash tags; each deposit has its own key.
pub struct Deposits;

#[derive(Clone)]
pub struct Deposit {
    pub tag: usize,
    pub account: &'static str,
    pub id: Option<&'static str>,
}

impl Deposit {
    pub fn key(&self) -> String {
        format!("test:{{{}}}:{}", self.tag, self.account)
    }

    /// Puts 1 on the account; its total.
    pub async fn submit(self, lanes: &Sharded<Deposits>) -> Result<i64, Error> {
        lanes.submit(self.tag, self).await
    }
}

impl Batch for Deposits {
    type Item = Deposit;
    type Outcome = i64;
    const MAX_ITEMS: usize = 16;

    fn script(&self) -> &'static Script {
        &DEPOSIT
    }

    fn keys(&self, items: &[Deposit]) -> Cow<'_, Args> {
        let mut keys = Args::new();
        for deposit in items {
            keys.push(deposit.key());
        }
        Cow::Owned(keys)
    }

    fn args(&self, items: &[Deposit]) -> Args {
        let mut args = Args::new();
        for deposit in items {
            args.push(deposit.id.unwrap_or_default()).push(1);
        }
        args
    }

    fn outcomes(&self, reply: Value, _items: &[Deposit]) -> Result<Vec<Result<i64, Error>>, Error> {
        let totals: Vec<i64> = redis::from_redis_value(reply).expect("numbers");
        Ok(totals.into_iter().map(Ok).collect())
    }

    fn repeat(&self, items: &[Deposit]) -> Repeat {
        if items.iter().all(|deposit| deposit.id.is_some()) {
            Repeat::IfUnknown
        } else {
            Repeat::Never
        }
    }
}

pub fn text_of(reply: Value) -> String {
    redis::from_redis_value(reply).expect("a text")
}
