//! The entries of events, pools and limits, of a full Redis and of a cluster.

use std::time::Duration;

use anteroom_core::changes::By;
use anteroom_core::event::{AddStock, Event, Retried};
use anteroom_core::limit::{Algorithm, Call, Check, Limits, Rule};
use anteroom_core::pool::{Answer, OnFailover, Pool};
use anteroom_core::queue::{Override, Queue, State};
use anteroom_core::rules::Amount;
use anteroom_core::store::{Config, Error, Store};
use anteroom_core::{event, pool, queue};
use anteroom_testkit::{Cluster, Redis};

use super::support::{TimedStore, of_cluster, open, permitted, permitted_on};
use super::{all, flag, is_newest_first, numbers};

/// Dead letters of the visitors v0, v1, …
async fn dead(event: &Event, count: u64) {
    for n in 0..count {
        event.apply(&format!("v{n}")).await.expect("an application");
    }
    loop {
        let claimed = event.claim(64).await.expect("a claim");
        if claimed.work.is_empty() {
            return;
        }
        for work in &claimed.work {
            event.fail(claimed.fence, work.sequence, "no", None).await.expect("a failure");
        }
    }
}

#[tokio::test]
async fn each_change_of_an_event_has_an_entry() {
    let world = TimedStore::new().await;
    let rules = event::Rules { stock: Some(250), ..event::Rules::default() };
    let plain = Event::open_with_clock(&world.store, "e", rules, 1_000, world.clock());
    let event = plain.by("ops");
    dead(&plain, 250).await;
    for _ in 0..2 {
        event.add_stock("more", 5).await.expect("stock");
    }
    assert_eq!(event.add_stock("more", 6).await, Ok(AddStock::Mismatch));
    let most = (1 << 53) - 1;
    assert_eq!(event.add_stock("most", most).await, Ok(AddStock::TooLarge));
    plain.add_stock("other", 1).await.expect("stock");
    for _ in 0..2 {
        assert_eq!(event.give_up("v7").await, Ok(true));
    }
    assert_eq!(event.give_up("none").await, Ok(false));
    for _ in 0..2 {
        assert_eq!(event.retry_dead(&["v1"]).await, Ok(Retried { retried: 1, dead: 248 }));
    }
    assert_eq!(plain.retry_dead(&["v2"]).await, Ok(Retried { retried: 1, dead: 247 }));
    assert_eq!(event.retry_all_dead().await, Ok(Retried { retried: 247, dead: 0 }));
    let found = all(async |before| event.changes(before, 2).await).await;
    assert!(is_newest_first(&found));
    let retried = |before, retried, dead| {
        let after = numbers([("retried", retried), ("dead", dead)]);
        ("event.retry_dead", numbers([("dead", before)]), after)
    };
    let given_up = [vec![flag("given_up", true)], numbers([("dead", 249)])].concat();
    let expected = [
        ("event.add_stock", numbers([("stock", 250)]), numbers([("stock", 255), ("added", 5)])),
        ("event.give_up", numbers([("dead", 250)]), given_up),
        retried(249, 1, 248),
        retried(247, 100, 147),
        retried(147, 100, 47),
        retried(47, 47, 0),
    ];
    let shown = found.iter().rev().map(|it| (&*it.operation, it.before.clone(), it.after.clone()));
    assert_eq!(shown.collect::<Vec<_>>(), expected);
    assert!(found.iter().all(|it| it.key == "ops" && it.at_us == world.now()));
}

fn units(amount: u64) -> Amount {
    Amount::new(amount).expect("an amount")
}

#[tokio::test]
async fn each_change_of_a_pool_has_an_entry() {
    let world = TimedStore::new().await;
    let on_failover = OnFailover::Hold;
    let rules = pool::Rules { funds: Some(10), on_failover, ..pool::Rules::default() };
    let plain = Pool::open_with_clock(&world.store, "p", rules, 100, world.clock());
    let pool = plain.by("ops");
    for _ in 0..2 {
        pool.fund(units(5), "a").await.expect("an answer");
    }
    assert!(matches!(pool.fund(units(6), "a").await, Ok(Answer::Refused(_))));
    plain.fund(units(1), "b").await.expect("an answer");
    assert_eq!(pool.confirm().await, Ok(Answer::Repeated(())));
    // The primary has another replication id then.
    world.redis.run::<()>(&["REPLICAOF", "127.0.0.1", "1"]).await;
    world.redis.run::<()>(&["REPLICAOF", "NO", "ONE"]).await;
    assert!(matches!(pool.fund(units(1), "c").await, Ok(Answer::Refused(_))));
    assert_eq!(pool.confirm().await, Ok(Answer::Done(())));
    assert_eq!(pool.confirm().await, Ok(Answer::Repeated(())));
    let found = all(async |before| pool.changes(before, 1).await).await;
    let confirmed = [vec![flag("unconfirmed", false)], numbers([("balance", 16)])].concat();
    let expected = [
        ("pool.confirm", vec![flag("unconfirmed", true)], confirmed),
        ("pool.fund", numbers([("balance", 10)]), numbers([("amount", 5), ("balance", 15)])),
    ];
    let shown = found.iter().map(|it| (&*it.operation, it.before.clone(), it.after.clone()));
    assert_eq!(shown.collect::<Vec<_>>(), expected);
}

async fn take(limits: &Limits, limit: &str, key: &str) {
    let (limit_of, window) = (5, Duration::from_secs(3_600));
    let rule = Rule { algorithm: Algorithm::Gcra, limit: limit_of, window, shadow: false };
    let check = Check { limit, rule, key, group: None, cost: 1 };
    limits.check(Call::one(&check, None).expect("a call")).await.expect("an answer");
}

/// Forgets keys of many shards, each twice; the log shows each once.
async fn forget_many(limits: &Limits, wait: impl Fn()) {
    let by = |n: u64| By::operator(&format!("ops-{n}"));
    for n in 0..60 {
        let key = format!("secret key {n}");
        take(limits, "login", &key).await;
        wait();
        for expected in [true, false] {
            assert_eq!(limits.forget("login", &key, None, &by(n)).await, Ok(expected));
        }
        take(limits, "login", &key).await;
        assert_eq!(limits.forget("login", &key, None, &By::default()).await, Ok(true));
    }
    let found = all(async |before| limits.changes("login", before, 7).await).await;
    assert!(is_newest_first(&found));
    let keys: Vec<_> = found.iter().rev().map(|it| it.key.clone()).collect();
    assert_eq!(keys, (0..60).map(|n| format!("ops-{n}")).collect::<Vec<_>>());
    for change in &found {
        assert_eq!(change.operation, "limit.forget");
        assert_eq!((&change.before, &change.after), (&vec![flag("found", true)], &vec![]));
    }
    let shards: std::collections::BTreeSet<_> = found.iter().map(|it| it.id % 16).collect();
    assert!(shards.len() > 8, "{shards:?}");
    assert_eq!(limits.changes("other", None, 7).await.expect("a look").changes, []);
}

#[tokio::test]
async fn the_changes_of_a_limit_are_in_order_whatever_shard_they_are_of() {
    let world = TimedStore::new().await;
    let limits = Limits::open_with_clock(&world.store, 100, world.clock());
    forget_many(&limits, || world.pass(Duration::from_micros(100))).await;
    let keys: Vec<String> = world.redis.run(&["KEYS", "*:changes:login"]).await;
    for key in &keys {
        let entries: Vec<Vec<u8>> = world.redis.run(&["ZRANGE", key, "0", "-1"]).await;
        for entry in entries {
            assert!(!String::from_utf8_lossy(&entry).contains("secret"), "{entry:?}");
        }
    }
    // Two changes of one microsecond have two ids.
    for key in ["a", "b", "c", "d"] {
        take(&limits, "still", key).await;
        assert_eq!(limits.forget("still", key, None, &By::operator("ops")).await, Ok(true));
    }
    let found = all(async |before| limits.changes("still", before, 1).await).await;
    assert_eq!((found.len(), is_newest_first(&found)), (4, true));
}

/// What works on a full Redis goes on, and is logged.
#[tokio::test]
async fn on_a_full_redis_a_change_is_made_and_logged() {
    let world = TimedStore::new().await;
    let rules = queue::Rules { capacity: Some(1), ..queue::Rules::default() };
    let queue = Queue::open_with_clock(&world.store, "q", rules, 100, world.clock()).by("ops");
    let limits = Limits::open_with_clock(&world.store, 100, world.clock());
    let event_rules = event::Rules { stock: Some(9), ..event::Rules::default() };
    let event = Event::open_with_clock(&world.store, "e", event_rules, 100, world.clock());
    let event = event.by("ops");
    for n in 0..3 {
        let id = queue::PlaceId::of_visitor("q", &format!("visitor {n}"));
        queue.join(id).await.expect("a join");
    }
    dead(&event, 3).await;
    take(&limits, "login", "ann").await;
    world.fill(true).await;
    for ticket in [1, 3] {
        assert!(queue.evict(ticket).await.expect("an eviction").is_some());
    }
    let paused = [Override::State(Some(State::Paused))];
    queue.override_rules(&paused, None).await.expect("a pause");
    queue.reset().await.expect("a reset");
    assert_eq!(event.retry_dead(&["v0"]).await, Ok(Retried { retried: 1, dead: 2 }));
    assert_eq!(event.give_up("v1").await, Ok(true));
    assert_eq!(event.add_stock("a", 1).await, Err(Error::Full));
    assert_eq!(limits.forget("login", "ann", None, &By::operator("ops")).await, Ok(true));
    let operations = |changes: Vec<anteroom_core::changes::Change>| {
        changes.into_iter().map(|change| change.operation).collect::<Vec<_>>()
    };
    let found = operations(queue.changes(None, 9).await.expect("a look").changes);
    let expected = ["queue.reset", "queue.override_rules", "queue.evict", "queue.evict"];
    assert_eq!(found, expected);
    let found = operations(event.changes(None, 9).await.expect("a look").changes);
    assert_eq!(found, ["event.give_up", "event.retry_dead"]);
    assert_eq!(limits.changes("login", None, 9).await.expect("a look").changes.len(), 1);
}

/// Changes of each kind, by the store's own clock.
async fn journey(store: &Store) {
    forget_many(&Limits::open(store, 100), || {}).await;
    for n in 0..5 {
        let name = format!("one-{n}");
        let rules = queue::Rules { capacity: Some(1), ..queue::Rules::default() };
        let queue = Queue::open(store, &name, rules, 100).by("ops");
        queue.override_rules(&[Override::Capacity(Some(2))], None).await.expect("an override");
        queue.reset().await.expect("a reset");
        assert_eq!(queue.changes(None, 9).await.expect("a look").changes.len(), 2);
        Queue::purge(store, &name).await.expect("a purge");
        assert_eq!(queue.changes(None, 9).await.expect("a look").changes, []);
        let event = Event::open(store, &name, event::Rules::default(), 100).by("ops");
        event.add_stock("a", 1).await.expect("stock");
        let pool = Pool::open(store, &name, pool::Rules::default(), 100).by("ops");
        pool.fund(units(1), "a").await.expect("an answer");
        assert_eq!(event.changes(None, 9).await.expect("a look").changes.len(), 1);
        assert_eq!(pool.changes(None, 9).await.expect("a look").changes.len(), 1);
    }
}

#[tokio::test]
async fn on_a_cluster_of_three() {
    let cluster = Cluster::start(3, 0).await;
    journey(&permitted_on(&cluster).await).await;
    drop(open(of_cluster(&cluster)).await);
}

#[tokio::test]
async fn with_no_more_than_the_documented_permissions() {
    let redis = Redis::start().await;
    journey(&permitted(&redis).await).await;
    drop(open(Config::new(redis.url())).await);
}
