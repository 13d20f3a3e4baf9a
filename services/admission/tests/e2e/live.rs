//! `GET /v1/admin/live`: what an operator's console follows.

use std::collections::BTreeMap;
use std::time::Duration;

use anteroom_testkit::{PATIENCE, until};
use reqwest::{Method, Response};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::key::key;
use crate::room::{PATIENT, Room};
use crate::schema::Book;
use crate::shared::{OPS, SHOP};

const LIVE: &str = "/v1/admin/live";
const SCREEN: &str = "ark1.the-key-of-a-screen";

/// One entity of each kind, and a second queue.
const ENTITIES: &str = "[queues.concert]\nbatch = 1\ninterval = \"10s\"\nhealth = \"payments\"\n\
    [queues.tour]\ncapacity = 1\n[events.coupon]\nstock = 5\n[pools.reward]\n\
    options.small = 10\n[limits.login]\nlimit = 1\nwindow = \"1h\"\n\
    [targets.payments]\nmin_samples = 1\n";

/// A stream, and the state that its events lead to.
pub struct Follower {
    response: Response,
    text: String,
    pub state: Value,
}

impl Follower {
    /// Opens a stream, and reads its first event.
    pub async fn open(room: &Room, key: &str) -> Self {
        let response = open(room, key).await;
        assert_eq!(response.status(), 200);
        for (name, value) in [("content-type", "text/event-stream"), ("x-accel-buffering", "no")] {
            assert_eq!(response.headers()[name], value);
        }
        let mut stream = Self { response, text: String::new(), state: Value::Null };
        let (event, state) = stream.event().await.expect("an event");
        assert_eq!(event, "state");
        stream.state = state;
        stream
    }

    /// The next event, with its data; `None` at the end of the stream.
    pub async fn event(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let lines = event.lines().filter_map(|line| line.split_once(": "));
                let fields: BTreeMap<_, _> = lines.collect();
                let name = fields.get("event").copied().unwrap_or_default().to_owned();
                let data = fields.get("data").copied().unwrap_or("null");
                let event = (name, serde_json::from_str(data).expect("JSON"));
                self.text = rest.to_owned();
                return Some(event);
            }
            let chunk = timeout(PATIENCE, self.response.chunk()).await.expect("an event");
            self.text.push_str(std::str::from_utf8(&chunk.ok()??).expect("a text"));
        }
    }

    /// Applies the next change. Returns the code of an `end` instead.
    pub async fn follow(&mut self) -> Option<String> {
        let (event, data) = self.event().await.expect("the stream goes on");
        if event == "end" {
            return data["code"].as_str().map(str::to_owned);
        }
        assert_eq!(event, "change", "{data}");
        json_patch::merge(&mut self.state, &data);
        None
    }

    /// Follows until the state is this.
    pub async fn until(&mut self, what: &str, is_so: impl Fn(&Value) -> bool) {
        let following = async {
            while !is_so(&self.state) {
                assert_eq!(self.follow().await, None, "{what}");
            }
        };
        let reached = timeout(PATIENCE, following).await;
        assert!(reached.is_ok(), "{what}: {:#}", self.state);
    }

    /// The code with which the stream ends.
    pub async fn end(&mut self) -> String {
        loop {
            if let Some(code) = self.follow().await {
                assert_eq!(self.event().await, None, "nothing follows");
                return code;
            }
        }
    }
}

async fn open(room: &Room, key: &str) -> Response {
    let call = room.call("service", Method::GET, LIVE);
    if key.is_empty() { call.open().await } else { call.key(key).open().await }
}

fn keys(scopes: &[&str]) -> String {
    key("ops", OPS, "operator", &[])
        + &key("shop", SHOP, "backend", &[])
        + &key("screen", SCREEN, "viewer", scopes)
}

/// Without what changes from one look to the next.
fn without_times(state: &Value) -> Value {
    match state {
        Value::Object(members) => {
            let changing = ["at", "age_ms", "checks_per_second", "refusals_per_second"];
            let members = members.iter().filter(|(name, _)| !changing.contains(&name.as_str()));
            let members = members.map(|(name, member)| (name.clone(), without_times(member)));
            Value::Object(members.collect())
        }
        other => other.clone(),
    }
}

async fn post(room: &Room, path: &str, body: Value) {
    let answer = room.call("service", Method::POST, path).key(SHOP).json(body).send().await;
    assert!(answer.status < 300 || answer.status == 429, "{answer:?}");
}

#[tokio::test]
async fn the_changes_lead_to_what_a_new_stream_shows() {
    let config = format!("{ENTITIES}{}", keys(&[]));
    let room = Room::start_with(&config, &PATIENT).await;
    let book = Book::of(&room, "service").await;
    let mut stream = Follower::open(&room, OPS).await;
    book.fits("LiveState", &stream.state);
    let caller = json!({"key": "ops", "role": "operator", "scopes": []});
    assert_eq!((&stream.state["caller"], &stream.state["redis"]), (&caller, &json!(true)));

    for visitor in ["ana", "bob", "cem"] {
        post(&room, "/v1/queues/concert/tokens", json!({"visitor_id": visitor})).await;
        post(&room, "/v1/limits/login/check", json!({"key": "k"})).await;
    }
    post(&room, "/v1/events/coupon/applications", json!({"visitor_id": "ana"})).await;
    post(&room, "/v1/targets/payments/outcomes", json!({"success": true})).await;
    let fund = room.call("service", Method::POST, "/v1/admin/pools/reward/funds").key(OPS);
    fund.json(json!({"amount": 7, "operation_id": "one"})).send().await.is(200);
    let pause = room.call("service", Method::PATCH, "/v1/admin/queues/tour").key(OPS);
    pause.json(json!({"state": "paused", "reason": "a pause"})).send().await.is(200);
    stream
        .until("all of it is shown", |state| {
            state["queues"]["concert"]["depth"] == 2
                && state["queues"]["concert"]["target"] == "payments"
                && state["queues"]["concert"]["longest_wait_ms"].as_u64() > Some(0)
                && state["queues"]["concert"]["expected_wait_ms"].as_u64() > Some(5_000)
                && state["queues"]["tour"]["overrides"]["reason"]["value"] == "a pause"
                && state["events"]["coupon"]["pending"] == 1
                && state["pools"]["reward"]["balance"] == 7
                && state["targets"]["payments"]["successes"] == 1
                && state["limits"]["login"]["checks_per_second"].as_f64() > Some(0.0)
                && state["limits"]["login"]["refusals_per_second"].as_f64() > Some(0.0)
        })
        .await;
    book.fits("LiveState", &stream.state);

    // An override is removed, a queue is added, and one is removed.
    let resume = room.call("service", Method::PATCH, "/v1/admin/queues/tour").key(OPS);
    resume.json(json!({"state": null})).send().await.is(200);
    room.reconfigure(&config.replace("[queues.tour]", "[queues.late]"));
    stream
        .until("the queues have changed", |state| {
            state["queues"]["tour"].is_null() && state["queues"]["late"]["depth"] == 0
        })
        .await;
    let same = async {
        loop {
            let fresh = Follower::open(&room, OPS).await;
            stream.follow().await;
            if without_times(&fresh.state) == without_times(&stream.state) {
                break;
            }
        }
    };
    timeout(PATIENCE, same).await.expect("a new stream shows the same");
}

#[tokio::test]
async fn a_stream_shows_what_the_key_covers_and_ends_with_the_key() {
    let config = |keys: &str| format!("{ENTITIES}{keys}");
    let room = Room::start_with(&config(&keys(&["queues:tour"])), &PATIENT).await;
    for (key, status, code) in [
        ("", 401, "key_missing"),
        ("ark1.forged", 401, "key_invalid"),
        (SHOP, 403, "key_forbidden"),
    ] {
        let call = room.call("service", Method::GET, LIVE);
        let call = if key.is_empty() { call } else { call.key(key) };
        call.send().await.refuses(status, code);
    }
    let mut ops = Follower::open(&room, OPS).await;
    let mut screen = Follower::open(&room, SCREEN).await;
    let names = |state: &Value, section: &str| {
        let section = state[section].as_object().cloned().unwrap_or_default();
        section.keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(names(&ops.state, "queues"), ["concert", "tour"]);
    assert_eq!(names(&screen.state, "queues"), ["tour"]);
    for section in ["events", "pools", "limits", "targets"] {
        assert_eq!(names(&ops.state, section).len(), 1, "{section}");
        assert_eq!(screen.state[section], json!({}), "{section}");
    }

    room.reconfigure(&config(&keys(&["queues:concert", "pools:reward"])));
    screen.until("other scopes", |state| names(state, "pools") == ["reward"]).await;
    assert_eq!(names(&screen.state, "queues"), ["concert"]);
    let scopes = json!(["queues:concert", "pools:reward"]);
    assert_eq!(
        screen.state["caller"],
        json!({"key": "screen", "role": "viewer", "scopes": scopes})
    );

    let of_backend = key("ops", OPS, "operator", &[]) + &key("screen", SCREEN, "backend", &[]);
    room.reconfigure(&config(&of_backend));
    assert_eq!(screen.end().await, "key_forbidden");
    room.reconfigure(&config(&key("shop", SHOP, "backend", &[])));
    assert_eq!(ops.end().await, "key_invalid");
}

#[tokio::test]
async fn a_process_has_32_streams_and_a_stop_ends_them() {
    let room = Room::start_with(ENTITIES, &PATIENT).await;
    let mut streams = Vec::new();
    for _ in 0..32 {
        streams.push(Follower::open(&room, "").await);
    }
    let caller = json!({"role": "operator", "scopes": []});
    assert_eq!(streams[31].state["caller"], caller, "no keys are configured");
    room.call("service", Method::GET, LIVE).send().await.refuses(503, "overloaded");
    assert_eq!(room.count("anteroom_live_streams").await, 32);
    streams.pop();
    until("the slot is free", PATIENCE, async || open(&room, "").await.status() == 200).await;
    room.anteroom.admission.process.term();
    let stream = streams.first_mut().expect("a stream");
    let ending = async {
        while let Some((event, _)) = stream.event().await {
            assert!(["change", ""].contains(&&*event), "{event}");
        }
    };
    timeout(PATIENCE, ending).await.expect("the stream ends");
}

#[tokio::test]
async fn while_redis_is_down_the_last_values_stay() {
    let mut room = Room::start_with(ENTITIES, &[]).await;
    room.post("/v1/queues/concert/tokens").json(json!({})).send().await.is(201);
    let mut stream = Follower::open(&room, "").await;
    stream.until("a visitor is ready", |state| state["queues"]["concert"]["ready"] == 1).await;
    room.anteroom.deployment.redis.kill();
    stream.until("Redis is down", |state| state["redis"] == false).await;
    let age = |state: &Value| state["queues"]["concert"]["age_ms"].as_u64().expect("an age");
    stream.until("the values get older", |state| age(state) > 2_500).await;
    assert_eq!(stream.state["queues"]["concert"]["ready"], 1);
    assert_eq!(stream.state["pools"]["reward"]["balance"], 0);
    room.anteroom.deployment.redis.restart().await;
    stream.until("new values", |state| state["redis"] == true && age(state) < 2_500).await;
}

/// Redis counts commands. Without streams the number of them varies from second to second, because
/// the pauses between 2 readings do.
#[tokio::test]
async fn open_streams_cost_redis_nothing() {
    let room = Room::start_with(ENTITIES, &PATIENT).await;
    let redis = &room.anteroom.deployment.redis;
    let calls_in = async |seconds: u64| {
        let before = redis.evalsha_calls().await;
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        redis.evalsha_calls().await - before
    };
    let without = calls_in(5).await;
    let mut streams = Vec::new();
    for _ in 0..30 {
        streams.push(Follower::open(&room, "").await);
    }
    let with = calls_in(5).await;
    for stream in &mut streams {
        let at = stream.state["at"].clone();
        stream.until("the streams were alive", |state| state["at"] != at).await;
    }
    // One command a second for each stream would be 150 more. On a busy machine both vary.
    assert!(with < without + 75, "{with} commands with 30 streams, {without} without");
}
