//! The whole journey on every kind of store that the configuration can name.

use anteroom_core::queue::{GoneReason, Leave, Queue, Status, Visit};
use anteroom_core::store::{Config, Mode, Store};
use anteroom_testkit::{Cluster, PATIENCE, Redis, RedisBuilder, Sentinel, until};

use super::line::{capacity, join, look, room, tick};
use super::support::{as_ann, of_cluster, open, permitted, permitted_on};

/// Every operation once, by the store's own clock.
async fn journey(store: &Store, name: &str) {
    let queue = Queue::open(store, name, capacity(1), 100);
    assert_eq!(queue.apply_rules(&capacity(1)).await, Ok(true), "{name}");
    let (first, place) = join(&queue, 0).await;
    assert_eq!(place.status(), Status::Ready);
    let (second, place) = join(&queue, 1).await;
    assert_eq!((place.status(), place.position()), (Status::Waiting, 1));
    assert!(matches!(queue.claim(first).await, Ok(Visit::Here(_))), "{name}");
    assert!(matches!(queue.renew(first).await, Ok(Visit::Here(_))), "{name}");
    assert_eq!(tick(&queue).await, 0, "{name}: there is no room");
    assert_eq!(queue.leave(first).await, Ok(Leave::Left(GoneReason::Completed)));
    assert_eq!(tick(&queue).await, 1, "{name}");
    let passed = queue.authorize(second, true).await;
    assert!(matches!(passed, Ok(Visit::Here(place)) if place.status() == Status::Active), "{name}");
    assert_eq!(queue.sweep().await, Ok(Default::default()), "{name}");
    assert!(queue.inspect(second.ticket).await.expect("a look").is_some(), "{name}");
    assert_eq!(queue.evict(second.ticket).await.map(|it| it.is_some()), Ok(true), "{name}");
    assert_eq!(queue.snapshot().await.expect("a snapshot").active, 0, "{name}");
    queue.reset().await.expect("a reset");
    assert_eq!(queue.place(second).await, Ok(Visit::Gone(GoneReason::Lost)), "{name}");
}

#[tokio::test]
async fn on_a_cluster_of_three_each_queue_lives_on_one_node() {
    let cluster = Cluster::start(3, 0).await;
    let store = open(of_cluster(&cluster)).await;
    let mut owners = std::collections::BTreeSet::new();
    for name in ["concert", "opera", "course", "sale", "a", "b"] {
        journey(&store, name).await;
        owners.insert(cluster.owner(&format!("anteroom:v1:queue:{{{name}}}:meta")).await);
    }
    assert!(owners.len() > 1, "the queues are spread over the nodes");
}

#[tokio::test]
async fn with_no_more_than_the_documented_permissions() {
    let redis = Redis::start().await;
    journey(&permitted(&redis).await, "alone").await;
    journey(&permitted_on(&Cluster::start(3, 0).await).await, "on-a-cluster").await;

    let sentinel = Sentinel::start("room", &redis, 0).await;
    let mode = Mode::Sentinel { master: "room".to_owned() };
    let config = Config { mode, urls: vec![sentinel.url()], ..Config::new("") };
    journey(&open(as_ann(config)).await, "behind-sentinel").await;
}

#[tokio::test]
async fn over_a_socket_and_over_tls() {
    let redis = Redis::start().await;
    journey(&open(Config::new(redis.socket_url())).await, "socket").await;
    if !RedisBuilder::knows_tls().await {
        eprintln!("skipped: this server program was built without TLS");
        return;
    }
    let redis = Redis::builder().tls().start().await;
    let config = Config { ca_file: Some(redis.ca_file()), ..Config::new(redis.tls_url()) };
    journey(&open(config).await, "tls").await;
}

#[tokio::test]
async fn promise_05_behind_sentinel_the_line_outlives_its_primary() {
    let mut primary = Redis::start().await;
    let replica = Redis::builder().replica_of(&primary).start().await;
    let sentinel = Sentinel::start("room", &primary, 1).await;
    let mode = Mode::Sentinel { master: "room".to_owned() };
    let store = open(Config { mode, urls: vec![sentinel.url()], ..Config::new("") }).await;
    journey(&store, "before").await;
    let queue = Queue::open(&store, "kept", capacity(1), 100);
    join(&queue, 0).await;
    let (waiting, _) = join(&queue, 1).await;
    let line = "anteroom:v1:queue:{kept}:waiting";
    until("the replica has the line", PATIENCE, || async {
        replica.run::<u64>(&["ZCARD", line]).await == 1
    })
    .await;
    primary.kill();
    until("the store follows", PATIENCE * 2, || async { queue.place(waiting).await.is_ok() }).await;
    let place = look(&queue, waiting).await;
    assert_eq!((place.status(), place.position()), (Status::Waiting, 1));
    let (late, _) = join(&queue, 2).await;
    assert_eq!(late.ticket, waiting.ticket + 1);
}

/// In a room of a few hundred each look-up would walk along all records of a list.
#[tokio::test]
async fn records_are_in_a_table_from_the_first_on() {
    let (world, queue) = room(capacity(10)).await;
    for life in 0..2 {
        join(&queue, life).await;
        let held = "anteroom:v1:queue:{q}:held";
        let encoding: String = world.redis.run(&["OBJECT", "ENCODING", held]).await;
        assert_eq!(encoding, "hashtable", "life {life}");
        queue.reset().await.expect("a reset");
    }
}
