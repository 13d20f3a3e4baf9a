//! Conservation under very many operations at once, of which many are sent twice, by callers who
//! give up in the middle, over a link that cuts replies.

use std::collections::HashSet;
use std::time::Duration;

use anteroom_core::pool::{AmountRequest, Answer, HoldId, Pool, Refusal, Rules};
use anteroom_core::store::{Config, Error, Store};
use anteroom_testkit::{Cut, PATIENCE, Proxy, Redis};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use tokio::task::JoinSet;

use super::money::{open, sums, tick, units};
use super::support;

const FUNDS: u64 = 5_000;

/// What pays when it is done.
enum Payment {
    Draw { id: String, amount: u64 },
    Settle { hold: HoldId, amount: u64 },
}

impl Payment {
    fn amount(&self) -> u64 {
        let (Self::Draw { amount, .. } | Self::Settle { amount, .. }) = self;
        *amount
    }

    /// Asks for it; whether it is paid.
    async fn ask(&self, pool: &Pool) -> Result<bool, Error> {
        let told = match self {
            Self::Draw { id, amount } => {
                match pool.draw(&AmountRequest::Amount(units(*amount)), id).await? {
                    Answer::Done(it) | Answer::Repeated(it) => it.amount,
                    Answer::Refused(refusal) => {
                        is_short(refusal, *amount);
                        return Ok(false);
                    }
                }
            }
            Self::Settle { hold, amount } => match pool.settle(*hold, units(*amount)).await? {
                Answer::Done(it) | Answer::Repeated(it) => it.amount,
                // It was cancelled, settled for another amount, or is over and not covered.
                Answer::Refused(_) => return Ok(false),
            },
        };
        assert_eq!(told, self.amount());
        Ok(true)
    }
}

fn is_short(refusal: Refusal, amount: u64) {
    match refusal {
        Refusal::Insufficient { balance } => assert!(balance < amount, "a refusal that was wrong"),
        other => panic!("{other:?}"),
    }
}

/// Random operations, each with a name of its own, a third of them sent twice.
struct Caller {
    pool: Pool,
    seed: u64,
    random: StdRng,
    holds: Vec<HoldId>,
    settled: HashSet<HoldId>,
    /// What it never heard of, which may have been done.
    doubtful: Vec<Payment>,
    /// What it was told that is paid.
    paid: u64,
}

impl Caller {
    fn new(pool: Pool, seed: u64) -> Self {
        let random = StdRng::seed_from_u64(seed);
        let (holds, settled, doubtful) = Default::default();
        Self { pool, seed, random, holds, settled, doubtful, paid: 0 }
    }

    async fn plays(mut self, operations: u64) -> Self {
        for n in 0..operations {
            let (kind, amount) =
                (self.random.random_range(0..6), self.random.random_range(1..=200));
            let times = if self.random.random_ratio(1, 3) { 2 } else { 1 };
            let hold = (!self.holds.is_empty()).then(|| self.holds[n as usize % self.holds.len()]);
            let id = format!("{}-{n}", self.seed);
            match (kind, hold) {
                (0 | 1, _) => self.pays(Payment::Draw { id, amount }, times).await,
                (2 | 3, _) => self.holds(&id, amount, times).await,
                (4, Some(hold)) => {
                    self.pays(Payment::Settle { hold, amount: amount / 4 }, times).await;
                }
                (_, Some(hold)) => {
                    let canceled = async { self.pool.cancel(hold).await };
                    let _ = gives_up_now_and_then(self.random.random(), canceled).await;
                }
                (_, None) => {}
            }
        }
        self
    }

    async fn pays(&mut self, payment: Payment, times: u32) {
        let (mut is_paid, mut is_doubtful) = (false, false);
        for _ in 0..times {
            let asked = payment.ask(&self.pool);
            match gives_up_now_and_then(self.random.random(), asked).await {
                Some(it) => is_paid |= it,
                None => is_doubtful = true,
            }
        }
        if is_paid {
            self.is_paid(&payment);
        } else if is_doubtful {
            self.doubtful.push(payment);
        }
    }

    async fn holds(&mut self, id: &str, amount: u64, times: u32) {
        for _ in 0..times {
            let asked = AmountRequest::Amount(units(amount));
            let held = self.pool.hold(&asked, id);
            match gives_up_now_and_then(self.random.random(), held).await {
                Some(Answer::Done(it) | Answer::Repeated(it)) => self.holds.push(it.id),
                Some(Answer::Refused(refusal)) => is_short(refusal, amount),
                None => {}
            }
        }
    }

    fn is_paid(&mut self, payment: &Payment) {
        // A hold is paid once, however often its settlement is repeated.
        let is_first = match payment {
            Payment::Draw { .. } => true,
            Payment::Settle { hold, .. } => self.settled.insert(*hold),
        };
        if is_first {
            self.paid += payment.amount();
        }
    }

    /// Asks again, now that all is calm, for what it never heard of. All that it was told is paid.
    async fn clears(mut self, pool: Pool) -> u64 {
        for payment in std::mem::take(&mut self.doubtful) {
            if payment.ask(&pool).await.expect("nothing is broken now") {
                self.is_paid(&payment);
            }
        }
        self.paid
    }
}

/// The answer, for who waits for it, and has one: whoever goes away in the middle hears nothing.
async fn gives_up_now_and_then<T>(
    random: u32,
    asked: impl Future<Output = Result<T, Error>>,
) -> Option<T> {
    let answer = if random.is_multiple_of(20) {
        tokio::time::timeout(Duration::from_micros(200), asked).await.ok()?
    } else {
        asked.await
    };
    match answer {
        Ok(answer) => Some(answer),
        Err(Error::Reply { operation, detail }) => panic!("{operation}: {detail}"),
        Err(_) => None,
    }
}

async fn play(pools: Vec<Pool>, operations: u64) -> Vec<Caller> {
    let pools = pools.into_iter().cycle().take(64);
    let callers = pools.zip(0..).map(|(pool, seed)| Caller::new(pool, seed).plays(operations / 64));
    callers.collect::<JoinSet<_>>().join_all().await
}

/// The pool adds up by its own ledger, and has paid what its callers were told, to the unit.
async fn adds_up(pool: &Pool, callers: Vec<Caller>) {
    let clearing = callers.into_iter().map(|caller| caller.clears(pool.clone()));
    let paid: u64 = clearing.collect::<JoinSet<_>>().join_all().await.into_iter().sum();
    let sums = sums(pool).await;
    assert_eq!(sums.paid, paid);
    assert!(paid * 2 > sums.funded, "it was fought for");
}

/// So many, or far more in `make soak`.
fn operations(few: u64) -> u64 {
    let soak = std::env::var("ANTEROOM_HISTORIES").ok().and_then(|count| count.parse().ok());
    soak.map_or(few, |count: u64| count.max(1_000_000))
}

fn rules() -> Rules {
    Rules { hold_ttl: Duration::from_secs(1), ..super::money::funded(FUNDS) }
}

/// Puts money in and takes back what has ended, as long as it lives.
async fn tend(pool: Pool) {
    for n in 0u64.. {
        tick(&pool).await;
        let _ = pool.fund(units(50), &n.to_string()).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promise_10_nothing_is_lost_or_made_by_very_many_operations() {
    let redis = Redis::start().await;
    let store = support::open(Config::new(redis.socket_url())).await;
    let pool = open(&store, "reward", rules());
    let tending = tokio::spawn(tend(pool.clone()));
    let others = (0..3).map(|_| open(&store, "reward", rules()));
    let pools = std::iter::once(pool.clone()).chain(others).collect();
    let callers = play(pools, operations(50_000)).await;
    tending.abort();
    adds_up(&pool, callers).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn promises_10_11_nothing_is_lost_or_made_when_replies_are_cut() {
    let redis = Redis::start().await;
    let proxy = Proxy::start(redis.port()).await;
    let config = Config::new(proxy.url());
    let registry = prometheus::Registry::new();
    let store = Store::open(&config, &anteroom_core::scripts(), &registry).expect("an address");
    assert!(store.wait_up(PATIENCE).await, "the store is up");
    let pool = open(&store, "reward", rules());
    pool.snapshot().await.expect("a look");
    let playing = tokio::spawn(play(vec![pool.clone()], operations(10_000)));
    let direct = support::open(Config::new(redis.socket_url())).await;
    let direct = open(&direct, "reward", rules());
    let tending = tokio::spawn(tend(direct.clone()));
    for n in 0.. {
        if playing.is_finished() {
            break;
        }
        proxy.cut(b"{reward}", [Cut::After, Cut::Amid, Cut::Before][n % 3]);
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    assert!(proxy.cuts() > 5, "replies were cut");
    let callers = playing.await.expect("the callers");
    tending.abort();
    adds_up(&direct, callers).await;
}
