//! Promise 10 from the outside: many draw and hold what a few can have, over HTTP, while
//! admissions, schedulers and the store are killed, and calls are cut and repeated.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anteroom_testkit::{
    Cluster, Deployment, PATIENCE, Proxy, Redis, SlotMove, until,
    witness::{
        Doors,
        pool::{Call, Line, Sums, check},
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

const POOL: &str = "/v1/pools/reward";
const HOLD_TTL: Duration = Duration::from_secs(2);
const RULES: &str = "[pools.reward]\nhold_ttl = \"2s\"\n";
const CALLERS: u64 = 24;
/// What comes in at a time; the callers want far more.
const FUNDS: u64 = 60;

/// A call, as it is sent again and again.
#[derive(Clone)]
struct Ask {
    operation: u64,
    call: Call,
    method: Method,
    path: String,
    body: Value,
}

impl Ask {
    /// One that names its operation.
    fn named(operation: u64, call: Call, path: &str, amount: u64) -> Self {
        let body = json!({ "amount": amount, "operation_id": format!("operation {operation}") });
        Self { operation, call, method: Method::POST, path: path.to_owned(), body }
    }

    /// One of a hold.
    fn of(operation: u64, call: Call, method: Method, path: String, body: Value) -> Self {
        Self { operation, call, method, path, body }
    }
}

struct Callers {
    backend: Backend<Line>,
    /// What was paid, and put in, by operation.
    paid: Mutex<BTreeMap<u64, u64>>,
    funded: Mutex<BTreeMap<u64, u64>>,
    /// Refused after an answer that never came: the first may still have its effect.
    doubtful: Mutex<Vec<Ask>>,
    is_over: AtomicBool,
}

impl Callers {
    async fn once(&self, ask: &Ask, door: u8) -> Heard {
        let heard = self.backend.ask(door, &ask.method, &ask.path, &ask.body).await;
        let sum = |name: &str| heard.body[name].as_u64();
        let sums = || {
            let (funded, balance) = (sum("funded")?, sum("balance")?);
            Some(Sums { funded, balance, held: sum("held")?, paid: sum("paid")? })
        };
        self.backend.notes(Line {
            operation: ask.operation,
            call: ask.call,
            sent: heard.sent,
            received: heard.received,
            status: heard.status,
            code: heard.text("code").to_owned(),
            sums: (ask.call == Call::Look).then(sums).flatten(),
        });
        heard
    }

    /// Sends it until it is clear what came of it.
    async fn until_clear(&self, ask: &Ask, random: &mut StdRng) -> Heard {
        let mut was_unknown = false;
        loop {
            let heard = self.once(ask, random.random_range(0..2)).await;
            if heard.is_unknown() {
                was_unknown = true;
                sleep(Duration::from_millis(random.random_range(10..150))).await;
                continue;
            }
            let is_done = matches!(heard.status, Some(200..=204));
            let lock = "no test panics with it";
            match ask.call {
                Call::Draw { amount } | Call::Settle { amount } if is_done => {
                    self.paid.lock().expect(lock).insert(ask.operation, amount);
                }
                Call::Fund { amount } if is_done => {
                    self.funded.lock().expect(lock).insert(ask.operation, amount);
                }
                _ if was_unknown && !is_done => {
                    self.doubtful.lock().expect(lock).push(ask.clone());
                }
                _ => {}
            }
            return heard;
        }
    }

    /// One operation after the other: draws, holds that are settled, cancelled or forgotten, looks.
    async fn plays(&self, caller: u64, mut random: StdRng) {
        for operation in (caller * 1_000_000 + 1).. {
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            sleep(Duration::from_millis(random.random_range(0..60))).await;
            let amount = random.random_range(1..=30);
            let kind = random.random_range(0..10);
            if kind == 0 {
                let look = Ask::of(0, Call::Look, Method::GET, POOL.to_owned(), Value::Null);
                self.once(&look, random.random_range(0..2)).await;
            } else if kind < 6 {
                let path = format!("{POOL}/draws");
                let draw = Ask::named(operation, Call::Draw { amount }, &path, amount);
                self.until_clear(&draw, &mut random).await;
                if random.random_bool(0.2) {
                    self.until_clear(&draw, &mut random).await;
                }
            } else {
                self.holds(operation, amount, &mut random).await;
            }
        }
    }

    async fn holds(&self, operation: u64, amount: u64, random: &mut StdRng) {
        let path = format!("{POOL}/holds");
        let hold = Ask::named(operation, Call::Hold { amount }, &path, amount);
        let held = self.until_clear(&hold, random).await;
        if held.status != Some(201) {
            return;
        }
        let path = format!("{path}/{}", held.text("hold_id"));
        if random.random_bool(0.3) {
            let path = format!("{path}/extend");
            let extend = Ask::of(operation, Call::Extend, Method::POST, path, json!({}));
            self.until_clear(&extend, random).await;
        }
        match random.random_range(0..10) {
            0 => {}
            1..4 => {
                let cancel = Ask::of(operation, Call::Cancel, Method::DELETE, path, Value::Null);
                self.until_clear(&cancel, random).await;
            }
            late => {
                if late == 9 {
                    sleep(HOLD_TTL).await;
                }
                let amount = random.random_range(0..=amount);
                let (path, body) = (format!("{path}/settle"), json!({ "amount": amount }));
                let call = Call::Settle { amount };
                let settle = Ask::of(operation, call, Method::POST, path, body);
                self.until_clear(&settle, random).await;
            }
        }
    }

    /// An operator puts some in, now and then.
    async fn funds(&self, mut random: StdRng) {
        let path = "/v1/admin/pools/reward/funds";
        for operation in 1.. {
            let fund = Ask::named(operation, Call::Fund { amount: FUNDS }, path, FUNDS);
            self.until_clear(&fund, &mut random).await;
            sleep(Duration::from_millis(random.random_range(50..200))).await;
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
        }
    }
}

/// All who call these admissions, until it is over.
fn call(doors: Doors, random: &mut StdRng) -> (Arc<Callers>, JoinSet<()>) {
    let callers = Arc::new(Callers {
        backend: Backend::new(doors),
        paid: Mutex::default(),
        funded: Mutex::default(),
        doubtful: Mutex::default(),
        is_over: AtomicBool::default(),
    });
    let mut all = JoinSet::new();
    for caller in 0..=CALLERS {
        let (callers, random) = (callers.clone(), StdRng::seed_from_u64(random.random()));
        all.spawn(async move {
            match caller {
                0 => callers.funds(random).await,
                _ => callers.plays(caller, random).await,
            }
        });
    }
    (callers, all)
}

/// Without faults now: each acknowledged payment and deposit took effect once, and nothing else
/// did; and the ledger agrees.
async fn ends_well(callers: &Callers, mut random: StdRng) {
    // What a frozen process did late is known now.
    let doubtful = std::mem::take(&mut *callers.doubtful.lock().expect("no other user"));
    for ask in &doubtful {
        callers.until_clear(ask, &mut random).await;
    }
    callers.backend.hold_to(|lines| check(lines, HOLD_TTL));
    let sum =
        |of: &Mutex<BTreeMap<u64, u64>>| of.lock().expect("no other user").values().sum::<u64>();
    let (paid, funded) = (sum(&callers.paid), sum(&callers.funded));
    let look = Ask::of(0, Call::Look, Method::GET, POOL.to_owned(), Value::Null);
    let expected = (0.into(), paid.into(), funded.into());
    // GET may be a second behind.
    until("no hold is left, and the sums are these", 2 * PATIENCE, async || {
        let pool = callers.once(&look, 0).await.body;
        (&pool["held"], &pool["paid"], &pool["funded"]) == (&expected.0, &expected.1, &expected.2)
    })
    .await;
    assert!(paid * 2 > funded, "most of it was given out");
    let (path, body) = ("/v1/admin/pools/reward/audit", json!({}));
    let audit = callers.backend.ask(0, &Method::POST, path, &body).await.body;
    assert_eq!(audit["holds"], true, "{audit}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promise_10_holds_near_zero_while_admissions_and_the_store_are_killed() {
    let (mut random, length) = (seeded(), length(8));
    let _alone = crate::machine(crate::HEAVY).await;
    let redis = Redis::builder().durable().start().await;
    let link = Arc::new(Proxy::start(redis.port()).await);
    let deployment = Deployment::new(redis, RULES, &[("ANTEROOM_STORE__URL", &link.url())]);
    let units = [Unit::Admission(0), Unit::Admission(1), Unit::Scheduler, Unit::Scheduler];
    let freeze = (length / 6).min(Duration::from_secs(5));
    let mut chaos = Chaos::begin(deployment, &units, "service", freeze, length, &mut random).await;
    chaos.break_store(link.clone(), &mut random);
    let (callers, all) = call(chaos.doors(), &mut random);
    chaos.over().await;
    callers.is_over.store(true, Ordering::Relaxed);
    all.join_all().await;
    ends_well(&callers, random).await;
}

/// A replica takes over in order, and the slot moves; nothing acknowledged is lost by either.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promise_10_holds_on_a_cluster_that_hands_over_and_moves_the_slot() {
    let mut random = seeded();
    let _alone = crate::machine(crate::HEAVY).await;
    let cluster = Cluster::start(3, 1).await;
    let nodes = cluster.urls().join(",");
    let env = [("ANTEROOM_STORE__MODE", "cluster"), ("ANTEROOM_STORE__NODES", &*nodes)];
    let deployment = Deployment::new(Redis::start().await, RULES, &env);
    let _scheduler = deployment.scheduler().await;
    let (here, there) = (deployment.admission().await, deployment.admission().await);
    let doors = Doors::new([here.url("service"), there.url("service")]);
    let (callers, all) = call(doors, &mut random);
    let paid = || callers.paid.lock().expect("no test panics with it").len();
    let goes_on = async || {
        let before = paid();
        until("more is paid", PATIENCE, async || paid() > before + 10).await;
    };
    goes_on().await;
    let owner = cluster.owner("reward").await;
    cluster.replicas[owner].takes_over_in_order().await;
    goes_on().await;
    cluster.settles().await;
    cluster.primaries[owner].takes_over_in_order().await;
    cluster.settles().await;
    let moving = SlotMove::begin(&cluster, "reward", (owner + 1) % 3).await;
    moving.step(&moving.keys().await).await;
    moving.end().await;
    goes_on().await;
    callers.is_over.store(true, Ordering::Relaxed);
    all.join_all().await;
    ends_well(&callers, random).await;
}
