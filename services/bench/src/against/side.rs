//! One build's services on a Redis of their own, its visitors, and the load on them.
//!
//! Visitors join over HTTP, because two builds may keep a line in different forms. The
//! configuration has only keys that every build since the baseline accepts.

use std::{net::SocketAddr, path::Path, sync::Arc};

use anteroom_testkit::{Deployment, Redis, Service};
use anyhow::{Context as _, ensure};
use futures_util::future::try_join_all;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::{
    answer::exchange,
    meter::{Counters, Processes, Question, Window, window},
    progress::say,
    request::{Requests, with_token},
    settings::Settings,
};

/// The programs of a side.
const PROGRAMS: [&str; 2] = ["anteroom-admission", "anteroom-scheduler"];
/// Connections while the queues are filled.
const FILLING: usize = 64;
/// Joins before the load's own ones have this series, which no round has.
const BEFORE: u64 = 0;

/// No visitor is over a limit, and no session ends. One visitor in 10 s is admitted from the lines,
/// so that each answer has an estimated wait. The limits themselves are on, because they cost time,
/// and so is the reading of the address that a gateway sends.
const CONFIG: &str = r#"
[admission]
trusted_proxies = ["127.0.0.0/8"]

[queues."*"]
max_waiting = 10_000_000
idle_ttl = "24h"
first_poll_ttl = "24h"
claim_ttl = "1h"
keep_ttl = "7d"
session_ttl = "1h"
session_max = "24h"
joins_per_address = "1000000/1s"
requests_per_place = 1000

[queues.joins]
batch = 1

[queues.joins-to-room]
batch = 1
capacity = 10_000_000

[queues.line]
batch = 1

[queues.inside]
capacity = 10_000_000
"#;

/// What is requested of admission.
pub struct Call {
    /// Its name in the report.
    pub name: &'static str,
    queue: &'static str,
    /// Below the queue; empty: a join.
    path: &'static str,
    expect: u16,
    /// Whether its processor time has a bound.
    pub is_bound: bool,
}

/// The rows. Builds that bound the places of an address by a part of `capacity` count them where a
/// queue has one: that join has a row of its own, because the baseline does nothing of it.
pub const ROWS: [Call; 4] = [
    Call { name: "join", queue: "joins", path: "", expect: 201, is_bound: true },
    Call { name: JOIN_TO_ROOM, queue: "joins-to-room", path: "", expect: 201, is_bound: false },
    Call { name: "place", queue: "line", path: "token", expect: 200, is_bound: true },
    Call { name: "authorize", queue: "inside", path: "authorize", expect: 200, is_bound: true },
];
const JOIN_TO_ROOM: &str = "join with capacity";

/// A build that runs.
pub struct Side {
    deployment: Deployment,
    admission: Service,
    /// Ends with this.
    _scheduler: Service,
    public: SocketAddr,
    /// The requests of the rows that name places.
    requests: Vec<(&'static str, Arc<Requests>)>,
}

/// That a folder has the programs of a build.
pub fn check(folder: &Path) -> anyhow::Result<()> {
    for program in PROGRAMS {
        ensure!(
            folder.join(program).is_file(),
            "{} has no {program}. Build it: cargo build --release -p {} -p {}",
            folder.display(),
            PROGRAMS[0],
            PROGRAMS[1],
        );
    }
    Ok(())
}

impl Side {
    /// Starts the programs of a folder and waits until they are ready.
    pub async fn start(folder: &Path) -> anyhow::Result<Self> {
        let redis = Redis::start().await;
        let deployment = Deployment::new(redis, CONFIG, &[]).with_programs_of(folder);
        let (admission, scheduler) = tokio::join!(deployment.admission(), deployment.scheduler());
        admission.until_ready().await;
        scheduler.until_ready().await;
        let public = admission.address("public").parse()?;
        Ok(Self { deployment, admission, _scheduler: scheduler, public, requests: Vec::new() })
    }

    /// Lets so many visitors wait, and as many in.
    pub async fn fill(&mut self, visitors: u64) -> anyhow::Result<()> {
        for call in ROWS.iter().filter(|call| !call.path.is_empty()) {
            let Call { queue, path, .. } = call;
            let joins = Requests::joins(&[(*queue).to_owned()], 1, BEFORE);
            let joins = (0..visitors).map(|n| joins.get(n, &mut Vec::new()).to_vec()).collect();
            let places = self.send_all(joins, 201).await?;
            let tokens = places.iter().map(|place| {
                let place: Value = serde_json::from_slice(place)?;
                place["token"].as_str().map(str::to_owned).context("a place without a token")
            });
            let tokens = tokens.collect::<anyhow::Result<Vec<_>>>()?;
            let path = format!("/v1/queues/{queue}/{path}");
            let visits: Vec<_> = tokens.iter().map(|token| with_token(&path, token)).collect();
            // The first visit of a ready place claims it.
            self.send_all(visits, call.expect).await?;
            self.requests.push((queue, Arc::new(Requests::with_tokens(&path, &tokens))));
        }
        say(&format!("{visitors} visitors wait, and {visitors} are active"));
        Ok(())
    }

    /// The bodies of the answers, in the order of the requests.
    async fn send_all(&self, requests: Vec<Vec<u8>>, expect: u16) -> anyhow::Result<Vec<Vec<u8>>> {
        let share = requests.len().div_ceil(FILLING).max(1);
        let send = async |requests: &[Vec<u8>]| -> anyhow::Result<Vec<Vec<u8>>> {
            let mut stream = TcpStream::connect(self.public).await?;
            stream.set_nodelay(true)?;
            let mut bodies = Vec::with_capacity(requests.len());
            for request in requests {
                let (status, body) = exchange(&mut stream, request).await?;
                let text = || String::from_utf8_lossy(&body).into_owned();
                ensure!(status == expect, "{status} instead of {expect}: {}", text());
                bodies.push(body);
            }
            Ok(bodies)
        };
        Ok(try_join_all(requests.chunks(share).map(send)).await?.concat())
    }

    /// Loads it for a window. Each round's joins are new ones.
    pub async fn measure(
        &self,
        settings: &Settings,
        call: &Call,
        round: usize,
    ) -> anyhow::Result<Window> {
        let built = self.requests.iter().find(|(queue, _)| *queue == call.queue);
        let requests = match built {
            Some((_, requests)) => requests.clone(),
            None => Arc::new(Requests::joins(&[call.queue.to_owned()], 1, round as u64)),
        };
        let question = Question { operation: call.name, requests, expect: call.expect };
        let processes = Processes {
            gateway: None,
            servers: vec![self.admission.process.id()],
            schedulers: Vec::new(),
            store: self.deployment.redis.id(),
        };
        let redis = Some(&self.deployment.redis);
        let counters = Counters { redis, ..Counters::default() };
        window(settings, vec![self.public], &question, &processes, &counters).await
    }
}
