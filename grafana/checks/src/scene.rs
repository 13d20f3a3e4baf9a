//! A rush as dashboards see it: the real services, two of each, with a crowd that joins, waits,
//! comes in and finishes, or does not, backends that check limits, report outcomes, draw money and
//! apply to events, and a few things that go wrong. A real Prometheus scrapes all of them.

mod backends;
mod envoy;
mod receiver;
mod visitor;

use std::{
    process::Command,
    time::{Duration, Instant, SystemTime},
};

use anteroom_testkit::{Deployment, PATIENCE, Process, Redis, Service, binary};
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::sleep};

use backends::{apply, check_limits, give_out, report};
use receiver::Receiver;
use visitor::Visitor;

use crate::Prometheus;

/// One queue with every rule, and one with a capacity alone.
const CONFIGURATION: &str = r#"
[queues.concert]
capacity = 60
batch = 10
interval = "1s"
health = "reservations"
claim_ttl = "5s"
session_ttl = "5s"
joins_per_address = "none"
places_per_address = 0
requests_per_place = 0

[queues.concert.adaptive]
min_batch = 5
max_batch = 15
success_target = 0.9

[queues.lecture]
capacity = 5
claim_ttl = "5s"
session_ttl = "5s"
joins_per_address = "none"
places_per_address = 0
requests_per_place = 0

[limits.login]
limit = 20
window = "10s"

[targets.reservations]
window = "10s"
quorum = 1
open_for = "1s"
probes = 3

[pools.reward]
funds = 1_000_000
hold_ttl = "2s"

[pools.prize]
funds = 1_000_000
on_failover = "hold"

[[envoy.descriptors]]
domain = "shop"
entries = [{ key = "customer" }]
limit = "login"

[events.voucher]
stock = 1_000_000

[events.coupon]
stock = 1_000
issue = "codes"

[events.gift]
stock = 1_000
issue = "webhook"
"#;

/// Fewer codes than apply for one.
const CODES: &str = "SPRING-1\nSPRING-2\nSPRING-3\nSPRING-4\n";
/// Signs the calls of the webhook.
const SECRET: &str = "a-secret-of-the-scene-of-32-bytes-and-more";

/// How often a visitor who waits looks, and backends call.
const LOOK: Duration = Duration::from_millis(1_000);
const CALL: Duration = Duration::from_millis(250);
/// More at once would measure this machine.
const MOST_VISITORS: usize = 400;

/// What happens when, as shares of the whole.
mod share {
    /// The doors open, and many come at once.
    pub const RUSH: (f64, f64) = (0.05, 0.3);
    /// What is protected fails.
    pub const FAILURES: (f64, f64) = (0.5, 0.58);
    /// Another primary takes over; an operator looks, and then confirms.
    pub const FAILOVER: (f64, f64) = (0.62, 0.7);
    /// The store is stopped from here on, for a few seconds.
    pub const FROZEN_AT: f64 = 0.75;
    /// A file is refused.
    pub const BAD_FILE: (f64, f64) = (0.86, 0.93);
}

/// How long the store is stopped: three calls run into their time-outs, and it is given up.
const FROZEN_FOR: Duration = Duration::from_secs(2);

/// The services, and who scrapes them.
pub struct Scene {
    deployment: Deployment,
    configuration: String,
    _receiver: Receiver,
    /// Two, which share the load.
    pub admissions: Vec<Service>,
    /// Two, of which either would do.
    pub schedulers: Vec<Service>,
    /// One that issues.
    pub issuers: Vec<Service>,
    /// One that is called as Envoy calls it.
    pub envoys: Vec<Service>,
    /// Scrapes all of them.
    pub prometheus: Prometheus,
    /// When it was all there.
    pub began: SystemTime,
}

impl Scene {
    /// Starts everything.
    ///
    /// # Panics
    /// When something does not start.
    pub async fn start() -> Self {
        let deployment = Deployment::new(Redis::start().await, "", &[]);
        let receiver = Receiver::start().await;
        let secret = deployment.config_file().with_file_name("webhook-secret");
        std::fs::write(&secret, SECRET).expect("a file");
        let webhook = format!("url = {:?}\nsecret_file = {secret:?}\n", receiver.url());
        let configuration = format!("{CONFIGURATION}{webhook}");
        deployment.write(&configuration);
        let admissions = vec![deployment.admission().await, deployment.admission().await];
        let schedulers = vec![deployment.scheduler().await, deployment.scheduler().await];
        let issuers = vec![deployment.issuer().await];
        let envoys = vec![deployment.envoy().await];
        for service in admissions.iter().chain(&schedulers).chain(&issuers).chain(&envoys) {
            service.until_ready().await;
        }
        load_codes(&deployment).await;
        let addresses = |services: &'static str, all: &[Service]| {
            (services, all.iter().map(|it| it.address("metrics").to_owned()).collect::<Vec<_>>())
        };
        let jobs = [
            addresses("admission", &admissions),
            addresses("scheduler", &schedulers),
            addresses("issuer", &issuers),
            addresses("envoy", &envoys),
        ];
        let jobs =
            jobs.each_ref().map(|(job, all)| (*job, all.iter().map(String::as_str).collect()));
        let prometheus = Prometheus::start(&jobs).await;
        let began = SystemTime::now();
        Self {
            deployment,
            configuration,
            _receiver: receiver,
            admissions,
            schedulers,
            issuers,
            envoys,
            prometheus,
            began,
        }
    }

    /// Plays it for this long, and reports now and then how far it is.
    ///
    /// # Panics
    /// When a service cannot be reached, or the file cannot be written.
    pub async fn play(&self, length: Duration, progress: impl Fn(Duration)) {
        let whole = Part { began: Instant::now(), length };
        let mut backends = JoinSet::new();
        for admission in &self.admissions {
            backends.spawn(report(admission.url("service"), whole));
            backends.spawn(check_limits(admission.url("service"), whole));
            backends.spawn(give_out(admission.url("service"), whole));
            backends.spawn(apply(admission.url("service"), whole));
        }
        for service in &self.envoys {
            backends.spawn(envoy::call(service.url("grpc"), whole));
        }
        tokio::join!(self.crowd(whole), self.go_wrong(whole), async {
            while !whole.is_over() {
                progress(whole.began.elapsed());
                sleep(Duration::from_secs(10).min(length / 4)).await;
            }
        });
        while let Some(ended) = backends.join_next().await {
            ended.expect("a backend does not panic");
        }
    }

    /// Visitors come; who is still there at the end goes home.
    async fn crowd(&self, whole: Part) {
        let mut visitors = JoinSet::new();
        let client = Client::new();
        for number in 0_u64.. {
            if whole.is_over() {
                break;
            }
            let doors = self.admissions.iter().map(|admission| admission.url("public"));
            let door = doors.cycle().nth(usize::try_from(number % 2).unwrap_or_default());
            let door = door.expect("there are two admissions");
            while visitors.try_join_next().is_some() {}
            if visitors.len() < MOST_VISITORS {
                visitors.spawn(Visitor { client: client.clone(), door, number }.come());
            }
            // A rush of many at once, and a stream that the rules can bear.
            let a_second = if whole.is_in(share::RUSH) { 20.0 } else { 6.0 };
            sleep(Duration::from_secs_f64(1.0 / a_second)).await;
        }
    }

    /// The primary changes, the store is stopped for a while, and a file is refused.
    async fn go_wrong(&self, whole: Part) {
        whole.comes_to(share::FAILOVER.0).await;
        // A primary that was a replica for a moment, as after a failover there and back.
        for master in [["127.0.0.1", "1"], ["NO", "ONE"]] {
            let command = ["REPLICAOF", master[0], master[1]];
            self.deployment.redis.run::<String>(&command).await;
        }
        whole.comes_to(share::FAILOVER.1).await;
        let confirm = format!("{}/v1/admin/pools/prize/confirm", self.admissions[0].url("service"));
        json_of(Client::new().post(confirm).json(&json!({}))).await;
        whole.comes_to(share::FROZEN_AT).await;
        self.deployment.redis.freeze();
        sleep(FROZEN_FOR).await;
        self.deployment.redis.thaw();
        whole.comes_to(share::BAD_FILE.0).await;
        self.deployment.write("[queues.concert]\ncapacity = -1\n");
        whole.comes_to(share::BAD_FILE.1).await;
        self.deployment.write(&self.configuration);
        whole.comes_to(1.0).await;
    }
}

/// Loads the codes of the event that gives them out, as its operator does.
async fn load_codes(deployment: &Deployment) {
    let file = deployment.config_file().with_file_name("codes.txt");
    std::fs::write(&file, CODES).expect("a file");
    let mut load = Command::new(binary("anteroom-issuer"));
    load.args(["codes", "load", "coupon"]).arg(file);
    load.arg("--config").arg(deployment.config_file());
    load.env("ANTEROOM_STORE__URL", deployment.redis.url());
    let status = Process::start(load).exit(PATIENCE).await;
    assert!(status.success(), "the codes are not loaded: {status}");
}

/// How far it is.
#[derive(Clone, Copy)]
struct Part {
    began: Instant,
    length: Duration,
}

impl Part {
    fn share(self) -> f64 {
        self.began.elapsed().as_secs_f64() / self.length.as_secs_f64()
    }

    fn is_over(self) -> bool {
        self.share() >= 1.0
    }

    fn is_in(self, (from, to): (f64, f64)) -> bool {
        (from..to).contains(&self.share())
    }

    async fn comes_to(self, share: f64) {
        let at = self.began + self.length.mul_f64(share);
        tokio::time::sleep_until(at.into()).await;
    }
}

/// The JSON of an answer, whatever its status; null where there was none.
async fn json_of(call: RequestBuilder) -> Value {
    match call.send().await {
        Ok(answer) => answer.json().await.unwrap_or_default(),
        Err(_) => Value::Null,
    }
}
