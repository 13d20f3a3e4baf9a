//! A Redis, a configuration file, and schedulers that run with it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anteroom_core::queue::{Join, Place, PlaceId, PlaceRef, Queue, Snapshot, Visit};
use anteroom_core::store::{Config, Store};
use anteroom_runtime::config::Loader;
use anteroom_testkit::{PATIENCE, Process, Redis, until, until_some};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

pub struct World {
    pub redis: Redis,
    directory: TempDir,
}

impl World {
    /// An empty Redis and a file with these queues.
    pub async fn new(queues: &str) -> Self {
        Self::on(Redis::start().await, queues)
    }

    /// A file with these queues, and this Redis.
    pub fn on(redis: Redis, queues: &str) -> Self {
        let world = Self { redis, directory: tempfile::tempdir().expect("a temporary directory") };
        world.write(queues);
        world
    }

    pub fn file(&self) -> PathBuf {
        self.directory.path().join("anteroom.toml")
    }

    /// Writes the file with these queues.
    pub fn write(&self, queues: &str) {
        fs::write(self.file(), queues).expect("written");
    }

    /// A scheduler, started and listening.
    pub async fn scheduler(&self) -> Scheduler {
        self.scheduler_with(self.file()).await
    }

    /// A scheduler with another file.
    pub async fn scheduler_with(&self, file: PathBuf) -> Scheduler {
        let mut command = command();
        command
            .arg("--config")
            .arg(file)
            .env("ANTEROOM_STORE__URL", self.redis.url())
            .env("ANTEROOM_SCHEDULER__METRICS_LISTEN", "127.0.0.1:0")
            // Fast enough that no test waits for them.
            .env("ANTEROOM_SCHEDULER__SWEEP_TICK", "100ms")
            .env("ANTEROOM_SCHEDULER__SNAPSHOT_TICK", "100ms");
        let mut process = Process::start(command);
        let line = process.line("\"message\":\"listening\"", PATIENCE).await;
        let address = line.split("\"address\":\"").nth(1).and_then(|rest| rest.split('"').next());
        Scheduler { address: address.expect("an address").to_owned(), process }
    }

    /// A queue of the file, as admission would hold it.
    pub async fn queue(&self, name: &str) -> Queue {
        let config = Loader::new(Some(&self.file())).load().expect("a valid file");
        let store = Config {
            // Slow machines must not turn a test into one of time-outs.
            command_timeout: PATIENCE,
            request_timeout: PATIENCE,
            ..Config::new(self.redis.socket_url())
        };
        let registry = prometheus::Registry::new();
        let store = Store::open(&store, &anteroom_core::scripts(), &registry).expect("an address");
        assert!(store.wait_up(PATIENCE).await, "the store is up");
        Queue::open(&store, name, config.queues[name].rules.clone(), 10_000)
    }
}

/// The program with an empty environment.
pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anteroom-scheduler"));
    command.env_clear();
    command
}

pub struct Scheduler {
    pub process: Process,
    address: String,
}

impl Scheduler {
    /// The status and the body of an answer of the metrics port.
    pub async fn get(&self, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).await.expect("it listens");
        let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("written");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("text");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.expect("a status"), body.to_owned())
    }

    /// The value of a metric, named with its labels as on the page.
    pub async fn metric(&self, name: &str) -> Option<f64> {
        let (_, page) = self.get("/metrics").await;
        let mut lines = page.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
    }

    pub async fn until_metric(&self, name: &str, is: impl Fn(Option<f64>) -> bool) {
        until(name, PATIENCE, async || is(self.metric(name).await)).await;
    }

    pub async fn until_ready(&self) {
        until("ready", PATIENCE, async || self.get("/readyz").await.0 == 200).await;
    }

    /// Waits for the first tick, which comes after the rules are written.
    pub async fn until_ticking(&self) {
        let ticks = "anteroom_tick_duration_seconds_count{tick=\"promote\"}";
        self.until_metric(ticks, |it| it > Some(0.0)).await;
    }

    /// How many lines of the log hold this.
    pub fn logged(&self, part: &str) -> usize {
        self.process.stdout().lines().filter(|line| line.contains(part)).count()
    }

    /// Asks it to end, and expects it to end well.
    pub async fn end(mut self) {
        self.process.term();
        let status = self.process.exit(PATIENCE).await;
        assert_eq!(status.code(), Some(0), "{}", self.process.stdout());
        assert_eq!(self.logged("\"message\":\"stopped\""), 1);
        assert_eq!(self.process.stderr(), "");
    }
}

/// The n-th visitor joins and gets a place.
pub async fn join(queue: &Queue, n: u64) -> (PlaceRef, Place) {
    let id = PlaceId::of_visitor(queue.name(), &format!("visitor {n}"));
    match queue.join(id).await.expect("a join") {
        Join::Created(of, place) | Join::Same(of, place) => (of, place),
        other => panic!("no place: {other:?}"),
    }
}

pub async fn look(queue: &Queue, of: PlaceRef) -> Visit {
    queue.place(of).await.expect("a look")
}

/// Waits until the place is there and `is` holds of it.
pub async fn until_place(queue: &Queue, of: PlaceRef, is: impl Fn(&Place) -> bool) -> Place {
    until_some(&format!("ticket {}", of.ticket), PATIENCE, async || match look(queue, of).await {
        Visit::Here(place) if is(&place) => Some(place),
        _ => None,
    })
    .await
}

/// Waits until the queue as a whole is so.
pub async fn until_snapshot(queue: &Queue, is: impl Fn(&Snapshot) -> bool) {
    let what = format!("a snapshot of {}", queue.name());
    until(&what, PATIENCE, async || is(&queue.snapshot().await.expect("a snapshot"))).await;
}
