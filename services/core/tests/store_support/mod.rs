//! What the tests of the store share: scripts, a store on a private Redis, log capture.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::{
    borrow::Cow,
    io,
    sync::{Arc, Mutex, Once},
    time::Duration,
};

use anteroom_core::store::{Args, Batch, Config, Error, Repeat, Script, Sharded, Store};
use anteroom_testkit::PATIENCE;
use prometheus::Registry;
use redis::Value;

const fn script(name: &'static str, source: &'static str) -> Script {
    Script::new(name, "", &[], source)
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
    listen();
    Store::open(config, &SCRIPTS, registry).expect("a valid configuration")
}

pub async fn opened(config: &Config) -> Store {
    let store = open(config);
    assert!(store.wait_up(PATIENCE).await, "the store does not come up");
    store
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

/// A subscriber for the threads that capture nothing: an event that is first met on a thread
/// without any would be off for all threads, as long as no more than one captures.
fn listen() {
    static LISTENS: Once = Once::new();
    LISTENS.call_once(|| {
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_writer(io::sink)
            .finish();
        tracing::subscriber::set_global_default(subscriber).expect("the first subscriber");
    });
}

/// What was logged on this thread while it lives.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub fn capture() -> (Self, tracing::subscriber::DefaultGuard) {
        listen();
        let log = Self::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("no panic while writing")).into_owned()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic while writing").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
