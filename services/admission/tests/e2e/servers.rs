//! Every kind of store that the configuration can name, under the real services.

use anteroom_testkit::{Cluster, Redis, Sentinel};

use crate::room::{ONE, PATIENT, Room};

/// Two visitors: the second's turn comes when the first has finished.
async fn works(room: &Room) {
    let first = room.join().await.is(201).token();
    let second = room.join().await.is(201).token();
    room.authorize(&first).await.is(200);
    room.authorize(&second).await.is(403);
    room.leave(&first).await.is(204);
    room.becomes(&second, "ready").await;
    room.authorize(&second).await.is(200);
}

/// The services under an environment that names another store than the one they would take.
async fn with(env: &[(&str, &str)]) -> Room {
    let room = Room::start_with(ONE, &[env, &PATIENT].concat()).await;
    let keys: u64 = room.anteroom.deployment.redis.run(&["DBSIZE"]).await;
    assert_eq!(keys, 0, "the named store is used");
    room
}

#[tokio::test]
async fn a_cluster() {
    let cluster = Cluster::start(3, 0).await;
    let nodes = cluster.urls().join(",");
    let env = [("ANTEROOM_STORE__MODE", "cluster"), ("ANTEROOM_STORE__NODES", &nodes)];
    works(&with(&env).await).await;
}

#[tokio::test]
async fn a_primary_that_sentinel_knows() {
    let primary = Redis::start().await;
    let _replica = Redis::builder().replica_of(&primary).start().await;
    let sentinel = Sentinel::start("room", &primary, 1).await;
    let env = [
        ("ANTEROOM_STORE__MODE", "sentinel"),
        ("ANTEROOM_STORE__SENTINEL_MASTER", "room"),
        ("ANTEROOM_STORE__URL", &sentinel.url()),
    ];
    works(&with(&env).await).await;
}

#[tokio::test]
async fn a_socket_with_a_password() {
    let redis = Redis::builder().password("open sesame").start().await;
    let url = redis.socket_url();
    let env = [("ANTEROOM_STORE__URL", url.as_str()), ("ANTEROOM_STORE__PASSWORD", "open sesame")];
    works(&with(&env).await).await;
}
