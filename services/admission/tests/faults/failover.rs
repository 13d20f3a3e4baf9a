//! Another primary takes over under pools: those that must be looked at stand still until an
//! operator confirms them, over HTTP; the others go on, and count it.

use anteroom_testkit::{
    Deployment, Fault, PATIENCE, Proxy, Redis, Sentinel, until, until_some, witness::Doors,
};
use http::Method;
use serde_json::{Value, json};

use crate::backend::{Backend, Heard};

const RULES: &str = "[pools.watched]\nfunds = 1000\non_failover = \"hold\"\nhold_ttl = \"3s\"\n\
                     [pools.open]\nfunds = 1000\n";

/// Who calls two admissions.
struct Caller(Backend<()>);

impl Caller {
    async fn post(&self, door: u8, path: &str, body: &Value) -> Heard {
        self.0.ask(door, &Method::POST, path, body).await
    }

    /// Waits until GET, which may be a second behind, shows these fields of a pool.
    async fn until_shown(&self, pool: &str, fields: Value) {
        let path = format!("/v1/pools/{pool}");
        until(&format!("{path} shows {fields}"), PATIENCE, async || {
            let shown = self.0.ask(0, &Method::GET, &path, &Value::Null).await.body;
            fields.as_object().expect("fields").iter().all(|(name, value)| shown[name] == *value)
        })
        .await;
    }

    /// Draws or holds 100, sent until Redis answers.
    async fn until_answered(&self, door: u8, call: &str, operation: &str) -> Heard {
        let body = json!({ "amount": 100, "operation_id": operation });
        until_some("the store answers", 2 * PATIENCE, async || {
            let heard = self.post(door, &format!("/v1/pools/{call}"), &body).await;
            let is_away = heard.status.is_none()
                || ["store_unavailable", "effect_unknown", "overloaded"]
                    .contains(&heard.text("code"));
            (!is_away).then_some(heard)
        })
        .await
    }

    async fn adds_up(&self, pool: &str) {
        let path = format!("/v1/admin/pools/{pool}/audit");
        let audit = self.post(0, &path, &json!({})).await.body;
        assert_eq!(audit["holds"], true, "{audit}");
    }
}

#[tokio::test]
async fn promise_10_no_money_moves_after_a_failover_until_an_operator_confirms() {
    let mut primary = Redis::start().await;
    let replica = Redis::builder().replica_of(&primary).start().await;
    let sentinel = Sentinel::start("money", &primary, 1).await;
    let env = [
        ("ANTEROOM_STORE__MODE", "sentinel"),
        ("ANTEROOM_STORE__SENTINEL_MASTER", "money"),
        ("ANTEROOM_STORE__URL", &sentinel.url()),
    ];
    let deployment = Deployment::new(Redis::start().await, RULES, &env);
    let scheduler = deployment.scheduler().await;
    let (here, there) = (deployment.admission().await, deployment.admission().await);
    let caller = Caller(Backend::new(Doors::new([here.url("service"), there.url("service")])));
    for pool in ["watched", "open"] {
        let drawn = caller.until_answered(0, &format!("{pool}/draws"), "before").await;
        assert_eq!(drawn.status, Some(201), "{}", drawn.body);
    }
    let held = caller.until_answered(1, "watched/holds", "held before").await;
    let hold = held.text("hold_id").to_owned();
    assert_eq!(held.status, Some(201), "{}", held.body);

    primary.hands_over_to(&replica).await;
    primary.kill();
    replica.takes_over().await;
    sentinel.names(&replica).await;

    // The others go on, and say that it has happened.
    let drawn = caller.until_answered(0, "open/draws", "after").await;
    assert_eq!((drawn.status, &drawn.body["balance"]), (Some(201), &json!(800)), "{}", drawn.body);
    for (door, call) in [(0, "watched/draws"), (1, "watched/draws"), (0, "watched/holds")] {
        let refused = caller.until_answered(door, call, "after").await;
        let refusal = (refused.status, refused.text("code"));
        assert_eq!(refusal, (Some(503), "pool_unconfirmed"), "{}", refused.body);
    }
    for pool in ["watched", "open"] {
        let failovers = format!("anteroom_pool_failovers{{pool=\"{pool}\"}}");
        until("it is counted", PATIENCE, async || scheduler.metric(&failovers).await == Some(1.0))
            .await;
    }
    // Nor does a hold end that no caller can settle.
    let settle = json!({ "amount": 60 });
    let path = format!("/v1/pools/watched/holds/{hold}/settle");
    let refused = caller.post(0, &path, &settle).await;
    assert_eq!(refused.text("code"), "pool_unconfirmed", "{}", refused.body);
    caller.until_shown("watched", json!({ "unconfirmed": true, "held": 100 })).await;

    let confirmed = caller.post(1, "/v1/admin/pools/watched/confirm", &Value::Null).await;
    assert_eq!(confirmed.status, Some(200), "{}", confirmed.body);
    let settled = caller.post(0, &path, &settle).await;
    assert_eq!(settled.status, Some(200), "{}", settled.body);
    // What was paid before is known, and once.
    for (operation, balance) in [("before", 900), ("after", 740)] {
        let drawn = caller.until_answered(1, "watched/draws", operation).await;
        assert_eq!((drawn.status, &drawn.body["balance"]), (Some(201), &json!(balance)));
    }
    caller.until_shown("watched", json!({ "paid": 260, "balance": 740 })).await;
    for pool in ["watched", "open"] {
        caller.adds_up(pool).await;
    }
}

/// What the replica had not received is gone, acknowledged or not; a pool with `on_failover =
/// "hold"` pays nothing on top of it before an operator has confirmed it.
#[tokio::test]
async fn promise_10_a_failover_that_loses_movements_pays_nothing_before_an_operator_confirms() {
    let mut primary = Redis::start().await;
    let (link, address) = (Proxy::start(primary.port()).await, Proxy::start(primary.port()).await);
    let follows = format!("127.0.0.1 {}", link.port());
    let replica = Redis::builder().arg("--replicaof", &follows).start().await;
    replica.follows().await;
    let env = [("ANTEROOM_STORE__URL", &*address.url())];
    let deployment = Deployment::new(Redis::start().await, RULES, &env);
    let _scheduler = deployment.scheduler().await;
    let (here, there) = (deployment.admission().await, deployment.admission().await);
    let caller = Caller(Backend::new(Doors::new([here.url("service"), there.url("service")])));
    caller.until_answered(0, "watched/draws", "received").await;
    primary.is_caught_up_by(&replica).await;
    link.set(Fault::Blackhole);
    for (door, operation) in [(0, "lost"), (1, "lost, too")] {
        for pool in ["watched", "open"] {
            let drawn = caller.until_answered(door, &format!("{pool}/draws"), operation).await;
            assert_eq!(drawn.status, Some(201), "{}", drawn.body);
        }
    }

    primary.kill();
    replica.run::<()>(&["REPLICAOF", "NO", "ONE"]).await;
    address.redirect(replica.port());
    for door in [0, 1] {
        let refused = caller.until_answered(door, "watched/draws", "lost").await;
        let refusal = (refused.status, refused.text("code"));
        assert_eq!(refusal, (Some(503), "pool_unconfirmed"), "{}", refused.body);
    }
    caller.until_shown("watched", json!({ "paid": 100, "unconfirmed": true })).await;
    let confirmed = caller.post(0, "/v1/admin/pools/watched/confirm", &Value::Null).await;
    assert_eq!(confirmed.status, Some(200), "{}", confirmed.body);
    // A repeat of what was lost is paid once; and a pool that goes on pays it again.
    for (pool, balance) in [("watched", 800), ("open", 900)] {
        for door in [0, 1] {
            let drawn = caller.until_answered(door, &format!("{pool}/draws"), "lost").await;
            assert_eq!((drawn.status, &drawn.body["balance"]), (Some(201), &json!(balance)));
        }
        caller.adds_up(pool).await;
    }
}
