//! A rush as dashboards see it: the real services, two of each, with a crowd that joins, waits,
//! comes in and finishes, or does not, backends that check limits, report outcomes and draw money,
//! and a few things that go wrong. A real Prometheus scrapes all of them.

use std::time::{Duration, Instant, SystemTime};

use anteroom_testkit::{Deployment, Redis, Service};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::sleep};

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

[events.voucher]
stock = 1_000_000
"#;

/// How often somebody who waits looks, and backends call.
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
    /// The store stands still from here on, for a few seconds.
    pub const FROZEN_AT: f64 = 0.75;
    /// A file is refused.
    pub const BAD_FILE: (f64, f64) = (0.86, 0.93);
}

/// How long the store stands still: three calls run into their time-outs, and it is given up.
const FROZEN_FOR: Duration = Duration::from_secs(2);

/// The services, and who scrapes them.
pub struct Scene {
    deployment: Deployment,
    /// Two, which share the load.
    pub admissions: Vec<Service>,
    /// Two, of which either would do.
    pub schedulers: Vec<Service>,
    /// One that issues.
    pub issuers: Vec<Service>,
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
        let deployment = Deployment::new(Redis::start().await, CONFIGURATION, &[]);
        let admissions = vec![deployment.admission().await, deployment.admission().await];
        let schedulers = vec![deployment.scheduler().await, deployment.scheduler().await];
        let issuers = vec![deployment.issuer().await];
        for service in admissions.iter().chain(&schedulers).chain(&issuers) {
            service.until_ready().await;
        }
        let addresses = |services: &'static str, all: &[Service]| {
            (services, all.iter().map(|it| it.address("metrics").to_owned()).collect::<Vec<_>>())
        };
        let jobs = [
            addresses("admission", &admissions),
            addresses("scheduler", &schedulers),
            addresses("issuer", &issuers),
        ];
        let jobs =
            jobs.each_ref().map(|(job, all)| (*job, all.iter().map(String::as_str).collect()));
        let prometheus = Prometheus::start(&jobs).await;
        let began = SystemTime::now();
        Self { deployment, admissions, schedulers, issuers, prometheus, began }
    }

    /// Plays it for this long, and tells now and then how far it is.
    ///
    /// # Panics
    /// When a service cannot be reached, or the file cannot be written.
    pub async fn play(&self, length: Duration, tell: impl Fn(Duration)) {
        let whole = Part { began: Instant::now(), length };
        let mut backends = JoinSet::new();
        for admission in &self.admissions {
            backends.spawn(report(admission.url("service"), whole));
            backends.spawn(check_limits(admission.url("service"), whole));
            backends.spawn(give_out(admission.url("service"), whole));
            backends.spawn(apply(admission.url("service"), whole));
        }
        tokio::join!(self.crowd(whole), self.go_wrong(whole), async {
            while !whole.is_over() {
                tell(whole.began.elapsed());
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

    /// The store stands still for a while, and a file is refused.
    async fn go_wrong(&self, whole: Part) {
        whole.comes_to(share::FROZEN_AT).await;
        self.deployment.redis.freeze();
        sleep(FROZEN_FOR).await;
        self.deployment.redis.thaw();
        whole.comes_to(share::BAD_FILE.0).await;
        self.deployment.write("[queues.concert]\ncapacity = -1\n");
        whole.comes_to(share::BAD_FILE.1).await;
        self.deployment.write(CONFIGURATION);
        whole.comes_to(1.0).await;
    }
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

/// A backend that reports what came of its calls, and asks whether to call where some failed.
async fn report(service: String, whole: Part) {
    let client = Client::new();
    while !whole.is_over() {
        let failures = if whole.is_in(share::FAILURES) { 8 } else { 0 };
        let permit: Value =
            json_of(client.post(format!("{service}/v1/targets/reservations/permits"))).await;
        let mut body = json!({"successes": 10 - failures, "failures": failures, "latency_ms": 80});
        if let Some(permit) = permit["permit"].as_str() {
            body = json!({"success": failures == 0, "permit": permit});
        }
        json_of(client.post(format!("{service}/v1/targets/reservations/outcomes")).json(&body))
            .await;
        sleep(CALL).await;
    }
}

/// A backend that checks a limit, of a few keys, a little too often.
async fn check_limits(service: String, whole: Part) {
    let client = Client::new();
    for number in 0_u64.. {
        if whole.is_over() {
            break;
        }
        let body = json!({"key": format!("customer-{}", number % 2)});
        json_of(client.post(format!("{service}/v1/limits/login/check")).json(&body)).await;
        sleep(CALL).await;
    }
}

/// A backend that gives money out: it draws, and holds what it never settles.
async fn give_out(service: String, whole: Part) {
    let client = Client::new();
    for number in 0_u64.. {
        if whole.is_over() {
            break;
        }
        let body = json!({"amount": 7, "operation_id": format!("{service} {number}")});
        for call in ["draws", "holds"] {
            json_of(client.post(format!("{service}/v1/pools/reward/{call}")).json(&body)).await;
        }
        sleep(CALL).await;
    }
}

/// A backend that applies for visitors, each of whom some other applies for too.
async fn apply(service: String, whole: Part) {
    let client = Client::new();
    for number in 0_u64.. {
        if whole.is_over() {
            break;
        }
        let body = json!({"visitor_id": format!("customer-{number}")});
        json_of(client.post(format!("{service}/v1/events/voucher/applications")).json(&body)).await;
        sleep(CALL).await;
    }
}

/// The JSON of an answer, whatever its status; null where there was none.
async fn json_of(call: RequestBuilder) -> Value {
    match call.send().await {
        Ok(answer) => answer.json().await.unwrap_or_default(),
        Err(_) => Value::Null,
    }
}

/// One visitor. What becomes of it goes by its number.
struct Visitor {
    client: Client,
    door: String,
    number: u64,
}

impl Visitor {
    async fn come(self) {
        let queue = if self.number % 12 == 5 { "lecture" } else { "concert" };
        let base = format!("{}/v1/queues/{queue}", self.door);
        let mut place = json_of(self.client.post(format!("{base}/tokens")).json(&json!({}))).await;
        let Some(token) = place["token"].as_str().map(str::to_owned) else { return };
        let call = |call: RequestBuilder| call.header("x-anteroom-token", &token);
        let fate = self.number % 20;
        let mut looks = 0;
        while place["status"] == "waiting" {
            sleep(LOOK.mul_f64(0.8 + (self.number % 5) as f64 / 10.0)).await;
            looks += 1;
            if fate == 1 && looks == 3 {
                let left: Result<Response, _> =
                    call(self.client.delete(format!("{base}/token"))).send().await;
                return drop(left);
            }
            let look = json_of(call(self.client.get(format!("{base}/token")))).await;
            if look["code"] == "place_gone" {
                return;
            }
            // While the store is away there is no news.
            if look["status"].is_string() {
                place = look;
            }
        }
        // Some do not come when it is their turn, …
        if fate == 2 {
            return;
        }
        let authorize = || call(self.client.get(format!("{base}/authorize"))).send();
        let _ = authorize().await;
        for _ in 0..3 {
            sleep(LOOK).await;
            let _ = authorize().await;
        }
        // … and some do not say that they are done.
        if fate > 3 {
            let _ = call(self.client.delete(format!("{base}/token"))).send().await;
        }
    }
}
