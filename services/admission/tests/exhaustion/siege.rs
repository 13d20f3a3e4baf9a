//! An admission under attack, and the visitors who come to it all the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anteroom_testkit::{Deployment, PATIENCE, PATIENT, Redis, Service};
use reqwest::{Client, Method, RequestBuilder};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::attack::Attack;

/// A call of a visitor meanwhile, on a machine that the attack keeps busy.
const SLOWEST: Duration = Duration::from_secs(10);
/// Room for everyone: a join is a turn at once.
pub const QUEUE: &str = "[queues.concert]\ncapacity = 1_000_000\njoins_per_address = \"none\"\n\
    places_per_address = 0\n";
/// How much more memory an admission may take under attack, in KiB. A connection can make it keep
/// 48 KiB: a head, or what is ahead of it, and a body.
const MOST_MEMORY: u64 = 16 * 1024;

/// An admission and its attackers.
pub struct Siege {
    pub site: Deployment,
    pub admission: Service,
    http: Client,
    attackers: JoinSet<()>,
    attacks: Arc<AtomicUsize>,
    before: u64,
}

impl Siege {
    /// An admission that may open so many descriptors.
    pub async fn new(descriptors: u32) -> Self {
        Self::with(descriptors, &[]).await
    }

    /// [`new`](Self::new) with this environment besides.
    pub async fn with(descriptors: u32, env: &[(&str, &str)]) -> Self {
        // A machine under attack may be slow; here it is not the store that gives up.
        let env = [&PATIENT[..], env].concat();
        let site = Deployment::new(Redis::start().await, QUEUE, &env);
        let admission = site.narrow_admission(descriptors).await;
        let http = Client::builder().no_proxy().pool_max_idle_per_host(0).timeout(PATIENCE);
        let mut siege = Self {
            site,
            admission,
            http: http.build().expect("a client"),
            attackers: JoinSet::new(),
            attacks: Arc::default(),
            before: 0,
        };
        siege.admission.until_ready().await;
        siege.visitors(1).await;
        siege.before = siege.memory("VmRSS");
        siege
    }

    /// Lets so many attackers come, each again as soon as it is thrown out.
    pub fn attack(&mut self, attackers: usize, attack: Attack) {
        self.attack_on("public", attackers, attack);
    }

    /// [`attack`](Self::attack) on one of its ports.
    pub fn attack_on(&mut self, port: &str, attackers: usize, attack: Attack) {
        let address = self.admission.address(port).to_owned();
        for _ in 0..attackers {
            let address = address.clone();
            let attacks = self.attacks.clone();
            self.attackers.spawn(async move {
                loop {
                    if let Ok(stream) = TcpStream::connect(&address).await {
                        attacks.fetch_add(1, Ordering::Relaxed);
                        // However it ends, the next one begins.
                        let _ = attack.run(stream).await;
                    }
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            });
        }
    }

    /// Attacks begun so far.
    pub fn attacks(&self) -> usize {
        self.attacks.load(Ordering::Relaxed)
    }

    /// Files and connections that admission has open.
    pub fn open_files(&self) -> usize {
        let folder = format!("/proc/{}/fd", self.admission.process.id());
        std::fs::read_dir(folder).expect("a running process").count()
    }

    /// Lets visitors go through one by one, each call on a connection of its own and soon answered.
    pub async fn visitors(&self, count: u32) {
        for _ in 0..count {
            let began = Instant::now();
            let token = self.admission.join("concert").await;
            assert!(began.elapsed() < SLOWEST, "join: {:?}", began.elapsed());
            for (method, path, status) in [
                (Method::GET, "authorize", 200),
                (Method::GET, "token", 200),
                (Method::DELETE, "token", 204),
            ] {
                let began = Instant::now();
                let call = self.call(method, path).header("x-anteroom-token", &token);
                let answer = call.send().await.expect("an answer");
                assert_eq!(answer.status(), status, "{answer:?}");
                assert!(began.elapsed() < SLOWEST, "{path}: {:?}", began.elapsed());
            }
        }
    }

    fn call(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}/v1/queues/concert/{path}", self.admission.url("public"));
        self.http.request(method, url)
    }

    /// Connections closed to make room for others.
    pub async fn closed(&self) -> f64 {
        self.admission.metric("anteroom_connections_closed_total").await.unwrap_or(0.0)
    }

    /// Asks the metrics port as a probe does: on a connection of its own, and not for long.
    pub async fn probe(&self, path: &str) {
        let ask = self.http.get(format!("{}{path}", self.admission.url("metrics")));
        let answer = ask.timeout(Duration::from_secs(5)).send().await;
        let status = answer.unwrap_or_else(|error| panic!("{path}: {error:?}")).status();
        assert_eq!(status, 200, "{path}");
    }

    /// Ends the attack, and holds the memory to its bound.
    pub async fn end(mut self, what: &str) {
        self.attackers.shutdown().await;
        let (before, peak) = (self.before, self.memory("VmHWM"));
        assert!(peak < before + MOST_MEMORY, "{what}: from {before} to {peak} KiB");
    }

    /// `host:port` of the public port.
    pub fn address(&self) -> String {
        self.admission.address("public").to_owned()
    }

    /// A line of the system's account of the process, in KiB.
    fn memory(&self, name: &str) -> u64 {
        let file = format!("/proc/{}/status", self.admission.process.id());
        let status = std::fs::read_to_string(file).expect("a running process");
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let value = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        value.unwrap_or_else(|| panic!("no {name}: {status}"))
    }
}
