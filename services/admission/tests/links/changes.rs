//! An operator's change of rules on a link that is slow or breaks: its answer says what has become
//! of it.
//!
//! A change makes three calls: a look, the change, and a look at what is in force then.

use std::time::Duration;

use anteroom_testkit::{Cut, Fault, PATIENCE, Service, client, until};
use http::HeaderValue;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::breaks::Linked;

const QUEUE: &str = "[queues.concert]\ncapacity = 10\n";
/// Each reply of Redis takes so long …
const LATE: Duration = Duration::from_millis(600);
/// … and is waited for.
const PATIENT: [(&str, &str); 3] = [
    ("ANTEROOM_STORE__COMMAND_TIMEOUT", "5s"),
    ("ANTEROOM_STORE__REQUEST_TIMEOUT", "10s"),
    ("ANTEROOM_ADMISSION__REQUEST_TIMEOUT", "30s"),
];

/// An operator who calls one admission.
struct Operator {
    queue: String,
}

impl Operator {
    fn at(admission: &Service) -> Self {
        Self { queue: format!("{}/v1/admin/queues/concert", admission.url("service")) }
    }

    /// The revision, and the capacity in force.
    async fn look(&self) -> Option<(HeaderValue, Value)> {
        let answer = client().get(&self.queue).send().await.expect("an answer");
        let etag = answer.headers().get("etag")?.clone();
        let seen: Value = answer.json().await.expect("JSON");
        Some((etag, seen["rules"]["capacity"].clone()))
    }

    /// Status, revision and body.
    async fn change(&self, of: &HeaderValue, capacity: u64) -> (u16, Option<HeaderValue>, Value) {
        let call = client().patch(&self.queue).header("if-match", of);
        let answer = call.json(&json!({ "capacity": capacity })).send().await.expect("an answer");
        let (status, etag) = (answer.status().as_u16(), answer.headers().get("etag").cloned());
        (status, etag, answer.json().await.expect("JSON"))
    }
}

/// The revision of the rules, once Redis is back and the scheduler has written those of its file.
async fn read_by(operator: &Operator) -> HeaderValue {
    let is_written = |etag: &HeaderValue| !etag.as_bytes().starts_with(b"\"0-");
    let is_back = async || operator.look().await.is_some_and(|(etag, _)| is_written(&etag));
    until("Redis is back", PATIENCE, is_back).await;
    operator.look().await.expect("the rules").0
}

/// A change by the slow link; returns when Redis has made it, while its reply is on its way.
async fn made_slowly(
    linked: &Linked,
    direct: &Operator,
    capacity: u64,
) -> JoinHandle<(u16, Option<HeaderValue>, Value)> {
    let slow = Operator::at(&linked.admission);
    let read = read_by(&slow).await;
    linked.link().set(Fault::Delay(LATE));
    let change = tokio::spawn(async move { slow.change(&read, capacity).await });
    let is_made = async || direct.look().await.is_some_and(|(_, seen)| seen == capacity);
    until("the change is made", PATIENCE, is_made).await;
    change
}

/// The reply to the change comes, and no answer to the look behind it.
#[tokio::test]
async fn promise_11_a_change_that_took_effect_is_not_reported_as_none() {
    let linked = Linked::patient(QUEUE, &PATIENT).await;
    let admission = linked.direct().await;
    let (slow, direct) = (Operator::at(&linked.admission), Operator::at(&admission));
    let read = read_by(&slow).await;
    // From now on Redis knows the script.
    assert_eq!(slow.change(&read, 20).await.0, 200);
    for capacity in 21..24 {
        let read = read_by(&slow).await;
        let revision = read.to_str().expect("ASCII").trim_matches('"');
        linked.link().cut(revision.as_bytes(), Cut::Behind);
        let (status, _, body) = slow.change(&read, capacity).await;
        linked.link().set(Fault::Pass);
        assert_eq!((status, &body["code"]), (504, &json!("effect_unknown")), "{body}");
        assert_eq!(direct.look().await.expect("the rules").1, capacity);
    }
}

/// Another operator changes the rules while the reply to the first change is on its way.
#[tokio::test]
async fn the_revision_of_an_answer_is_that_of_its_own_change() {
    let linked = Linked::patient(QUEUE, &PATIENT).await;
    let admission = linked.direct().await;
    let direct = Operator::at(&admission);
    let first = made_slowly(&linked, &direct, 20).await;
    let (read, _) = direct.look().await.expect("the rules");
    let (status, second, body) = direct.change(&read, 30).await;
    assert_eq!(status, 200, "{body}");
    let (status, etag, body) = first.await.expect("no panic");
    assert_eq!(status, 200, "{body}");
    assert_ne!(etag, second, "it is not the revision of the other's change");
    assert_eq!(etag.as_ref(), Some(&read));
    let (status, _, body) = direct.change(&read, 40).await;
    assert_eq!((status, &body["current"]["rules"]["capacity"]), (412, &json!(30)), "{body}");
}

/// Redis makes each change, its reply is lost, and the call is sent once more.
#[tokio::test]
async fn promise_11_a_change_whose_reply_was_lost_has_one_entry() {
    let entities = "[events.coupon]\nstock = 3\n[pools.reward]\n[limits.login]\nlimit = 5\n";
    let linked = Linked::patient(&format!("{QUEUE}{entities}"), &PATIENT).await;
    let operator = Operator::at(&linked.admission);
    read_by(&operator).await;
    let base = linked.admission.url("service");
    let post = async |path: &str, body: Value| {
        client().post(format!("{base}{path}")).json(&body).send().await.expect("an answer")
    };
    for visitor in ["ann", "ben"] {
        post("/v1/queues/concert/tokens", json!({ "visitor_id": visitor })).await;
    }
    post("/v1/limits/login/check", json!({ "key": "ann" })).await;
    let add = json!({ "add": 1, "operation_id": "a" });
    let funds = json!({ "amount": 1, "operation_id": "a" });
    // Of the calls to Redis only that of a change has the name of the key.
    let by = b"(no keys configured)";
    for (method, path, body, operation) in [
        ("PATCH", "queues/concert", json!({ "capacity": 20 }), "queue.override_rules"),
        ("DELETE", "queues/concert/places/2", Value::Null, "queue.evict"),
        ("POST", "queues/concert/reset", Value::Null, "queue.reset"),
        ("POST", "events/coupon/stock", add, "event.add_stock"),
        ("POST", "pools/reward/funds", funds, "pool.fund"),
        ("POST", "limits/login/forget", json!({ "key": "ann" }), "limit.forget"),
    ] {
        let cuts = linked.link().cuts();
        linked.link().cut_reply_to(by);
        let method = reqwest::Method::from_bytes(method.as_bytes()).expect("a method");
        let call = client().request(method, format!("{base}/v1/admin/{path}"));
        let call = if body.is_null() { call } else { call.json(&body) };
        let status = call.send().await.expect("an answer").status();
        assert!(status.is_success(), "{operation}: {status}");
        assert_eq!(linked.link().cuts(), cuts + 1, "{operation}");
        let mut of = path.splitn(3, '/');
        let (section, name) = (of.next().expect("one"), of.next().expect("a name"));
        let log = format!("{base}/v1/admin/changes?entity={section}:{name}");
        let log: Value = client().get(log).send().await.expect("one").json().await.expect("JSON");
        let changes = log["changes"].as_array().expect("a list");
        let found = changes.iter().filter(|change| change["operation"] == operation).count();
        assert_eq!((found, &changes[0]["operation"]), (1, &json!(operation)), "{log}");
        assert_eq!(changes[0]["key"], "(no keys configured)");
    }
}

/// The reply to a change, or to a reset, is lost. Before it is sent again another operator does the
/// same.
#[tokio::test]
async fn promise_11_a_call_that_is_sent_again_leaves_a_later_one() {
    let linked = Linked::patient(QUEUE, &PATIENT).await;
    let admission = linked.direct().await;
    let (slow, direct) = (Operator::at(&linked.admission), Operator::at(&admission));
    read_by(&slow).await;
    let base = admission.url("service");
    let lose_reply = || {
        linked.link().set(Fault::Delay(LATE));
        linked.link().cut_reply_to(b"(no keys configured)");
    };
    let patch = async |operator: &Operator, capacity: u64| {
        let call = client().patch(&operator.queue).json(&json!({ "capacity": capacity }));
        let answer = call.send().await.expect("an answer");
        (answer.status().as_u16(), answer.json::<Value>().await.expect("JSON"))
    };
    let reset = |operator: &Operator| client().post(format!("{}/reset", operator.queue)).send();
    // From now on Redis knows both scripts.
    assert_eq!(patch(&slow, 11).await.0, 200);
    assert_eq!(reset(&direct).await.expect("an answer").status(), 202);
    lose_reply();
    let url = slow.queue.clone();
    let first = tokio::spawn(async move { patch(&Operator { queue: url }, 20).await });
    let is_made = async || direct.look().await.is_some_and(|(_, seen)| seen == 20);
    until("the first change is made", PATIENCE, is_made).await;
    assert_eq!(patch(&direct, 30).await.0, 200);
    let (status, body) = first.await.expect("no panic");
    assert_eq!((status, &body["code"]), (504, &json!("effect_unknown")), "{body}");
    assert_eq!(direct.look().await.expect("the rules").1, 30);

    linked.link().set(Fault::Pass);
    read_by(&slow).await;
    let resets = async || {
        let log = format!("{base}/v1/admin/changes?entity=queues:concert");
        let log: Value = client().get(log).send().await.expect("one").json().await.expect("JSON");
        let changes = log["changes"].as_array().cloned().unwrap_or_default();
        changes.iter().filter(|change| change["operation"] == "queue.reset").count()
    };
    lose_reply();
    let first = tokio::spawn(reset(&slow));
    until("the first reset is made", PATIENCE, async || resets().await == 2).await;
    assert_eq!(reset(&direct).await.expect("an answer").status(), 202);
    let join = client().post(format!("{base}/v1/queues/concert/tokens"));
    let join = join.json(&json!({ "visitor_id": "eve" })).send().await.expect("an answer");
    assert_eq!(join.status(), 201);
    assert_eq!(first.await.expect("no panic").expect("an answer").status(), 202);
    assert_eq!(resets().await, 3, "sent again, it did nothing");
    let find = client().post(format!("{}/places/find", direct.queue));
    let find = find.json(&json!({ "visitor_id": "eve" })).send().await.expect("an answer");
    assert_eq!(find.status(), 200, "who joined since is still there");
}
