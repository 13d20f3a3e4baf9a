//! Events over HTTP: what backends and visitors get, what operators do, and calls while Redis is
//! down.

use anteroom_core::event::{Event, Rules};
use anteroom_core::store::{Config, Store};
use anteroom_testkit::{PATIENCE, until};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{answer::Answer, key::key, room::Room, shared::OPS};

const SHOP: &str = "ark1.the-key-for-one-event";
const APPLICATION: &str = "x-anteroom-application";
pub const COUPON: &str = "[events.:name]\nstock = 2\nissue = \"codes\"\nmax_attempts = 1\n";

pub const MANY: &str = "[events.:name]\nstock = 300\n";

/// What the tests with keys have in the configuration.
pub fn keyed() -> String {
    "[events.stocked]\n[events.other]\n".to_owned()
        + &key("stocked-shop", SHOP, "backend", &["events:stocked"])
}

async fn ready(room: Room) -> Room {
    until("the event is created", PATIENCE, async || look(&room, "").await.status == 200).await;
    room
}

async fn look(room: &Room, key: &str) -> Answer {
    let call = room.call("service", Method::GET, "/v1/events/:name");
    if key.is_empty() { call.send().await } else { call.key(key).send().await }
}

async fn apply(room: &Room, visitor_id: &str) -> Answer {
    room.post_json("/v1/events/:name/applications", json!({ "visitor_id": visitor_id })).await
}

async fn status(room: &Room, visitor_id: &str) -> Answer {
    let path = format!("/v1/events/:name/applications/{visitor_id}");
    room.service(&path).await
}

async fn admin(room: &Room, method: Method, rest: &str, body: Value) -> Answer {
    let path = format!("/v1/admin/events/:name/{rest}");
    let call = room.call("service", method, &path);
    if body.is_null() { call.send().await } else { call.json(body).send().await }
}

async fn mine(room: &Room, token: &str) -> Answer {
    room.get("/v1/events/:name/application").header(APPLICATION, token).send().await
}

/// The event of this name, as an issuer has it.
pub async fn issuer(room: &Room, event: &str) -> Event {
    let config = Config {
        command_timeout: PATIENCE,
        request_timeout: PATIENCE,
        ..Config::new(room.anteroom.deployment.redis.socket_url())
    };
    let registry = prometheus::Registry::new();
    let store = Store::open(&config, &anteroom_core::scripts(), &registry).expect("an address");
    assert!(store.wait_up(PATIENCE).await, "the store is up");
    Event::open(&store, event, Rules::default(), 100)
}

/// The body without the time of the next poll.
fn body(answer: &Answer) -> Value {
    let mut json = answer.json();
    let poll = json["poll_after_ms"].take().as_u64().expect("a time");
    assert!((1_000..=20_000).contains(&poll), "{json}");
    json.as_object_mut().expect("an object").remove("poll_after_ms");
    json
}

#[tokio::test]
async fn promise_09_an_application_over_http_from_pending_to_issued() {
    let room = ready(Room::shared(COUPON).await).await;
    let accepted = apply(&room, "ann").await;
    let token = accepted.is(202).json()["application_token"].as_str().expect("one").to_owned();
    assert!(token.starts_with("aat1."));
    let first = json!({ "status": "pending", "position": 1, "application_token": token });
    assert_eq!(body(&accepted), first);
    assert_eq!(body(apply(&room, "ann").await.is(200)), first, "the same again");
    assert_eq!(apply(&room, "bob").await.is(202).json()["position"], 2);
    apply(&room, "eve").await.refuses(409, "sold_out");
    let pending = json!({ "status": "pending", "position": 1 });
    assert_eq!(body(status(&room, "ann").await.is(200)), pending);
    assert_eq!(body(mine(&room, &token).await.is(200)), pending);
    status(&room, "eve").await.refuses(404, "not_found");

    let issuer = issuer(&room, &room.name).await;
    issuer.load_codes(&["code-a".to_owned(), "code-b".to_owned()]).await.expect("codes");
    let claimed = issuer.claim(9).await.expect("a claim");
    assert_eq!(body(mine(&room, &token).await.is(200)), json!({ "status": "claimed" }));
    issuer.finish(claimed.fence, &claimed.work[..1]).await.expect("an answer");
    let issued = body(mine(&room, &token).await.is(200));
    assert_eq!((&issued["status"], &issued["code"]), (&json!("issued"), &json!("code-a")));
    assert!(issued["issued_at"].as_str().is_some_and(|at| at.ends_with('Z')), "{issued}");

    // A dead letter: an operator has it tried again, and at last gives it up.
    let (fence, bob) = (claimed.fence, claimed.work[1].sequence);
    issuer.fail(fence, bob, "the receiver answered 422", None).await.expect("an answer");
    assert_eq!(body(status(&room, "bob").await.is(200)), json!({ "status": "failed" }));
    let dead = admin(&room, Method::GET, "dead?limit=1", Value::Null).await.is(200).json();
    let letter = &dead["dead"][0];
    assert_eq!((&letter["visitor_id"], &letter["attempts"]), (&json!("bob"), &json!(1)));
    assert_eq!(letter["error"], "the receiver answered 422");
    assert_eq!(dead["next"], Value::Null);
    for _ in 0..2 {
        admin(&room, Method::POST, "dead/bob/retry", Value::Null).await.is(202);
    }
    assert_eq!(body(status(&room, "bob").await.is(200)), pending);
    let again = issuer.claim(9).await.expect("a claim");
    issuer.fail(again.fence, bob, "no", None).await.expect("an answer");
    for _ in 0..2 {
        admin(&room, Method::DELETE, "dead/bob", Value::Null).await.is(204);
    }
    let none = admin(&room, Method::DELETE, "dead/ann", Value::Null).await;
    none.refuses(404, "not_found");
    let expected = json!({
        "event": room.name, "stock": 2, "issued": 1, "pending": 0, "claimed": 0, "failed": 1,
        "dead": 0, "sold_out": 0, "codes": 1,
    });
    room.shows("/v1/events/:name", |whole| *whole == expected).await;
    let counted = async |outcome: &str| {
        let labels = format!("{{event=\":name\",outcome=\"{outcome}\"}}");
        room.count(&format!("anteroom_event_applications_total{labels}")).await
    };
    assert_eq!((counted("accepted").await, counted("repeated").await), (2, 1));
    assert_eq!(counted("sold_out").await, 1);
}

/// Also of a visitor whose name is the last part of its path.
#[tokio::test]
async fn all_dead_letters_are_tried_again_by_one_call() {
    let room = ready(Room::shared(MANY).await).await;
    for number in 0..149 {
        apply(&room, &format!("visitor-{number}")).await.is(202);
    }
    apply(&room, "retry").await.is(202);
    let issuer = issuer(&room, &room.name).await;
    let die = async || {
        let mut claimed = issuer.claim(64).await.expect("a claim");
        while !claimed.work.is_empty() {
            for work in &claimed.work {
                let failed = issuer.fail(claimed.fence, work.sequence, "no", None).await;
                failed.expect("an answer");
            }
            claimed = issuer.claim(64).await.expect("a claim");
        }
    };
    let retry_all =
        async || admin(&room, Method::POST, "dead/retry", Value::Null).await.is(202).json();
    die().await;
    assert_eq!(retry_all().await, json!({ "retried": 150, "dead": 0 }));
    room.shows("/v1/events/:name", |whole| whole["pending"] == 150).await;
    assert_eq!(retry_all().await, json!({ "retried": 0, "dead": 0 }));
    die().await;
    admin(&room, Method::POST, "dead/retry/retry", Value::Null).await.is(202);
    die().await;
    admin(&room, Method::DELETE, "dead/%72etry", Value::Null).await.is(204);
    let parts = |whole: &Value| (whole["dead"].as_u64(), whole["failed"].as_u64());
    room.shows("/v1/events/:name", |whole| parts(whole) == (Some(149), Some(150))).await;
    until("each call is audited", PATIENCE, async || {
        let audit = room.audit();
        let of = |operation: &str| audit.iter().filter(|it| it["operation"] == operation).count();
        (of("event.retry_dead"), of("event.give_up")) == (3, 1)
    })
    .await;
    let retried =
        room.audit().iter().filter(|it| it.to_string().contains("retried\\\":150")).count();
    assert_eq!(retried, 1);
}

#[tokio::test]
async fn promise_06_a_forged_application_token_costs_no_command() {
    // Of its own, so that all polls are the test's.
    let room = ready(Room::behind_own_admission(COUPON, &[]).await).await;
    let token = apply(&room, "ann").await.is(202).json()["application_token"].clone();
    let token = token.as_str().expect("a token");
    let looks = async || {
        let metric = "anteroom_operations_total{operation=\"event.status\"}";
        room.count(metric).await
    };
    let before = looks().await;
    let mut forged = token.to_owned();
    forged.replace_range(10..11, if &token[10..11] == "A" { "B" } else { "A" });
    mine(&room, &forged).await.refuses(401, "token_invalid");
    mine(&room, "aat1.x").await.refuses(401, "token_invalid");
    room.get("/v1/events/:name/application").send().await.refuses(401, "token_missing");
    for both in [[token, &forged], [&forged, token]] {
        let call = room.get("/v1/events/:name/application").header(APPLICATION, both[0]);
        call.header(APPLICATION, both[1]).send().await.refuses(401, "token_invalid");
    }
    room.get("/v1/events/none/application").send().await.refuses(404, "unknown_event");
    assert_eq!(looks().await, before);
    // The public port has nothing else of events.
    room.get("/v1/events/:name").send().await.refuses(404, "not_found");
    mine(&room, token).await.is(200);
}

#[tokio::test]
async fn promise_11_stock_is_added_once_and_audited() {
    let room = Room::with_keys("stocked").await;
    until("the store answers", PATIENCE, async || look(&room, SHOP).await.status == 200).await;
    let add = async |key: &str, body: Value| {
        let call = room.call("service", Method::POST, "/v1/admin/events/:name/stock");
        call.key(key).json(body).send().await
    };
    let five = json!({ "add": 5, "operation_id": "order-17" });
    for _ in 0..2 {
        assert_eq!(add(OPS, five.clone()).await.is(200).json(), json!({ "stock": 5 }));
    }
    let other = add(OPS, json!({ "add": 6, "operation_id": "order-17" })).await;
    other.refuses(409, "operation_mismatch");
    let most = 9_007_199_254_740_991u64;
    for units in [0, most, most + 1] {
        let refused = add(OPS, json!({ "add": units, "operation_id": "x" })).await;
        refused.refuses(422, "invalid_value");
    }
    for wrong in [json!(-1), json!(1.5)] {
        let refused = add(OPS, json!({ "add": wrong, "operation_id": "x" })).await;
        let detail = refused.refuses(400, "invalid_body").json()["detail"].to_string();
        assert!(detail.contains("add: must be a whole number"), "{detail}");
    }
    add(SHOP, five).await.refuses(403, "key_forbidden");
    let narrow = room.call("service", Method::GET, "/v1/events/other").key(SHOP).send().await;
    narrow.refuses(403, "key_forbidden");
    until("each call is audited", PATIENCE, async || {
        room.audit().iter().filter(|it| it["operation"] == "event.add_stock").count() == 9
    })
    .await;
}

#[tokio::test]
async fn applications_are_refused_before_the_opening_and_after_the_end() {
    let times = "opens_at = \"2199-01-01T00:00:00Z\"\nends_at = \"2199-01-02T00:00:00Z\"\n";
    let room = ready(Room::start(&format!("[events.:name]\nstock = 1\n{times}")).await).await;
    let refused = apply(&room, "ann").await;
    refused.refuses(503, "event_not_open");
    assert!(!refused.header("retry-after").is_empty(), "{refused:?}");
    assert_eq!(look(&room, "").await.json()["opens_at"], "2199-01-01T00:00:00Z");
    let over = "opens_at = \"2020-01-01T00:00:00Z\"\nends_at = \"2020-01-02T00:00:00Z\"\n";
    let kept = "keep_ttl = \"3650d\"\n";
    room.reconfigure(&format!("[events.:name]\nstock = 1\n{over}{kept}"));
    until("it is over", PATIENCE, async || {
        let refused = apply(&room, "ann").await;
        refused.refuses(503, "event_not_open").json()["detail"] == "the event is over"
    })
    .await;
}

/// Events have nothing to answer from without Redis.
#[tokio::test]
async fn while_redis_is_down_calls_are_refused_and_nothing_is_lost() {
    let room = ready(Room::start_with(COUPON, &[]).await).await;
    let token = apply(&room, "ann").await.is(202).json()["application_token"].clone();
    let token = token.as_str().expect("a token");
    room.anteroom.deployment.redis.freeze();
    until("the store is missed", PATIENCE, async || {
        apply(&room, "bob").await.code() == "store_unavailable"
    })
    .await;
    for answer in [mine(&room, token).await, status(&room, "ann").await, look(&room, "").await] {
        answer.refuses(503, "store_unavailable");
    }
    room.anteroom.deployment.redis.thaw();
    until("the store is back", PATIENCE, async || mine(&room, token).await.status == 200).await;
    let applied = apply(&room, "bob").await;
    assert!([200, 202].contains(&applied.status), "{applied:?}");
    assert_eq!(applied.json()["position"], 2);
}
