//! Pools over HTTP: the seed cases, repeats, what keys reach, and that money waits for Redis.

use anteroom_testkit::{PATIENCE, Redis, until, until_some};
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    answer::Answer,
    key::key,
    room::{PATIENT, Room},
    shared::OPS,
};

const SHOP: &str = "ark1.the-key-for-one-pool";
const NARROW: &str = "ark1.the-key-for-another-pool";

/// Ten billion, and options that it pays.
pub const POOL: &str = "[pools.:name]\nfunds = 10_000_000_000\nhold_ttl = \"1s\"\n\
    options = { one = 1_000_000, five = 5_000_000, twenty = 20_000_000 }\n";

/// The same, with holds that last until GET has shown them, however slow the machine is.
pub const LONG_HOLDS: &str = "[pools.:name]\nfunds = 10_000_000_000\nhold_ttl = \"1h\"\n\
    options = { one = 1_000_000, five = 5_000_000, twenty = 20_000_000 }\n";

/// What the tests with keys have in the configuration.
pub fn keyed() -> String {
    POOL.replace(":name", "funded")
        + "[pools.other]\n"
        + &key("funded-shop", SHOP, "backend", &["pools:funded"])
        + &key("funded-narrow", NARROW, "operator", &["pools:other"])
}

const REWARD: &str = "/v1/pools/:name";

async fn ready(room: Room) -> Room {
    until("the store answers", PATIENCE, async || get(&room, "").await.status == 200).await;
    room
}

async fn get(room: &Room, path: &str) -> Answer {
    room.service(&format!("/v1/pools/:name{path}")).await
}

async fn post(room: &Room, path: &str, body: Value) -> Answer {
    room.post_json(path, body).await
}

async fn draw(room: &Room, amount: u64, id: &str) -> Answer {
    let body = json!({ "amount": amount, "operation_id": id });
    post(room, "/v1/pools/:name/draws", body).await
}

async fn hold(room: &Room, body: Value) -> Answer {
    post(room, "/v1/pools/:name/holds", body).await
}

async fn audited(room: &Room) {
    // A busy machine may need more than one call.
    let audit = until_some("an audit", PATIENCE, async || {
        let audit = post(room, "/v1/admin/pools/:name/audit", json!({})).await;
        (audit.status == 200).then(|| audit.json())
    });
    let audit = audit.await;
    assert_eq!(audit["holds"], true, "{audit}");
}

#[tokio::test]
async fn promise_10_the_seed_cases_over_http() {
    let room = ready(Room::shared(LONG_HOLDS).await).await;
    let more = room.anteroom.deployment.admission().await;
    more.until_ready().await;
    let bases = [room.url("service"), more.url("service")];
    draw(&room, 12_000_000_000, "too much").await.refuses(409, "insufficient_balance");
    let draws = join_all(bases.iter().zip(["a", "b"]).map(async |(base, id)| {
        let body = json!({ "amount": 8_000_000_000_u64, "operation_id": id });
        room.call_at(base, Method::POST, "/v1/pools/:name/draws").json(body).send().await
    }))
    .await;
    let mut statuses: Vec<_> = draws.iter().map(|draw| draw.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409], "exactly one is paid");
    room.shows(REWARD, |pool| pool["balance"] == 2_000_000_000_u64).await;
    draw(&room, 1_974_000_000, "c").await.is(201);
    let offers = async |names: &[&str]| {
        room.shows(REWARD, |pool| {
            let options = pool["options"].as_array().expect("a list");
            let offered = options.iter().filter(|option| option["available"] == true);
            offered.map(|option| &option["name"]).eq(names)
        })
        .await
    };
    offers(&["five", "one", "twenty"]).await;
    let held = hold(&room, json!({ "option": "twenty", "operation_id": "d" })).await;
    let held = held.is(201).json();
    assert_eq!((&held["amount"], &held["balance"]), (&json!(20_000_000), &json!(6_000_000)));
    offers(&["five", "one"]).await;
    let path = format!("/v1/pools/:name/holds/{}/settle", held["hold_id"].as_str().expect("an id"));
    let settled = post(&room, &path, json!({ "amount": 15_000_000 })).await.is(200).json();
    assert_eq!(settled, json!({ "amount": 15_000_000, "balance": 11_000_000 }));
    draw(&room, 11_000_000, "e").await.is(201);
    offers(&[]).await;
    draw(&room, 1, "f").await.refuses(409, "insufficient_balance");
    let pool = room.shows(REWARD, |pool| pool["balance"] == 0).await;
    assert_eq!(pool["paid"], 10_000_000_000_u64);
    audited(&room).await;
    let paid = room.text("anteroom_pool_paid{pool=\":name\"}");
    room.anteroom.admission.until_metric(&paid, |it| it == Some(10_000_000_000.0)).await;
    let both = async |metric: &str| {
        let metric = &room.text(metric);
        let (here, there) = (room.anteroom.admission.metric(metric), more.metric(metric));
        here.await.unwrap_or(0.0) + there.await.unwrap_or(0.0)
    };
    assert_eq!(both("anteroom_pool_paid_total{pool=\":name\"}").await, 10_000_000_000.0);
    let labels = "{operation=\"draw\",outcome=\"insufficient_balance\",pool=\":name\"}";
    assert_eq!(both(&format!("anteroom_pool_operations_total{labels}")).await, 3.0);
}

#[tokio::test]
async fn promise_11_a_repeat_gets_the_first_answer() {
    let room = ready(Room::shared(POOL).await).await;
    let first = draw(&room, 7, "a").await.is(201).json();
    draw(&room, 8, "b").await.is(201);
    assert_eq!(draw(&room, 7, "a").await.is(201).json(), first);
    draw(&room, 9, "a").await.refuses(409, "operation_mismatch");
    let held = hold(&room, json!({ "amount": 5, "operation_id": "a" })).await.is(201).json();
    let again = hold(&room, json!({ "amount": 5, "operation_id": "a" })).await.is(201).json();
    assert_eq!((&held["hold_id"], &held["balance"]), (&again["hold_id"], &again["balance"]));
    let funds = json!({ "amount": 30, "operation_id": "a" });
    for _ in 0..2 {
        let reply = post(&room, "/v1/admin/pools/:name/funds", funds.clone()).await.is(200).json();
        assert_eq!(reply, json!({ "amount": 30, "balance": 10_000_000_010_u64 }));
    }
    audited(&room).await;
}

/// The scheduler takes it back, without any call.
#[tokio::test]
async fn a_hold_goes_back_by_itself_and_is_settled_late() {
    let room = ready(Room::shared(POOL).await).await;
    let held = hold(&room, json!({ "amount": 500, "operation_id": "a" })).await.is(201).json();
    let path = format!("/holds/{}", held["hold_id"].as_str().expect("an id"));
    assert_eq!(get(&room, &path).await.is(200).json()["state"], "held");
    let scheduler = &room.anteroom.scheduler;
    let gauge = room.text("anteroom_pool_held{pool=\":name\"}");
    scheduler.until_metric(&gauge, |it| it == Some(0.0)).await;
    until("it is over", PATIENCE, async || {
        get(&room, &path).await.is(200).json()["state"] == "expired"
    })
    .await;
    let settle = format!("/v1/pools/:name{path}/settle");
    post(&room, &settle, json!({ "amount": 400 })).await.is(200);
    post(&room, &settle, json!({ "amount": 400 })).await.is(200);
    post(&room, &settle, json!({ "amount": 300 })).await.refuses(409, "hold_settled");
    let look = get(&room, &path).await.is(200).json();
    assert_eq!((&look["state"], &look["settled"]), (&json!("settled"), &json!(400)));
    let ledger = room.service("/v1/admin/pools/:name/ledger?after=1&limit=3").await.is(200).json();
    let kinds: Vec<_> = ledger["movements"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|line| line["kind"].as_str().expect("a kind").to_owned())
        .collect();
    assert_eq!(kinds, ["held", "expired", "settled"]);
    draw(&room, 1, "rent").await.is(201);
    let newest = room.call("service", Method::GET, "/v1/admin/pools/:name/ledger?after=4");
    assert_eq!(newest.send().await.is(200).json()["movements"][0]["operation_id"], "rent");
    assert_eq!((&ledger["next"], &ledger["last_seq"]), (&Value::Null, &json!(4)));
    audited(&room).await;
}

#[tokio::test]
async fn a_key_reaches_the_pools_of_its_scopes_and_only_operators_put_money_in() {
    let room = Room::with_keys("funded").await;
    let draw = async |key: &str, pool: &str| {
        room.call("service", Method::POST, &format!("/v1/pools/{pool}/draws"))
            .key(key)
            .json(json!({ "amount": 1, "operation_id": "a" }))
            .send()
            .await
    };
    until("the store answers", PATIENCE, async || draw(SHOP, ":name").await.status == 201).await;
    draw(SHOP, "other").await.refuses(403, "key_forbidden");
    draw(NARROW, ":name").await.refuses(403, "key_forbidden");
    draw(OPS, "none").await.refuses(404, "unknown_pool");
    draw(OPS, "other").await.refuses(409, "insufficient_balance");
    for call in ["funds", "confirm", "audit"] {
        let path = format!("/v1/admin/pools/:name/{call}");
        let ask = async |key: &str| {
            let body = json!({ "amount": 1, "operation_id": call });
            room.call("service", Method::POST, &path).key(key).json(body).send().await
        };
        ask(SHOP).await.refuses(403, "key_forbidden");
        ask(NARROW).await.refuses(403, "key_forbidden");
        ask(OPS).await.is(200);
    }
    room.get("/v1/pools/:name").send().await.refuses(404, "not_found");
    let audit = room.audit();
    let funds = audit.iter().filter(|line| line["operation"] == "pool.fund");
    assert_eq!(funds.count(), 3, "each call of an operator leaves a line");
}

/// Money is never advice.
#[tokio::test]
async fn without_the_store_everything_is_refused_and_nothing_is_lost() {
    let mut room =
        ready(Room::start_on(Redis::builder().durable().start().await, POOL, &[]).await).await;
    draw(&room, 7, "a").await.is(201);
    room.anteroom.deployment.redis.kill();
    until("the store is missed", PATIENCE, async || {
        draw(&room, 7, "b").await.code() == "store_unavailable"
    })
    .await;
    until("what was known is too old", PATIENCE, async || {
        get(&room, "").await.code() == "store_unavailable"
    })
    .await;
    hold(&room, json!({ "amount": 1, "operation_id": "a" }))
        .await
        .refuses(503, "store_unavailable");
    draw(&room, 0, "b").await.refuses(422, "invalid_value");
    room.anteroom.deployment.redis.restart().await;
    until("the store is back", PATIENCE, async || draw(&room, 7, "b").await.status == 201).await;
    let pool = room.shows(REWARD, |pool| pool["paid"] == 14).await;
    assert_eq!(pool["balance"], 9_999_999_986_u64);
    audited(&room).await;
}

#[tokio::test]
async fn a_pool_that_holds_waits_for_an_operator_after_a_restart_of_the_store() {
    let holds = format!("{POOL}on_failover = \"hold\"\n");
    let redis = Redis::builder().durable().start().await;
    let mut room = ready(Room::start_on(redis, &holds, &[]).await).await;
    draw(&room, 7, "a").await.is(201);
    room.anteroom.deployment.redis.restart().await;
    until("it is noticed", PATIENCE, async || {
        draw(&room, 7, "b").await.code() == "pool_unconfirmed"
    })
    .await;
    let refused = draw(&room, 7, "b").await;
    assert!(refused.header("retry-after").parse::<u64>().is_ok_and(|after| after >= 1));
    room.shows(REWARD, |pool| pool["unconfirmed"] == true).await;
    let gauge = room.text("anteroom_pool_unconfirmed{pool=\":name\"}");
    room.anteroom.scheduler.until_metric(&gauge, |it| it == Some(1.0)).await;
    let pool = post(&room, "/v1/admin/pools/:name/confirm", json!({})).await.is(200).json();
    assert_eq!((&pool["unconfirmed"], &pool["paid"]), (&json!(false), &json!(7)));
    draw(&room, 7, "b").await.is(201);
}

#[tokio::test]
async fn a_changed_file_changes_the_rules_and_what_left_it_is_gone() {
    let room = ready(Room::start(POOL).await).await;
    let option = json!({ "option": "ten", "operation_id": "a" });
    hold(&room, option.clone()).await.refuses(422, "unknown_option");
    room.reconfigure(&POOL.replace("five = 5_000_000", "ten = 10_000_000"));
    until("the option is there", PATIENCE, async || {
        hold(&room, option.clone()).await.status == 201
    })
    .await;
    room.reconfigure("[pools.other]\n");
    until("it is gone", PATIENCE, async || get(&room, "").await.code() == "unknown_pool").await;
}

/// A ledger that takes longer to read than any other call may take; a second audit meanwhile is
/// refused.
#[tokio::test]
async fn an_audit_has_a_time_of_its_own() {
    let timeout = [PATIENT[0], PATIENT[1], ("ANTEROOM_ADMISSION__REQUEST_TIMEOUT", "100ms")];
    let room = ready(Room::start_with(POOL, &timeout).await).await;
    draw(&room, 1, "a").await.is(201);
    // Draws of nothing, behind the two lines that are there.
    let lines = "local last = redis.call('HINCRBY', KEYS[1], 'seq', 10000)
        local line = redis.call('XRANGE', KEYS[2], '2-0', '2-0')[1][2][2]
        for seq = last - 9999, last do
            redis.call('XADD', KEYS[2], seq .. '-0', 'line',
                string.sub(line, 1, 1) .. string.rep('\\0', 16) .. string.sub(line, 18))
        end";
    let [meta, ledger] =
        ["meta", "ledger"].map(|key| format!("anteroom:v1:pool:{{{}}}:{key}", room.name));
    for _ in 0..50 {
        room.anteroom.deployment.redis.run::<()>(&["EVAL", lines, "2", &meta, &ledger]).await;
    }
    room.anteroom.admission.until_metric("anteroom_store_up", |it| it == Some(1.0)).await;
    let audit = || room.call("service", Method::POST, "/v1/admin/pools/:name/audit");
    let begun = std::time::Instant::now();
    let audits = join_all([audit().json(json!({})).send(), audit().json(json!({})).send()]).await;
    assert!(begun.elapsed().as_millis() > 100, "it was no long one");
    let (done, refused): (Vec<_>, Vec<_>) = audits.into_iter().partition(|it| it.status == 200);
    assert_eq!((done.len(), refused.len()), (1, 1));
    for audit in done {
        let audit = audit.json();
        assert_eq!((&audit["holds"], &audit["movements"]), (&json!(true), &json!(500_002)));
    }
    for audit in refused {
        audit.refuses(503, "overloaded");
    }
}
