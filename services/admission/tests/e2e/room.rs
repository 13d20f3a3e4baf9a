//! A whole Anteroom, and a client that talks to it.

use std::cell::RefCell;

use anteroom_testkit::{Anteroom, PATIENCE, Redis, until};
use reqwest::{Client, Method, RequestBuilder, redirect::Policy};
use serde_json::{Value, json};

use crate::answer::Answer;

/// One queue with room for one: the first joins ready, the second waits for the first.
pub const ONE: &str = "[queues.concert]\ncapacity = 1\n";

/// The header in which a token travels.
pub const TOKEN: &str = "x-anteroom-token";

/// What signs tokens, unless a test says otherwise.
pub const SECRETS: (&str, &str) =
    ("ANTEROOM_ADMISSION__TOKEN_SECRETS", "the-secret-that-signs-in-these-tests");

/// Running services and a client.
pub struct Room {
    pub anteroom: Anteroom,
    http: Client,
}

impl Room {
    /// Starts everything, with these queues in the configuration.
    pub async fn start(queues: &str) -> Self {
        Self::start_with(queues, &[]).await
    }

    /// Starts everything, with an environment for both services.
    pub async fn start_with(queues: &str, env: &[(&str, &str)]) -> Self {
        Self::start_on(Redis::start().await, queues, env).await
    }

    /// Starts everything on this Redis, and waits until both services are ready and admission has
    /// read each queue.
    pub async fn start_on(redis: Redis, queues: &str, env: &[(&str, &str)]) -> Self {
        let env: Vec<_> = std::iter::once(SECRETS).chain(env.iter().copied()).collect();
        let anteroom = Anteroom::start_on(redis, queues, &env).await;
        let room = Self { anteroom, http: client() };
        room.anteroom.scheduler.until_ready().await;
        for name in queues.split("[queues.").skip(1).filter_map(|rest| rest.split(']').next()) {
            room.sees(name).await;
        }
        room
    }

    /// Waits until admission knows the state of a queue.
    pub async fn sees(&self, queue: &str) {
        let path = format!("/v1/queues/{queue}");
        until(&path, PATIENCE, async || self.get(&path).send().await.status == 200).await;
    }

    /// A call to a port: public, service.
    pub fn call(&self, port: &str, method: Method, path: &str) -> Call {
        self.call_at(&self.anteroom.url(port), method, path)
    }

    /// A call to any admission, such as a second one.
    pub fn call_at(&self, base: &str, method: Method, path: &str) -> Call {
        let is_head = method == Method::HEAD;
        Call { request: self.http.request(method, format!("{base}{path}")), is_head }
    }

    /// GET on the public port.
    pub fn get(&self, path: &str) -> Call {
        self.call("public", Method::GET, path)
    }

    /// POST on the public port.
    pub fn post(&self, path: &str) -> Call {
        self.call("public", Method::POST, path)
    }

    /// A join of the queue `concert` by somebody new.
    pub async fn join(&self) -> Answer {
        self.post("/v1/queues/concert/tokens").json(json!({})).send().await
    }

    /// What GET of an entity on the service port shows as soon as it shows this: it may be a second
    /// old. Returned without its age.
    pub async fn shows(&self, path: &str, is_this: impl Fn(&Value) -> bool) -> Value {
        let last = RefCell::new(Value::Null);
        until(&format!("{path} shows it"), PATIENCE, async || {
            let mut shown = self.call("service", Method::GET, path).send().await.is(200).json();
            if shown["degraded"].is_null() {
                let age = shown.as_object_mut().expect("an object").remove("age_ms");
                // The answer itself takes time, on a busy machine a while.
                let is_young = |age: Value| age.as_u64().is_some_and(|age| age <= 10_000);
                assert!(age.is_some_and(is_young), "{shown}");
            }
            let is_shown = is_this(&shown);
            last.replace(shown);
            is_shown
        })
        .await;
        last.into_inner()
    }

    /// The gate's answer to a token.
    pub async fn authorize(&self, token: &str) -> Answer {
        self.get("/v1/queues/concert/authorize").token(token).send().await
    }

    /// Waits until the place of the token stands in this status.
    pub async fn becomes(&self, token: &str, status: &str) {
        until(&format!("the place is {status}"), PATIENCE, async || {
            let answer = self.get("/v1/queues/concert/token").token(token).send().await;
            // A test asks more often than a place may.
            let patient = answer.status == 429;
            !patient && answer.is(200).json()["status"] == status
        })
        .await;
    }

    /// The text of a port's `/metrics`: `metrics` (admission's) or `scheduler`.
    pub async fn metrics(&self, port: &str) -> String {
        let Anteroom { admission, scheduler, .. } = &self.anteroom;
        let service = if port == "scheduler" { scheduler } else { admission };
        service.get("/metrics").await.1
    }

    /// How much the series of a counter of admission have come to; 0 before there is one.
    pub async fn count(&self, selector: &str) -> u64 {
        self.anteroom.admission.metric(selector).await.unwrap_or(0.0) as u64
    }
}

/// A request in the making.
pub struct Call {
    request: RequestBuilder,
    is_head: bool,
}

impl Call {
    pub fn header(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        Self { request: self.request.header(name, value.as_ref()), ..self }
    }

    pub fn token(self, token: &str) -> Self {
        self.header(TOKEN, token)
    }

    /// The cookie of a browser, which also says that its own page asks.
    pub fn cookie(self, cookie: &str) -> Self {
        self.header("cookie", cookie).browser()
    }

    /// What every browser of today says of its own page's requests.
    pub fn browser(self) -> Self {
        self.header("sec-fetch-site", "same-origin")
    }

    pub fn key(self, key: &str) -> Self {
        self.header("authorization", format!("Bearer {key}"))
    }

    pub fn json(self, body: Value) -> Self {
        Self { request: self.request.json(&body), ..self }
    }

    /// A body with this content type.
    pub fn body(self, kind: &str, body: impl Into<reqwest::Body>) -> Self {
        Self { request: self.request.header("content-type", kind).body(body), ..self }
    }

    pub async fn send(self) -> Answer {
        let is_head = self.is_head;
        Answer::of(self.open().await, is_head).await
    }

    /// Sends, and leaves the body to be read: a stream does not end.
    pub async fn open(self) -> reqwest::Response {
        self.request.send().await.expect("an answer")
    }
}

fn client() -> Client {
    Client::builder().redirect(Policy::none()).no_proxy().build().expect("a client")
}
