//! What breaks and comes back: killed, frozen, half-open, refused, demoted.
//!
//! "At once" is asserted by budgets so wide that a call that waits would outlast the test.

use std::net::TcpStream;

use anteroom_core::store::{Config, Error, Repeat, Store};
use anteroom_testkit::{Fault, Log, PATIENCE, Proxy, Redis, until};
use redis::Value;
use tokio::net::TcpListener;

use crate::support::{add, brisk, echo, open, opened, patient, proxied};

async fn down(store: &Store) {
    until("the store is down", PATIENCE, || async { !store.is_up() }).await;
}

async fn fails_at_once(store: &Store) {
    for _ in 0..50 {
        let call = tokio::time::timeout(PATIENCE, echo(store, "x")).await;
        let failed = call.expect("a call without a connection does not wait");
        assert!(matches!(failed, Err(Error::Unavailable(_))), "{failed:?}");
    }
}

async fn recovers(store: &Store) {
    assert!(store.wait_up(PATIENCE).await, "the store does not recover");
    assert_eq!(echo(store, "back").await, Ok("back".into()));
}

#[tokio::test]
async fn a_killed_server_fails_calls_at_once_and_is_found_again() {
    let mut redis = Redis::start().await;
    let (log, _guard) = Log::of_thread();
    let store = opened(&patient(redis.url())).await;
    for round in 1..=3 {
        redis.kill();
        // No call comes meanwhile: an idle loss is noticed too.
        down(&store).await;
        fails_at_once(&store).await;
        redis.restart().await;
        recovers(&store).await;
        let ups = log.text().matches("Redis is up").count();
        let downs = log.text().matches("Redis is down").count();
        assert_eq!((ups, downs), (round + 1, round), "{}", log.text());
    }
}

#[tokio::test]
async fn a_server_that_comes_late_is_found() {
    let mut redis = Redis::start().await;
    redis.kill();
    let store = open(&patient(redis.url()));
    fails_at_once(&store).await;
    redis.restart().await;
    recovers(&store).await;
}

/// Where each step of connecting takes its time, as in a process that is busy with those who ask
/// again.
#[tokio::test]
async fn a_store_that_is_slow_to_connect_is_connected_all_the_same() {
    let redis = Redis::start().await;
    let proxy = Proxy::start(redis.port()).await;
    let slow = brisk(proxy.url()).connect_timeout / 3;
    proxy.set(Fault::Delay(slow));
    let store = opened(&brisk(proxy.url())).await;
    // The answer takes most of its short time-out already.
    until("a call is answered", PATIENCE, || async { echo(&store, "slow").await.is_ok() }).await;
}

/// Otherwise it would keep everyone from the server to which the address leads by now.
#[tokio::test]
async fn an_attempt_that_waits_for_a_hung_server_keeps_no_other_from_beginning() {
    let hung = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let _store = open(&brisk(format!("redis://{}", hung.local_addr().unwrap())));
    let mut taken = Vec::new();
    let two_at_once = async {
        while taken.iter_mut().map(|taken| usize::from(is_open(taken))).sum::<usize>() < 2 {
            taken.push(hung.accept().await.unwrap().0.into_std().unwrap());
        }
    };
    let two_at_once = tokio::time::timeout(PATIENCE, two_at_once).await;
    two_at_once.expect("an attempt begins beside the one that waits");
}

/// Whether the client has not closed it.
fn is_open(taken: &mut TcpStream) -> bool {
    let end = std::io::copy(taken, &mut std::io::sink());
    end.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}

#[tokio::test]
async fn a_frozen_server_costs_a_few_timeouts_and_then_nothing() {
    let redis = Redis::start().await;
    let config = Config { request_timeout: brisk("").command_timeout * 4, ..brisk(redis.url()) };
    let store = opened(&config).await;
    redis.freeze();
    let mut unknown = 0;
    while store.is_up() {
        match echo(&store, "x").await {
            Err(Error::Unknown(_)) => unknown += 1,
            Err(Error::Unavailable(_)) => {}
            other => panic!("{other:?}"),
        }
        assert!(unknown <= 3, "three time-outs in a row give the connection up");
    }
    fails_at_once(&store).await;
    redis.thaw();
    recovers(&store).await;
}

#[tokio::test]
async fn calls_that_time_out_together_count_once() {
    let redis = Redis::start().await;
    let store = opened(&brisk(redis.url())).await;
    redis.freeze();
    let calls: Vec<_> = (0..20)
        .map(|call| {
            let store = store.clone();
            tokio::spawn(async move { add(&store, "t", &call.to_string(), 1, Repeat::Never).await })
        })
        .collect();
    for call in calls {
        assert!(matches!(call.await, Ok(Err(Error::Unknown(_)))));
    }
    assert!(store.is_up(), "a server that halts for a moment is not a dead link");
    redis.thaw();
    recovers(&store).await;
}

#[tokio::test]
async fn a_frozen_server_is_noticed_without_calls() {
    let redis = Redis::start().await;
    let store = opened(&brisk(redis.url())).await;
    redis.freeze();
    down(&store).await;
    redis.thaw();
    recovers(&store).await;
}

#[tokio::test]
async fn a_half_open_link_is_replaced() {
    let (_redis, proxy, store) = proxied(brisk).await;
    assert_eq!(proxy.connections(), 1);
    proxy.silence_open();
    until("a call gets through", PATIENCE, || async { echo(&store, "x").await.is_ok() }).await;
    assert!(proxy.connections() >= 2);
}

#[tokio::test]
async fn a_black_hole_ends_when_it_ends() {
    let (_redis, proxy, store) = proxied(brisk).await;
    proxy.set(Fault::Blackhole);
    down(&store).await;
    fails_at_once(&store).await;
    proxy.set(Fault::Pass);
    recovers(&store).await;
}

#[tokio::test]
async fn resets_and_refusals_are_survived() {
    let (_redis, proxy, store) = proxied(patient).await;
    for _ in 0..3 {
        proxy.set(Fault::Refuse);
        down(&store).await;
        fails_at_once(&store).await;
        proxy.set(Fault::Pass);
        recovers(&store).await;
    }
}

#[tokio::test]
async fn a_demoted_primary_is_left_and_the_call_goes_to_the_new_one() {
    let (old, new) = (Redis::start().await, Redis::start().await);
    let proxy = Proxy::start(old.port()).await;
    let store = opened(&patient(proxy.url())).await;
    assert_eq!(add(&store, "t", "1", 1, Repeat::Never).await, Ok((1, 1)));
    // The address leads to the new primary; the open connection still to the old one.
    old.run::<Value>(&["REPLICAOF", "127.0.0.1", &new.port().to_string()]).await;
    proxy.redirect(new.port());
    // READONLY says that nothing was executed, so even an operation that must not be repeated is
    // sent again, and the caller notices nothing.
    assert_eq!(add(&store, "t", "2", 5, Repeat::Never).await, Ok((5, 1)));
}

#[tokio::test]
async fn a_replica_is_no_store_until_it_is_promoted() {
    let redis = Redis::start().await;
    let store =
        opened(&Config { request_timeout: brisk("").command_timeout, ..brisk(redis.url()) }).await;
    redis.run::<Value>(&["REPLICAOF", "127.0.0.1", "1"]).await;
    let refused = add(&store, "t", "1", 1, Repeat::IfUnknown).await;
    assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
    down(&store).await;
    fails_at_once(&store).await;
    until("the reason is known", PATIENCE, || async {
        matches!(echo(&store, "x").await, Err(Error::Unavailable(why)) if why.contains("replica"))
    })
    .await;
    redis.run::<Value>(&["REPLICAOF", "NO", "ONE"]).await;
    recovers(&store).await;
}

#[tokio::test]
async fn a_server_that_loads_its_data_is_down_until_it_has() {
    // Loads for four seconds, and answers LOADING meanwhile: a busy machine needs several attempts.
    let mut redis = Redis::builder()
        .durable()
        .arg("--key-load-delay", "200")
        .arg("--rdbcompression", "no")
        .start()
        .await;
    let store = opened(&patient(redis.url())).await;
    // Between two stretches of 2 MB it answers.
    redis.run::<Value>(&["DEBUG", "POPULATE", "20000", "key", "2000"]).await;
    redis.run::<Value>(&["BGREWRITEAOF"]).await;
    until("the file is written", PATIENCE, || async {
        let info = redis.run::<String>(&["INFO", "persistence"]).await;
        info.contains("aof_rewrite_in_progress:0") && info.contains("aof_rewrite_scheduled:0")
    })
    .await;
    let (log, _guard) = Log::of_thread();
    redis.restart().await;
    recovers(&store).await;
    assert_eq!(add(&store, "t", "1", 1, Repeat::Never).await, Ok((1, 1)));
    assert!(log.text().contains("BusyLoading"), "{}", log.text());
}
