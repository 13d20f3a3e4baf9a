//! Redis Cluster and Sentinel.

use std::time::Duration;

use anteroom_core::store::{Config, Error, Mode, Repeat, Sharded, Store};
use anteroom_testkit::{Cluster, PATIENCE, Redis, Sentinel, SlotMove, until, until_some};
use futures_util::future::join_all;
use redis::Value;

use crate::support::{Deposit, Deposits, add, brisk, opened, patient};

const TAGS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

fn key(tag: &str) -> String {
    format!("test:{{{tag}}}:account")
}

async fn on_cluster(cluster: &Cluster, config: Config) -> Store {
    opened(&Config { urls: cluster.urls(), mode: Mode::Cluster, ..config }).await
}

#[tokio::test]
async fn scripts_run_where_their_keys_live() {
    let cluster = Cluster::start(3, 0).await;
    let store = on_cluster(&cluster, patient("")).await;
    for tag in TAGS {
        assert_eq!(add(&store, tag, "1", 2, Repeat::Never).await, Ok((2, 1)), "{tag}");
        let owner = &cluster.primaries[cluster.owner(&key(tag)).await];
        assert_eq!(owner.run::<i64>(&["HGET", &key(tag), "total"]).await, 2);
    }
    for node in &cluster.primaries {
        node.script_flush().await;
    }
    for tag in TAGS {
        assert_eq!(add(&store, tag, "2", 2, Repeat::Never).await, Ok((4, 2)), "{tag}");
    }
    assert!(!store.check_server().await.unwrap().version.is_empty());
}

/// Managed servers often are a cluster of one shard, and are spoken to as a single server.
#[tokio::test]
async fn a_node_of_a_cluster_serves_all_tags_as_a_single_server_too() {
    let cluster = Cluster::start(1, 0).await;
    let store = opened(&patient(cluster.primaries[0].url())).await;
    let lanes = Sharded::new(&store, 16, || Deposits, 100);
    let deposits = (0..160).map(|number| Deposit { tag: number % 16, account: "a", id: None });
    let totals = join_all(deposits.map(|deposit| deposit.submit(&lanes))).await;
    for (number, total) in totals.into_iter().enumerate() {
        assert_eq!(total, Ok(1 + number as i64 / 16), "deposit {number}");
    }
}

#[tokio::test]
async fn each_tag_has_a_lane_of_its_own() {
    let cluster = Cluster::start(3, 0).await;
    let store = on_cluster(&cluster, patient("")).await;
    let lanes = Sharded::new(&store, 16, || Deposits, 100);
    for node in &cluster.primaries {
        node.forget_calls().await;
    }
    let deposits = (0..160).map(|number| Deposit { tag: number % 16, account: "a", id: None });
    let totals = join_all(deposits.clone().map(|deposit| deposit.submit(&lanes))).await;
    for (number, total) in totals.into_iter().enumerate() {
        assert_eq!(total, Ok(1 + number as i64 / 16), "deposit {number}");
    }
    let mut calls = 0;
    for (node, primary) in cluster.primaries.iter().enumerate() {
        let mut own = 0;
        for deposit in deposits.clone().take(16) {
            if cluster.owner(&deposit.key()).await == node {
                own += 1;
                assert_eq!(primary.run::<i64>(&["HGET", &deposit.key(), "total"]).await, 10);
            }
        }
        assert!(own > 0, "every node has tags");
        calls += primary.evalsha_calls().await;
    }
    assert!((16..=32).contains(&calls), "ten deposits of a tag share a call: {calls}");
}

#[tokio::test]
async fn a_moved_slot_is_followed() {
    let cluster = Cluster::start(3, 0).await;
    let store = on_cluster(&cluster, patient("")).await;
    assert_eq!(add(&store, "a", "1", 1, Repeat::Never).await, Ok((1, 1)));
    let to = (cluster.owner(&key("a")).await + 1) % 3;
    let moving = SlotMove::begin(&cluster, "a", to).await;
    // Not yet moved: answered by the old owner.
    assert_eq!(add(&store, "a", "2", 1, Repeat::Never).await, Ok((2, 2)));
    moving.step(&[key("a")]).await;
    // The key has moved, the slot has not: the old owner says ASK.
    assert_eq!(add(&store, "a", "3", 1, Repeat::Never).await, Ok((3, 3)));
    moving.end().await;
    // Now the old owner says MOVED.
    assert_eq!(add(&store, "a", "4", 1, Repeat::Never).await, Ok((4, 4)));
}

/// Whom the client asks for the slots may be the one node that has not heard of the move: the reply
/// itself says where the slot is.
#[tokio::test]
async fn a_moved_slot_is_followed_before_all_nodes_have_heard_of_it() {
    let cluster = Cluster::start(3, 0).await;
    let seconds = Duration::from_secs;
    let config =
        Config { command_timeout: seconds(2), request_timeout: seconds(3), ..Config::new("") };
    // Whom a client asks first is chance.
    let mut stores = Vec::new();
    for _ in 0..12 {
        stores.push(on_cluster(&cluster, config.clone()).await);
    }
    let from = cluster.owner(&key("a")).await;
    let [to, behind] = [1, 2].map(|on| (from + on) % 3);
    SlotMove::begin(&cluster, "a", to).await.end().await;
    cluster.settles().await;
    // With an epoch above the new owner's, the old one is believed until both are heard again.
    cluster.primaries[from].run::<Value>(&["CLUSTER", "BUMPEPOCH"]).await;
    cluster.settles().await;
    let slot: u16 = cluster.primaries[from].run(&["CLUSTER", "KEYSLOT", "a"]).await;
    let believed: String = cluster.primaries[from].run(&["CLUSTER", "MYID"]).await;
    let words = ["CLUSTER", "SETSLOT", &slot.to_string(), "NODE", &believed];
    let stays_behind = async {
        loop {
            cluster.primaries[behind].run::<Value>(&words).await;
        }
    };
    let adds = stores.iter().map(|store| add(store, "a", "1", 1, Repeat::Never));
    let added = tokio::select! {
        added = join_all(adds) => added,
        never = stays_behind => never,
    };
    assert!(added.iter().all(Result::is_ok), "{added:?}");
}

#[tokio::test]
async fn a_failover_of_one_primary_is_survived() {
    let mut cluster = Cluster::start(3, 1).await;
    let config = Config { request_timeout: brisk("").command_timeout * 4, ..brisk("") };
    let store = on_cluster(&cluster, config).await;
    for tag in TAGS {
        add(&store, tag, "1", 1, Repeat::IfUnknown).await.unwrap();
    }
    let owner = cluster.owner(&key("a")).await;
    cluster.settles().await;
    cluster.primaries[owner].hands_over_to(&cluster.replicas[owner]).await;
    cluster.primaries[owner].kill();
    until("the replica took over", PATIENCE * 2, || async {
        match add(&store, "a", "2", 1, Repeat::IfUnknown).await {
            Ok((total, _)) => total == 2,
            Err(Error::Unknown(_) | Error::Unavailable(_)) => false,
            Err(other) => panic!("{other:?}"),
        }
    })
    .await;
    for tag in TAGS {
        let total = until_some("every slot is served", PATIENCE, || async {
            add(&store, tag, "2", 1, Repeat::IfUnknown).await.ok()
        })
        .await
        .0;
        assert_eq!(total, 2, "{tag}");
    }
}

#[tokio::test]
async fn sentinel_leads_to_the_new_primary() {
    let mut primary = Redis::start().await;
    let replica = Redis::builder().replica_of(&primary).start().await;
    let sentinel = Sentinel::start("room", &primary, 1).await;
    let config = Config {
        urls: vec![sentinel.url()],
        mode: Mode::Sentinel { master: "room".into() },
        ..brisk("")
    };
    let store = opened(&config).await;
    assert_eq!(add(&store, "a", "1", 1, Repeat::IfUnknown).await, Ok((1, 1)));
    until("the replica has it", PATIENCE, || async {
        replica.run::<Option<i64>>(&["HGET", &key("a"), "total"]).await == Some(1)
    })
    .await;
    primary.kill();
    until("the store follows", PATIENCE * 2, || async {
        add(&store, "a", "2", 1, Repeat::IfUnknown).await.is_ok_and(|(total, _)| total == 2)
    })
    .await;
    assert_eq!(replica.run::<i64>(&["HGET", &key("a"), "total"]).await, 2);
}
