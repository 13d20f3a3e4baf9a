//! Promise 9 from the outside: visitors apply over HTTP while admissions, schedulers, issuers and
//! the store are killed, processes sleep longer than their leases and wake, and calls are cut.

use std::{
    collections::{BTreeSet, HashMap},
    process::Command,
    sync::{Arc, Mutex},
    time::Duration,
};

use anteroom_testkit::{
    Cluster, Deployment, PATIENCE, Process, Proxy, Receiver, Redis, SlotMove, binary, until,
    until_some,
    witness::{
        Doors,
        event::{Call, Line, Outcome, check_ended},
    },
};
use http::Method;
use rand::{Rng as _, SeedableRng as _, rngs::StdRng};
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::sleep};

use crate::{
    backend::{Backend, Heard},
    breaking::{Chaos, Unit, length, seeded},
};

const EVENT: &str = "/v1/events/coupon";
/// Units for each second of the run, given out as fast as applications come.
const UNITS: u64 = 20;

/// Visitors who apply, and the codes that they got, each with a number in place of its text.
struct Crowd {
    backend: Backend<Line>,
    codes: Mutex<HashMap<String, u64>>,
}

impl Crowd {
    fn new(doors: Doors) -> Self {
        Self { backend: Backend::new(doors), codes: Mutex::default() }
    }

    async fn ask(&self, visitor: u32, door: u8, call: Call) -> (Heard, Outcome) {
        let (backend, path) = (&self.backend, format!("{EVENT}/applications"));
        let heard = match call {
            Call::Apply => {
                let body = json!({ "visitor_id": name(visitor) });
                backend.ask(door, &Method::POST, &path, &body).await
            }
            Call::Status => {
                let path = format!("{path}/{}", name(visitor));
                backend.ask(door, &Method::GET, &path, &Value::Null).await
            }
        };
        let body = heard.body.to_string();
        let numbered = |code: &str| {
            let mut codes = self.codes.lock().expect("no test panics with it");
            let next = codes.len() as u64;
            *codes.entry(code.to_owned()).or_insert(next)
        };
        let outcome = Outcome::read(call, heard.status.unwrap_or(0), body.as_bytes(), numbered);
        let Heard { sent, received, status, .. } = heard;
        self.backend.notes(Line { visitor, call, sent, received, status, outcome });
        (heard, outcome)
    }

    /// Applies until it knows that it has, or that it came too late; now and then once more.
    async fn applies(&self, visitor: u32, mut random: StdRng) {
        let door = |random: &mut StdRng| random.random_range(0..2);
        loop {
            let (_, outcome) = self.ask(visitor, door(&mut random), Call::Apply).await;
            if outcome != Outcome::Nothing && random.random_bool(0.8) {
                break;
            }
            sleep(Duration::from_millis(random.random_range(20..200))).await;
        }
        for _ in 0..random.random_range(0..5) {
            sleep(Duration::from_millis(random.random_range(100..1_500))).await;
            self.ask(visitor, door(&mut random), Call::Status).await;
        }
    }

    /// What has become of each at last.
    async fn ended(&self, visitors: u32) -> Vec<Outcome> {
        let mut all = Vec::new();
        for visitor in 0..visitors {
            let outcome = until_some("a status is shown", PATIENCE, async || {
                let (_, outcome) = self.ask(visitor, 0, Call::Status).await;
                (outcome != Outcome::Nothing).then_some(outcome)
            });
            all.push(outcome.await);
        }
        all
    }
}

fn name(visitor: u32) -> String {
    format!("visitor-{visitor}")
}

/// Loads so many codes with the issuer's own command.
async fn load_codes(deployment: &Deployment, codes: u64, env: &[(&str, &str)]) {
    let file = deployment.config_file().with_file_name("codes.txt");
    let all: String = (0..codes).map(|code| format!("CODE-{code}\n")).collect();
    std::fs::write(&file, all).expect("a file");
    let mut command = Command::new(binary("anteroom-issuer"));
    command.args(["codes", "load", "coupon"]).arg(file);
    command.arg("--config").arg(deployment.config_file());
    command.env("ANTEROOM_STORE__URL", deployment.redis.url()).envs(env.iter().copied());
    let mut process = Process::start(command);
    let status = process.exit(PATIENCE).await;
    assert!(status.success(), "{}", process.stderr());
}

/// All come within this time, and go on for a while.
fn come(crowd: &Arc<Crowd>, visitors: u32, within: Duration, random: &mut StdRng) -> JoinSet<()> {
    let mut applicants = JoinSet::new();
    for visitor in 0..visitors {
        let (crowd, random) = (crowd.clone(), StdRng::seed_from_u64(random.random()));
        let arrives = within.mul_f64(f64::from(visitor) / f64::from(visitors));
        applicants.spawn(async move {
            sleep(arrives).await;
            crowd.applies(visitor, random).await;
        });
    }
    applicants
}

/// Without faults now: each application ends, each unit is a visitor's, and all recorded answers
/// agree with that. Returns the outcome of each.
async fn ends_well(crowd: &Crowd, visitors: u32, stock: u64) -> Vec<Outcome> {
    let event = until_some("every application has ended", 2 * PATIENCE, async || {
        let event = crowd.backend.ask(0, &Method::GET, EVENT, &Value::Null).await.body;
        // GET may be a second behind.
        let is_over = event["pending"] == 0 && event["claimed"] == 0 && event["issued"] == stock;
        is_over.then_some(event)
    });
    let event = event.await;
    let ended = crowd.ended(visitors).await;
    let units = usize::try_from(stock).expect("a few");
    crowd.backend.hold_to(|lines| check_ended(lines, units));
    let issued = ended.iter().filter(|it| matches!(it, Outcome::Issued { .. })).count();
    assert_eq!(issued, units, "{event}");
    let whole = ["issued", "dead", "codes"].map(|it| event[it].as_u64());
    assert_eq!(whole, [Some(stock), Some(0), Some(0)], "{event}");
    assert!(ended.contains(&Outcome::SoldOut), "some had applied, and went without");
    ended
}

/// Each visitor with a unit has a code of its own.
fn each_has_a_code(ended: &[Outcome], stock: u64) {
    let codes = ended.iter().filter_map(|outcome| match outcome {
        Outcome::Issued { code } => *code,
        _ => None,
    });
    assert_eq!(codes.collect::<BTreeSet<_>>().len() as u64, stock);
}

/// So many units, of which `per_second` are given out.
fn rules(stock: u64, per_second: u64) -> String {
    format!(
        "[events.coupon]\nstock = {stock}\nover_apply = 1.3\nlease = \"1s\"\n\
         max_attempts = 1000\nkick_interval = \"200ms\"\nmax_per_second = {per_second}\n"
    )
}

const CODES: &str = "issue = \"codes\"\n";

/// More than may apply.
fn applicants(stock: u64) -> u32 {
    u32::try_from(stock * 8 / 5).expect("a day at most")
}

/// Everything is broken while visitors come: what has become of each in the end.
async fn in_chaos(deployment: Deployment, link: &Arc<Proxy>, mut random: StdRng) -> Vec<Outcome> {
    let length = length(8);
    let stock = stock(length);
    let units = [
        Unit::Admission(0),
        Unit::Admission(1),
        Unit::Scheduler,
        Unit::Scheduler,
        Unit::Issuer,
        Unit::Issuer,
        Unit::Issuer,
    ];
    // Longer than the lease, most of the time.
    let freeze = (length / 6).min(Duration::from_secs(5));
    let mut chaos = Chaos::begin(deployment, &units, "service", freeze, length, &mut random).await;
    chaos.break_store(link.clone(), &mut random);
    let crowd = Arc::new(Crowd::new(chaos.doors()));
    let coming = come(&crowd, applicants(stock), length.mul_f64(0.7), &mut random);
    chaos.over().await;
    coming.join_all().await;
    ends_well(&crowd, applicants(stock), stock).await
}

/// For a run of this length.
fn stock(length: Duration) -> u64 {
    UNITS * length.as_secs()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promise_09_holds_while_every_process_and_the_store_are_killed() {
    let (random, stock) = (seeded(), stock(length(8)));
    let _alone = crate::machine(crate::HEAVY).await;
    let redis = Redis::builder().durable().start().await;
    let link = Arc::new(Proxy::start(redis.port()).await);
    let env = [("ANTEROOM_STORE__URL", &*link.url())];
    let deployment = Deployment::new(redis, &(rules(stock, UNITS) + CODES), &env);
    // The event is a scheduler's to make.
    let scheduler = deployment.scheduler().await;
    load_codes(&deployment, stock, &[]).await;
    scheduler.end().await;
    let ended = in_chaos(deployment, &link, random).await;
    each_has_a_code(&ended, stock);
}

/// It answers 503, hangs, breaks off, redirects, and says twice that it has issued.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promise_09_holds_at_a_fickle_receiver_while_all_processes_and_the_store_are_killed() {
    let (random, stock) = (seeded(), stock(length(8)));
    let _alone = crate::machine(crate::HEAVY).await;
    let receiver = Receiver::start().await;
    let redis = Redis::builder().durable().start().await;
    let link = Arc::new(Proxy::start(redis.port()).await);
    let env = [("ANTEROOM_STORE__URL", &*link.url())];
    let webhook = receiver.rules("/fickle") + "timeout = \"500ms\"\n";
    let deployment = Deployment::new(redis, &(rules(stock, UNITS) + &webhook), &env);
    let ended = in_chaos(deployment, &link, random).await;
    let has_unit = |(_, outcome): &(_, &Outcome)| matches!(outcome, Outcome::Issued { .. });
    let winners = (0..).zip(&ended).filter(has_unit).map(|(visitor, _)| name(visitor));
    let winners: BTreeSet<_> = winners.collect();
    let bodies = receiver.bodies().await;
    let issued = bodies.iter().map(|body| body["visitor_id"].as_str().expect("a visitor"));
    let issued: BTreeSet<_> = issued.map(str::to_owned).collect();
    assert_eq!(issued, winners, "those whose status is issued, and no others");
    assert_eq!(bodies.len(), winners.len(), "no visitor has two");
}

/// A replica takes over in order, and the slot moves; nothing acknowledged is lost by either.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promise_09_holds_on_a_cluster_that_hands_over_and_moves_the_slot() {
    let (mut random, stock, length) = (seeded(), 150, Duration::from_secs(8));
    let _alone = crate::machine(crate::HEAVY).await;
    let cluster = Cluster::start(3, 1).await;
    let nodes = cluster.urls().join(",");
    let env = [("ANTEROOM_STORE__MODE", "cluster"), ("ANTEROOM_STORE__NODES", &*nodes)];
    let deployment = Deployment::new(Redis::start().await, &(rules(stock, 15) + CODES), &env);
    let _scheduler = deployment.scheduler().await;
    load_codes(&deployment, stock, &env).await;
    let (here, there) = (deployment.admission().await, deployment.admission().await);
    let _issuers = [deployment.issuer().await, deployment.issuer().await];
    let crowd = Arc::new(Crowd::new(Doors::new([here.url("service"), there.url("service")])));
    let coming = come(&crowd, applicants(stock), length, &mut random);
    let is_under_way = async |units: u64| {
        until("some are issued", PATIENCE, async || {
            let event = crowd.backend.ask(0, &Method::GET, EVENT, &Value::Null).await.body;
            event["issued"].as_u64() >= Some(units)
        })
        .await;
    };
    is_under_way(20).await;
    let owner = cluster.owner("coupon").await;
    cluster.replicas[owner].takes_over_in_order().await;
    is_under_way(60).await;
    cluster.settles().await;
    cluster.primaries[owner].takes_over_in_order().await;
    cluster.settles().await;
    let moving = SlotMove::begin(&cluster, "coupon", (owner + 1) % 3).await;
    moving.step(&moving.keys().await).await;
    moving.end().await;
    coming.join_all().await;
    let ended = ends_well(&crowd, applicants(stock), stock).await;
    each_has_a_code(&ended, stock);
}
