//! Conservation under very many operations at once, of which many are sent twice, by callers who
//! give up in the middle, over a link that cuts replies.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anteroom_core::pool::{Answer, Asked, HoldId, Pool, Refusal, Rules};
use anteroom_core::store::{Config, Error, Store};
use anteroom_testkit::{Cut, PATIENCE, Proxy, Redis};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

use super::money::{open, sums, tick};
use super::support;

const FUNDS: u64 = 5_000;

/// What all callers were told was paid and funded by their own operations.
#[derive(Default)]
struct Told {
    drawn: AtomicU64,
}

/// A caller: random operations, each with a name of its own, a third of them sent twice.
async fn call(pool: Pool, seed: u64, operations: u64, told: Arc<Told>) {
    let mut random = StdRng::seed_from_u64(seed);
    let mut holds: Vec<HoldId> = Vec::new();
    for n in 0..operations {
        let (kind, amount) = (random.random_range(0..6), random.random_range(1..=200));
        let (twice, gives_up) = (random.random_ratio(1, 3), random.random_ratio(1, 20));
        let id = format!("{seed}-{n}");
        let times = if twice { 2 } else { 1 };
        let mut paid = None;
        for _ in 0..times {
            let asked = Asked::Amount(amount);
            let operation = async {
                Ok::<_, Error>(match kind {
                    0 | 1 => match pool.draw(&asked, &id).await? {
                        Answer::Done(it) | Answer::Repeated(it) => {
                            assert_eq!(it.amount, amount);
                            Some((&told.drawn, it.amount))
                        }
                        Answer::Refused(Refusal::Insufficient { balance }) => {
                            assert!(balance < amount, "a refusal that was wrong");
                            None
                        }
                        other @ Answer::Refused(_) => panic!("{other:?}"),
                    },
                    2 | 3 => {
                        match pool.hold(&asked, &id).await? {
                            Answer::Done(it) | Answer::Repeated(it) => holds.push(it.id),
                            Answer::Refused(Refusal::Insufficient { balance }) => {
                                assert!(balance < amount, "a refusal that was wrong");
                            }
                            other @ Answer::Refused(_) => panic!("{other:?}"),
                        }
                        None
                    }
                    4 if !holds.is_empty() => {
                        let hold = holds[n as usize % holds.len()];
                        match pool.settle(hold, amount / 4).await? {
                            Answer::Done(_) | Answer::Repeated(_) | Answer::Refused(_) => None,
                        }
                    }
                    _ if !holds.is_empty() => {
                        pool.cancel(holds[n as usize % holds.len()]).await?;
                        None
                    }
                    _ => None,
                })
            };
            let answer = if gives_up {
                // Whoever goes away in the middle hears nothing, but it may have been done.
                match tokio::time::timeout(Duration::from_micros(200), operation).await {
                    Ok(answer) => answer,
                    Err(_) => Err(Error::Unknown("gave up".to_owned())),
                }
            } else {
                operation.await
            };
            match answer {
                Ok(counted) => paid = paid.or(counted),
                Err(Error::Reply { operation, detail }) => panic!("{operation}: {detail}"),
                Err(_) => {}
            }
        }
        if let Some((sum, amount)) = paid {
            sum.fetch_add(amount, Ordering::Relaxed);
        }
    }
}

async fn play(pools: Vec<Pool>, operations: u64) -> Arc<Told> {
    let told = Arc::new(Told::default());
    let callers = pools
        .into_iter()
        .cycle()
        .take(64)
        .zip(0..)
        .map(|(pool, seed)| tokio::spawn(call(pool, seed, operations / 64, told.clone())));
    for caller in callers.collect::<Vec<_>>() {
        caller.await.expect("a caller");
    }
    told
}

fn operations() -> u64 {
    // `make soak` asks for more.
    let soak = std::env::var("ANTEROOM_HISTORIES").ok().and_then(|count| count.parse().ok());
    soak.map_or(50_000, |count: u64| count.max(1_000_000))
}

fn rules() -> Rules {
    Rules { hold_ttl: Duration::from_secs(1), ..super::money::funded(FUNDS) }
}

/// Puts money in and takes back what has ended, as long as it lives.
async fn tend(pool: Pool) {
    for n in 0u64.. {
        tick(&pool).await;
        let _ = pool.fund(50, &n.to_string()).await;
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
    let told = play(std::iter::once(pool.clone()).chain(others).collect(), operations()).await;
    tending.abort();
    let sums = sums(&pool).await;
    assert!(sums.paid >= told.drawn.load(Ordering::Relaxed), "what was said to be paid is paid");
    assert!(told.drawn.load(Ordering::Relaxed) > FUNDS / 2, "it was fought for");
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
    let playing = tokio::spawn(play(vec![pool.clone()], operations() / 5));
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
    let told = playing.await.expect("the callers");
    tending.abort();
    let sums = sums(&direct).await;
    assert!(sums.paid >= told.drawn.load(Ordering::Relaxed), "what was said to be paid is paid");
}
