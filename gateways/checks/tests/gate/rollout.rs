//! A roll-out under load: one of two admissions is ended by SIGTERM, and no request is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anteroom_testkit::{Anteroom, PATIENCE, PATIENT, Service, Wire, client, until};
use http::Method;
use rand::Rng as _;
use tokio::task::JoinSet;

use crate::program::Program;
use crate::site::{Plan, Site};

const ROOM_FOR_ALL: &str = "capacity = 1_000_000";
const DRAIN: (&str, &str) = ("ANTEROOM_ADMISSION__DRAIN_DELAY", "1s");
const WORKERS: usize = 16;
/// Requests before the signal, and after the end.
const MANY: usize = 200;

/// What the workers have done, and whether they are to stop.
#[derive(Default)]
pub struct Load {
    pub answered: AtomicUsize,
    pub over: AtomicBool,
}

impl Load {
    /// Between two requests of one client.
    pub async fn think() {
        let pause = rand::rng().random_range(1..20);
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }

    /// Waits for so many more answers.
    pub async fn answers(&self, more: usize) {
        let before = self.answered.load(Relaxed);
        until("there is load", 2 * PATIENCE, async || self.answered.load(Relaxed) >= before + more)
            .await;
    }

    /// Ends these services one after the other in the middle of the load, and the load some time
    /// after them.
    async fn survives(self: Arc<Self>, mut leave: Vec<Service>, mut workers: JoinSet<()>) {
        self.answers(MANY).await;
        for service in &mut leave {
            service.process.term();
            assert_eq!(service.process.exit(2 * PATIENCE).await.code(), Some(0));
            self.answers(MANY).await;
        }
        self.over.store(true, Relaxed);
        while let Some(ended) = workers.join_next().await {
            ended.expect("each request had its answer");
        }
        for service in &leave {
            assert_eq!(service.logged("connections are cut"), 0);
        }
    }
}

/// Clients that keep their connections, as a gateway does, and close when the server asks for it.
#[tokio::test]
async fn kept_connections_move_on_by_themselves() {
    let queues = format!("[queues.concert]\n{ROOM_FOR_ALL}\nrequests_per_place = 0\n");
    let anteroom = Anteroom::start(&queues, &[&[DRAIN][..], &PATIENT].concat()).await;
    let leaves = anteroom.deployment.admission().await;
    let (first, second) = (leaves.url("public"), anteroom.url("public"));
    leaves.until_ready().await;
    anteroom.admission.until_ready().await;
    let token = anteroom.admission.join("concert").await;
    let (load, mut workers) = (Arc::new(Load::default()), JoinSet::new());
    for _ in 0..WORKERS {
        let (load, first, second) = (load.clone(), first.clone(), second.clone());
        let ask = format!(
            "GET /v1/queues/concert/authorize HTTP/1.1\r\nhost: x\r\nx-anteroom-token: {token}\r\n\r\n"
        );
        workers.spawn(async move {
            let mut wire = Wire::connect(&first).await;
            while !load.over.load(Relaxed) {
                wire.send(&ask).await;
                let head = wire.read("\r\n\r\n").await;
                assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
                load.answered.fetch_add(1, Relaxed);
                if head.contains("connection: close\r\n") {
                    let left = std::mem::replace(&mut wire, Wire::connect(&second).await);
                    assert_eq!(left.end().await, "");
                }
                Load::think().await;
            }
        });
    }
    load.survives(vec![leaves], workers).await;
}

async fn survives_a_roll_out(program: Program, without_keepalive: bool) {
    let plan = Plan {
        program,
        queue: ROOM_FOR_ALL,
        env: &[DRAIN, ("ANTEROOM_ENVOY__DRAIN_DELAY", "1s")],
        patient: true,
        twice: true,
        without_keepalive,
        ..Plan::default()
    };
    let mut site = Site::with(plan).await;
    let leave = site.second.take().into_iter().chain(site.checks.pop()).collect();
    let site = Arc::new(site);
    let (load, mut workers) = (Arc::new(Load::default()), JoinSet::new());
    for _ in 0..WORKERS {
        let (load, site) = (load.clone(), site.clone());
        workers.spawn(async move {
            while !load.over.load(Relaxed) {
                // A join is a POST, which gateways send once only.
                let token = site.token().await;
                let seats = site.call(Method::GET, "/seats", &token).await;
                assert_eq!(seats.status, 200, "{seats:?}");
                load.answered.fetch_add(2, Relaxed);
                Load::think().await;
            }
        });
    }
    load.survives(leave, workers).await;
}

pub async fn no_request_is_lost_in_a_roll_out(program: Program) {
    survives_a_roll_out(program, false).await;
}

#[tokio::test]
async fn no_request_is_lost_through_nginx_without_them() {
    survives_a_roll_out(Program::Nginx, true).await;
}

/// A client that still gets a connection, also at the very end of the listener, gets an answer on
/// it. At the end Anteroom waits for what a client sends for 250 ms: one that got no processor time
/// for so long may be closed.
#[tokio::test(flavor = "multi_thread")]
async fn every_connection_gets_an_answer() {
    let queues = format!("[queues.concert]\n{ROOM_FOR_ALL}\n");
    let env = [("ANTEROOM_ADMISSION__DRAIN_DELAY", "0s")];
    let anteroom = Anteroom::start(&queues, &env).await;
    for _ in 0..12 {
        let mut leaves = anteroom.deployment.admission().await;
        let url = leaves.url("public");
        let answered = Arc::new(AtomicUsize::new(0));
        let mut clients = JoinSet::new();
        for _ in 0..WORKERS {
            let (url, answered) = (url.clone(), answered.clone());
            clients.spawn(async move {
                loop {
                    let begun = Instant::now();
                    let Some(mut wire) = Wire::try_connect(&url).await else { break };
                    wire.send("GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n").await;
                    let late = begun.elapsed() > Duration::from_millis(200);
                    match wire.try_read("\r\n\r\n").await {
                        Some(answer) => assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}"),
                        None => assert!(late, "the end came instead of an answer"),
                    }
                    answered.fetch_add(1, Relaxed);
                }
            });
        }
        until("there is load", 2 * PATIENCE, async || answered.load(Relaxed) >= MANY).await;
        leaves.process.term();
        assert_eq!(leaves.process.exit(2 * PATIENCE).await.code(), Some(0));
        while let Some(ended) = clients.join_next().await {
            ended.expect("each connection had its answer");
        }
    }
}

/// One instance is ended and comes back, and at once the other one ends: a gateway that still
/// counts the first as down has no server left.
#[tokio::test]
async fn instances_that_end_one_soon_after_the_other_are_not_all_down() {
    let plan = Plan { queue: ROOM_FOR_ALL, env: &[DRAIN], twice: true, ..Plan::default() };
    let mut site = Site::with(plan).await;
    let token = site.token().await;
    let mut first = site.second.take().expect("two admissions");
    first.process.term();
    assert_eq!(first.process.exit(2 * PATIENCE).await.code(), Some(0));
    for _ in 0..20 {
        assert_eq!(
            site.call(Method::GET, "/seats", &token).await.status,
            200,
            "the other one answers"
        );
    }
    let listen = [("ANTEROOM_ADMISSION__LISTEN", first.address("public"))];
    let first = site.anteroom.deployment.admission_with(&listen).await;
    let state = format!("{}/v1/queues/concert", first.url("public"));
    until("it knows the queue again", PATIENCE, async || {
        client().get(&state).send().await.is_ok_and(|answer| answer.status() == 200)
    })
    .await;
    site.anteroom.admission.process.term();
    assert_eq!(site.anteroom.admission.process.exit(2 * PATIENCE).await.code(), Some(0));
    for _ in 0..20 {
        assert_eq!(site.call(Method::GET, "/seats", &token).await.status, 200, "the first is back");
    }
}
