//! Listening to a channel through everything that breaks.

use anteroom_core::store::{Config, Mode, Notice, Store, Subscription};
use anteroom_testkit::{Cluster, Fault, Log, PATIENCE, PERMISSIONS, Redis, Sentinel, until};
use redis::Value;
use tokio::time::timeout;

use crate::support::{brisk, fresh, opened, patient, proxied};

const CHANNEL: &str = "anteroom:v1:event:{coupon}:wake";

async fn next(subscription: &Subscription) -> Notice {
    timeout(PATIENCE, subscription.next()).await.expect("something is heard")
}

/// A subscription that is in place.
async fn listening(store: &Store) -> Subscription {
    let subscription = store.subscribe(CHANNEL);
    assert_eq!(next(&subscription).await, Notice::Connected);
    subscription
}

/// Says something, and how many heard it.
async fn say(redis: &Redis) -> u64 {
    redis.run(&["PUBLISH", CHANNEL, ""]).await
}

/// Says something again and again until it is heard.
async fn hears(subscription: &Subscription, redis: &Redis) {
    let says = async {
        loop {
            say(redis).await;
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = says => {}
        () = message(subscription) => {}
    }
}

/// Waits for a new connection, and skips messages to the one before.
async fn connected(subscription: &Subscription) {
    while next(subscription).await != Notice::Connected {}
}

/// Waits for a message, and passes over further connections.
async fn message(subscription: &Subscription) {
    while next(subscription).await != Notice::Message {}
}

#[tokio::test]
async fn messages_arrive_and_many_at_once_count_once() {
    let (redis, store) = fresh().await;
    let (one, two) = (listening(&store).await, listening(&store).await);
    assert_eq!(say(&redis).await, 2);
    assert_eq!((next(&one).await, next(&two).await), (Notice::Message, Notice::Message));
    for _ in 0..100 {
        say(&redis).await;
    }
    redis.run::<u64>(&["PUBLISH", "anteroom:v1:event:{other}:wake", ""]).await;
    message(&one).await;
    drop(one);
    until("its connection is closed", PATIENCE, || async { say(&redis).await == 1 }).await;
}

#[tokio::test]
async fn each_new_connection_is_a_notice() {
    let mut redis = Redis::start().await;
    let store = opened(&patient(redis.url())).await;
    let subscription = listening(&store).await;
    redis.run::<Value>(&["CLIENT", "KILL", "TYPE", "pubsub"]).await;
    connected(&subscription).await;
    hears(&subscription, &redis).await;
    redis.kill();
    until("the store is down", PATIENCE, || async { !store.is_up() }).await;
    redis.restart().await;
    connected(&subscription).await;
    assert_eq!(say(&redis).await, 1);
    assert_eq!(next(&subscription).await, Notice::Message);
}

/// Its own connection goes silent, as one to a machine that is gone; the store's does not.
#[tokio::test]
async fn a_connection_that_goes_silent_is_replaced() {
    let (redis, proxy, store) = proxied(brisk).await;
    let subscription = listening(&store).await;
    proxy.silence_open();
    connected(&subscription).await;
    hears(&subscription, &redis).await;
    proxy.set(Fault::Refuse);
    until("the store is down", PATIENCE, || async { !store.is_up() }).await;
    proxy.set(Fault::Pass);
    connected(&subscription).await;
    hears(&subscription, &redis).await;
}

#[tokio::test]
async fn a_frozen_server_is_left_and_found_again() {
    let redis = Redis::start().await;
    let store = opened(&brisk(redis.url())).await;
    let subscription = listening(&store).await;
    redis.freeze();
    until("the store is down", PATIENCE, || async { !store.is_up() }).await;
    redis.thaw();
    connected(&subscription).await;
    hears(&subscription, &redis).await;
}

#[tokio::test]
async fn behind_sentinel_the_new_primary_is_listened_to() {
    let mut primary = Redis::start().await;
    let replica = Redis::builder().replica_of(&primary).start().await;
    let sentinel = Sentinel::start("room", &primary, 1).await;
    let mode = Mode::Sentinel { master: "room".into() };
    let store = opened(&Config { mode, ..brisk(sentinel.url()) }).await;
    let subscription = listening(&store).await;
    hears(&subscription, &primary).await;
    primary.kill();
    sentinel.names(&replica).await;
    while next(&subscription).await != Notice::Connected {}
    hears(&subscription, &replica).await;
}

#[tokio::test]
async fn on_a_cluster_what_any_node_says_is_heard() {
    let mut cluster = Cluster::start(3, 0).await;
    let config = Config { urls: cluster.urls(), mode: Mode::Cluster, ..brisk("") };
    let store = opened(&config).await;
    let subscription = listening(&store).await;
    for node in &cluster.primaries {
        hears(&subscription, node).await;
    }
    // The node that it is connected to.
    let mut connected = None;
    for (index, node) in cluster.primaries.iter().enumerate() {
        let listeners: (String, u64) = node.run(&["PUBSUB", "NUMSUB", CHANNEL]).await;
        connected = connected.or((listeners.1 == 1).then_some(index));
    }
    let connected = connected.expect("one node is listened to");
    cluster.primaries[connected].kill();
    while next(&subscription).await != Notice::Connected {}
    hears(&subscription, &cluster.primaries[(connected + 1) % 3]).await;
}

#[tokio::test]
async fn it_needs_no_more_than_is_documented_and_says_what_is_missing() {
    let redis = Redis::start().await;
    for (without, works) in [("", true), ("+subscribe", false)] {
        let rules = PERMISSIONS.iter().filter(|rule| *rule != without).cloned();
        redis.user("ann", &rules.collect::<Vec<_>>()).await;
        let (log, _guard) = Log::of_thread();
        let password = Some("pass".to_owned().into());
        let config = Config { username: Some("ann".into()), password, ..patient(redis.url()) };
        let store = opened(&config).await;
        let subscription = store.subscribe(CHANNEL);
        let warning = "cannot subscribe to a channel of Redis";
        if works {
            connected(&subscription).await;
            hears(&subscription, &redis).await;
        } else {
            until("it is logged", PATIENCE, || async { log.text().contains(warning) }).await;
            assert!(log.text().contains("no permission for +subscribe"), "{}", log.text());
            redis.user("ann", &PERMISSIONS).await;
            connected(&subscription).await;
        }
        assert_eq!(log.text().matches(warning).count(), usize::from(!works), "{}", log.text());
    }
}
