//! The gateway itself is restarted under load, and reads changed files under load.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use anteroom_testkit::{PATIENCE, until};
use reqwest::Client;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::program::Program;
use crate::rollout::Load;
use crate::shop::Shop;
use crate::site::{Plan, Site};

const ROOM_FOR_ALL: &str = "capacity = 1_000_000";
const WORKERS: usize = 8;
/// Requests before the gateway ends, and after it is back.
const MANY: usize = 200;

/// One that opens a connection for each request, as most visitors do.
#[derive(Clone)]
struct Visitor {
    client: Client,
    url: String,
}

impl Visitor {
    fn new(url: &str) -> Self {
        let client = Client::builder().no_proxy().pool_max_idle_per_host(0);
        Self { client: client.build().expect("a client"), url: url.to_owned() }
    }

    /// Joins; returns its token, or nothing if the gateway is not there.
    async fn join(&self) -> Option<String> {
        let join = self.client.post(format!("{}/v1/queues/concert/tokens", self.url));
        let joined = join.json(&json!({})).send().await.ok()?;
        let place: Value = joined.status().is_success().then_some(joined)?.json().await.ok()?;
        Some(place["token"].as_str().expect("a token").to_owned())
    }

    /// The status of a visit; nothing if the gateway is not there.
    async fn visit(&self, token: &str) -> Option<u16> {
        let visit = self.client.get(format!("{}/seats", self.url));
        let answer = visit.header("x-anteroom-token", token).send().await.ok()?;
        let status = answer.status();
        if status.is_server_error() {
            eprintln!("{answer:?}");
            eprintln!("{:?}", answer.text().await);
        }
        Some(status.as_u16())
    }
}

/// Visitors with a place of their own, and as many without one. `loses` says whether some may get
/// no answer, or another one than usual.
fn visitors(site: &Site, load: &Arc<Load>, loses: bool) -> JoinSet<()> {
    let mut workers = JoinSet::new();
    for worker in 0..2 * WORKERS {
        let (load, visitor) = (load.clone(), Visitor::new(&site.url));
        workers.spawn(async move {
            while !load.over.load(Relaxed) {
                if worker % 2 == 0 {
                    let status = visitor.visit("art1.none").await;
                    assert_ne!(status, Some(200), "without a place");
                    assert!(loses || status == Some(401), "{status:?}");
                } else {
                    let token = visitor.join().await;
                    assert!(loses || token.is_some(), "a join is lost");
                    let Some(token) = token else { continue };
                    let status = visitor.visit(&token).await;
                    assert!(loses || status == Some(200), "{status:?}");
                }
                load.answered.fetch_add(1, Relaxed);
                Load::think().await;
            }
        });
    }
    workers
}

/// Ends the load, and looks at all that has arrived: each is a visitor's with a name.
async fn end(load: &Load, mut workers: JoinSet<()>, shops: &[&Shop]) {
    load.over.store(true, Relaxed);
    while let Some(ended) = workers.join_next().await {
        ended.expect("each request had the answer that it must have");
    }
    for arrival in shops.iter().flat_map(|shop| shop.arrivals()) {
        let [visitor] = arrival.header("x-anteroom-visitor")[..] else { panic!("{arrival:?}") };
        assert!(visitor.parse::<u64>().is_ok() && arrival.place().len() > 20, "{arrival:?}");
    }
}

pub async fn places_survive_a_restart_of_the_gateway(program: Program) {
    let plan = Plan { program, queue: ROOM_FOR_ALL, ..Plan::default() };
    let mut site = Site::with(plan).await;
    let visitor = Visitor::new(&site.url);
    let before = visitor.join().await.expect("a place");
    assert_eq!(visitor.visit(&before).await, Some(200));
    let load = Arc::new(Load::default());
    let workers = visitors(&site, &load, true);
    load.answers(MANY).await;
    site.gateway.restart().await;
    until("the place is still good", PATIENCE, async || visitor.visit(&before).await == Some(200))
        .await;
    load.answers(MANY).await;
    let last = visitor.join().await.expect("a place");
    assert_eq!(visitor.visit(&last).await, Some(200));
    assert_eq!(visitor.visit("art1.none").await, Some(401));
    end(&load, workers, &[&site.shop]).await;
}

pub async fn no_request_is_lost_when_the_gateway_reads_changed_files(program: Program) {
    let plan = Plan { program, queue: ROOM_FOR_ALL, patient: true, ..Plan::default() };
    let mut site = Site::with(plan).await;
    let load = Arc::new(Load::default());
    // Caddy opens a second socket on its port, and resets what waits at the first one.
    let workers = visitors(&site, &load, program == Program::Caddy);
    load.answers(MANY).await;
    // The change: the service is another one.
    let next = Shop::start().await;
    site.gateway.reload(site.shop.port(), next.port()).await;
    until("the change is in force", PATIENCE, async || !next.arrivals().is_empty()).await;
    load.answers(MANY).await;
    end(&load, workers, &[&site.shop, &next]).await;
}
