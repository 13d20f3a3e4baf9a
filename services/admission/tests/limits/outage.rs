//! Redis fails in every way: `on_store_error` decides, and the answers show it.

use anteroom_testkit::{Cluster, Cut, Deployment, PATIENCE, Proxy, Redis, Service, until};
use serde_json::json;

use crate::MACHINE;
use crate::limited::Limited;

const LIMITS: &str = "[limits.shut]\nlimit = 1_000\nwindow = \"1h\"\n\
    [limits.free]\nlimit = 1_000\nwindow = \"1h\"\nalgorithm = \"gcra\"\non_store_error = \"open\"\n\
    [limits.quiet]\nlimit = 1_000\nwindow = \"1h\"\nalgorithm = \"counter\"\nshadow = true\n";

/// An admission, its store, and a client.
struct Scene {
    site: Deployment,
    admission: Service,
    client: Limited,
}

impl Scene {
    async fn start() -> Self {
        let site = Deployment::new(Redis::start().await, LIMITS, &[]);
        let admission = site.admission().await;
        admission.until_ready().await;
        let client = Limited::of(&admission);
        let scene = Self { site, admission, client };
        scene.is_calm("before").await;
        scene
    }

    /// Waits until the store decides again, of every limit.
    async fn is_calm(&self, key: &str) {
        for limit in ["shut", "free", "quiet"] {
            until("the store decides", PATIENCE, async || {
                let decision = self.client.check(limit, key, 1).await;
                !decision.degraded() && decision.allowed() && decision.number("remaining") > 0
            })
            .await;
        }
    }

    /// What each limit promises while the store fails.
    async fn decides_as_configured(&self) {
        decides_as_configured(&self.client, "ann").await;
        assert_eq!(self.admission.get("/readyz").await.0, 200, "it can answer");
    }

    async fn degraded(&self) -> f64 {
        let series = |outcome| format!("anteroom_limit_checks_total{{outcome=\"{outcome}\"}}");
        let allowed = self.admission.metric(&series("degraded_allowed")).await;
        let refused = self.admission.metric(&series("degraded_refused")).await;
        allowed.unwrap_or_default() + refused.unwrap_or_default()
    }
}

async fn decides_as_configured(client: &Limited, key: &str) {
    for (limits, allowed) in [
        (&["shut"][..], false),
        (&["free"], true),
        // A shadow refuses no check.
        (&["quiet"], true),
        (&["free", "quiet"], true),
        (&["free", "shut"], false),
    ] {
        let decision = match limits {
            [limit] => client.check(limit, key, 1).await,
            several => client.check_all(several, key).await,
        };
        assert!(decision.degraded(), "{limits:?}: {decision:?}");
        assert_eq!((decision.allowed(), decision.status == 200), (allowed, allowed), "{limits:?}");
        let retry = decision.number("retry_after_ms");
        assert_eq!(retry > 0, !allowed, "{decision:?}");
        assert!(retry <= 15_000, "{decision:?}");
        assert_eq!(decision.retry_after, (!allowed).then(|| retry.div_ceil(1_000)), "{decision:?}");
    }
}

/// Waits until the store is missed.
async fn is_missed(scene: &Scene) {
    until("the store is missed", PATIENCE, async || {
        scene.client.check("shut", "ann", 1).await.degraded()
    })
    .await;
}

#[tokio::test]
async fn a_store_that_is_killed_or_frozen_degrades_and_recovers() {
    let _shared = MACHINE.read().await;
    let mut scene = Scene::start().await;
    scene.site.redis.kill();
    is_missed(&scene).await;
    scene.decides_as_configured().await;
    scene.site.redis.restart().await;
    scene.is_calm("after the kill").await;
    // It came back empty.
    let forgotten = scene.client.check("shut", "before", 0).await;
    assert_eq!(forgotten.number("remaining"), 1_000, "{forgotten:?}");

    scene.site.redis.freeze();
    is_missed(&scene).await;
    scene.decides_as_configured().await;
    scene.site.redis.thaw();
    scene.is_calm("after the frost").await;
    let counted = scene.degraded().await;
    assert!(counted >= 14.0, "each was counted: {counted}");
}

#[tokio::test]
async fn a_store_that_takes_no_writes_degrades_what_takes_units() {
    let _shared = MACHINE.read().await;
    let scene = Scene::start().await;
    let redis = &scene.site.redis;
    redis.run::<()>(&["REPLICAOF", "127.0.0.1", "1"]).await;
    is_missed(&scene).await;
    scene.decides_as_configured().await;
    redis.run::<()>(&["REPLICAOF", "NO", "ONE"]).await;
    scene.is_calm("after it was a replica").await;

    redis.run::<()>(&["CONFIG", "SET", "maxmemory", "1"]).await;
    scene.decides_as_configured().await;
    let free = scene.client.check("shut", "no units", 0).await;
    assert!(free.allowed() && !free.degraded(), "what takes nothing is answered: {free:?}");
    redis.run::<()>(&["CONFIG", "SET", "maxmemory", "0"]).await;
    scene.is_calm("after it was full").await;

    // Redis loses its scripts: no caller notices.
    redis.script_flush().await;
    let decision = scene.client.check("shut", "flushed", 1).await;
    assert!(decision.allowed() && !decision.degraded(), "{decision:?}");
}

/// Executed, and the reply is lost: with an id the call is sent again, without one it is degraded.
#[tokio::test]
async fn promise_11_a_link_cut_after_execution_takes_units_once() {
    let _shared = MACHINE.read().await;
    let redis = Redis::start().await;
    redis.load(anteroom_core::scripts().iter().map(|script| script.source())).await;
    let link = Proxy::start(redis.port()).await;
    let site = Deployment::new(redis, LIMITS, &[("ANTEROOM_STORE__URL", &link.url())]);
    let admission = site.admission().await;
    admission.until_ready().await;
    let client = Limited::of(&admission);
    let left = async |limit: &str| {
        let check = async || client.check(limit, "ann", 0).await;
        until("the link is back", PATIENCE, async || !check().await.degraded()).await;
        check().await.number("remaining")
    };
    for limit in ["shut", "free"] {
        let named = |id: &str| json!({ "key": "ann", "cost": 10, "id": id });
        let path = format!("limits/{limit}/check");
        link.cut(b"EVALSHA", Cut::After);
        let decision = client.call(&path, &named("a")).await;
        assert!(decision.allowed() && !decision.degraded(), "{decision:?}");
        assert_eq!(left(limit).await, 990, "{limit}: once");
        link.cut(b"EVALSHA", Cut::After);
        let decision = client.check(limit, "ann", 10).await;
        assert!(decision.degraded(), "the effect is unknown: {decision:?}");
        assert_eq!(left(limit).await, 980, "{limit}: it was taken");
        // The client sends the first again, and nothing more is taken.
        let decision = client.call(&path, &named("a")).await;
        assert!(decision.allowed() && !decision.degraded(), "{decision:?}");
        assert_eq!(left(limit).await, 980, "{limit}");
    }
    assert_eq!(link.cuts(), 4);
}

#[tokio::test]
async fn on_a_cluster_only_the_groups_of_a_lost_primary_are_degraded() {
    let _shared = MACHINE.read().await;
    let mut cluster = Cluster::start(3, 1).await;
    cluster.set("cluster-require-full-coverage", "no").await;
    let nodes = cluster.urls().join(",");
    let env = [("ANTEROOM_STORE__MODE", "cluster"), ("ANTEROOM_STORE__NODES", &nodes)];
    let site = Deployment::new(Redis::start().await, LIMITS, &env);
    let admission = site.admission().await;
    admission.until_ready().await;
    let client = Limited::of(&admission);
    let keys: Vec<_> = (0..64).map(|key| format!("key {key}")).collect();
    let degraded = async |limit: &str| {
        let mut degraded = Vec::new();
        for key in &keys {
            degraded.push(client.check(limit, key, 1).await.degraded());
        }
        degraded
    };
    until("all are served", PATIENCE, async || !degraded("shut").await.contains(&true)).await;
    cluster.settles().await;
    cluster.primaries[0].hands_over_to(&cluster.replicas[0]).await;
    cluster.primaries[0].kill();
    let lost = degraded("free").await;
    let count = lost.iter().filter(|degraded| **degraded).count();
    assert!((1..48).contains(&count), "{count} of 64 were on the primary that was lost");
    cluster.replicas[0].takes_over().await;
    until("all are served", 2 * PATIENCE, async || !degraded("shut").await.contains(&true)).await;
    // What was taken before is still taken: each was checked once by every round.
    for key in &keys {
        assert!(client.check("shut", key, 0).await.number("remaining") <= 998, "{key}");
    }
}
