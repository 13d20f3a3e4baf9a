//! An operator's change of rules on a link that is slow or breaks: its answer says what has become
//! of it.
//!
//! A change makes three calls: a look, the change, and a look at what is in force then.

use std::time::Duration;

use anteroom_testkit::{Cut, Fault, PATIENCE, Proxy, Service, client, until};
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
    for (method, path, body, operation) in [
        ("PATCH", "queues/concert", json!({ "capacity": 20 }), "queue.override_rules"),
        ("DELETE", "queues/concert/places/2", Value::Null, "queue.evict"),
        ("POST", "queues/concert/reset", Value::Null, "queue.reset"),
        ("POST", "events/coupon/stock", add, "event.add_stock"),
        ("POST", "pools/reward/funds", funds, "pool.fund"),
        ("POST", "limits/login/forget", json!({ "key": "ann" }), "limit.forget"),
    ] {
        let cuts = linked.link().cuts();
        linked.link().cut_reply_to(BY);
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
        assert_eq!(changes[0]["key"].as_str().map(str::as_bytes), Some(BY));
    }
}

/// The reply to a change, or to a reset, is lost. Before it is sent again another operator does the
/// same, also many times.
#[tokio::test]
async fn promise_11_a_call_that_is_sent_again_leaves_a_later_one() {
    let operators = Operators::start().await;
    let lose_reply = || {
        operators.link().set(Fault::Delay(LATE));
        operators.link().cut_reply_to(BY);
    };
    lose_reply();
    let first = operators.slow.spawn(|slow| async move { slow.change_any(20).await });
    let is_made = async || operators.direct.look().await.is_some_and(|(_, seen)| seen == 20);
    until("the first change is made", PATIENCE, is_made).await;
    for capacity in 1..=30 {
        assert_eq!(operators.direct.change_any(capacity).await.0, 200);
    }
    let (status, body) = first.await.expect("no panic");
    assert_eq!(status, 200, "{body}");
    assert_eq!(operators.direct.look().await.expect("the rules").1, 30);

    operators.link().set(Fault::Pass);
    read_by(&operators.slow).await;
    let before = operators.direct.resets().await;
    lose_reply();
    let first = operators.slow.spawn(|slow| async move { slow.reset().await });
    let is_made = async || operators.direct.resets().await == before + 1;
    until("the first reset is made", PATIENCE, is_made).await;
    assert_eq!(operators.direct.reset().await, 202);
    operators.direct.join("eve").await;
    assert_eq!(first.await.expect("no panic"), 202);
    assert_eq!(operators.direct.resets().await, before + 2, "sent again, it did nothing");
    assert!(operators.direct.finds("eve").await, "who joined since is still there");
}

/// A change, or a reset, is lost on its way. It is sent again, and then another operator does the
/// same. Only after that Redis gets the first one.
#[tokio::test]
async fn promise_11_a_call_that_arrives_late_leaves_a_later_one() {
    let operators = Operators::start().await;
    operators.link().cut(BY, Cut::Held);
    assert_eq!(operators.slow.change_any(20).await.0, 200);
    assert_eq!(operators.direct.change_any(30).await.0, 200);
    operators.link().pass_held().await;
    assert_eq!(operators.direct.look().await.expect("the rules").1, 30);

    let before = operators.direct.resets().await;
    operators.link().cut(BY, Cut::Held);
    assert_eq!(operators.slow.reset().await, 202);
    assert_eq!(operators.direct.reset().await, 202);
    operators.direct.join("eve").await;
    operators.link().pass_held().await;
    assert_eq!(operators.direct.resets().await, before + 2, "the late one did nothing");
    assert!(operators.direct.finds("eve").await, "who joined since is still there");
}

/// Of the calls to Redis only that of a change has the name of the key.
const BY: &[u8] = b"(no keys configured)";

/// Two operators of one queue: one calls an admission whose link to Redis can break.
struct Operators {
    linked: Linked,
    slow: Operator,
    direct: Operator,
    _admission: Service,
}

impl Operators {
    async fn start() -> Self {
        let linked = Linked::patient(QUEUE, &PATIENT).await;
        let admission = linked.direct().await;
        let (slow, direct) = (Operator::at(&linked.admission), Operator::at(&admission));
        read_by(&slow).await;
        // From now on Redis knows both scripts.
        assert_eq!(slow.change_any(11).await.0, 200);
        assert_eq!(direct.reset().await, 202);
        Self { linked, slow, direct, _admission: admission }
    }

    fn link(&self) -> &Proxy {
        self.linked.link()
    }
}

impl Operator {
    fn spawn<F>(&self, call: impl FnOnce(Self) -> F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        tokio::spawn(call(Self { queue: self.queue.clone() }))
    }

    /// Changes the rules, whatever they are. Status and body.
    async fn change_any(&self, capacity: u64) -> (u16, Value) {
        let call = client().patch(&self.queue).json(&json!({ "capacity": capacity }));
        let answer = call.send().await.expect("an answer");
        (answer.status().as_u16(), answer.json().await.expect("JSON"))
    }

    async fn reset(&self) -> u16 {
        let call = client().post(format!("{}/reset", self.queue));
        call.send().await.expect("an answer").status().as_u16()
    }

    /// The resets in the log of changes.
    async fn resets(&self) -> usize {
        let log = self.queue.replace("queues/concert", "changes?entity=queues:concert");
        let log: Value = client().get(log).send().await.expect("one").json().await.expect("JSON");
        let changes = log["changes"].as_array().cloned().unwrap_or_default();
        changes.iter().filter(|change| change["operation"] == "queue.reset").count()
    }

    async fn join(&self, visitor: &str) {
        let join = self.queue.replace("/admin/", "/");
        let join = client().post(format!("{join}/tokens")).json(&json!({ "visitor_id": visitor }));
        assert_eq!(join.send().await.expect("an answer").status(), 201);
    }

    async fn finds(&self, visitor: &str) -> bool {
        let find = client().post(format!("{}/places/find", self.queue));
        let find = find.json(&json!({ "visitor_id": visitor }));
        find.send().await.expect("an answer").status() == 200
    }
}
