//! A whole Anteroom, and a client that talks to it.

use std::{
    cell::RefCell,
    ops::{Deref, DerefMut},
};

pub use anteroom_testkit::PATIENT;
use anteroom_testkit::{Anteroom, Deployment, PATIENCE, Redis, Service, client, until};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};

use crate::{answer::Answer, shared};

/// One queue with room for one: the first joins ready, the second waits for the first.
pub const ONE: &str = "[queues.:name]\ncapacity = 1\n";

/// The header in which a token travels.
pub const TOKEN: &str = "x-anteroom-token";

/// What signs tokens, unless a test says otherwise.
pub const SECRETS: (&str, &str) =
    ("ANTEROOM_ADMISSION__TOKEN_SECRETS", "the-secret-that-signs-in-these-tests");

/// Something of the test's own, or shared with other tests, which only read it.
pub enum Part<T: 'static> {
    Own(T),
    Shared(&'static T),
}

impl<T> Deref for Part<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Self::Own(own) => own,
            Self::Shared(shared) => shared,
        }
    }
}

impl<T> DerefMut for Part<T> {
    fn deref_mut(&mut self) -> &mut T {
        match self {
            Self::Own(own) => own,
            Self::Shared(_) => panic!("other tests use it at the same time"),
        }
    }
}

/// The services of a room.
pub struct Services {
    pub deployment: Part<Deployment>,
    pub admission: Part<Service>,
    pub scheduler: Part<Service>,
}

/// Running services and a client.
pub struct Room {
    pub anteroom: Services,
    /// What replaces `:name` in the room's configuration, paths and metrics.
    pub name: String,
    http: Client,
}

impl Room {
    /// Starts everything, with these queues in the configuration, for a test in which Redis is
    /// never down, only slow on a busy machine.
    pub async fn start(queues: &str) -> Self {
        Self::start_with(queues, &PATIENT).await
    }

    /// Starts everything, with an environment for both services.
    pub async fn start_with(queues: &str, env: &[(&str, &str)]) -> Self {
        Self::start_on(Redis::start().await, queues, env).await
    }

    /// Starts everything on this Redis, and waits until both services are ready and admission has
    /// read each queue.
    pub async fn start_on(redis: Redis, queues: &str, env: &[(&str, &str)]) -> Self {
        let name = "concert".to_owned();
        let queues = queues.replace(":name", &name);
        let env: Vec<_> = std::iter::once(SECRETS).chain(env.iter().copied()).collect();
        let anteroom = Anteroom::start_on(redis, &queues, &env).await;
        let Anteroom { deployment, admission, scheduler } = anteroom;
        let (deployment, admission) = (Part::Own(deployment), Part::Own(admission));
        let anteroom = Services { deployment, admission, scheduler: Part::Own(scheduler) };
        let room = Self { anteroom, name, http: client() };
        room.anteroom.scheduler.until_ready().await;
        room.sees_all(&queues).await;
        room
    }

    /// Takes sections with a name of the test's own in services that other tests use as well.
    pub async fn shared(sections: &str) -> Self {
        let (anteroom, name) = shared::without_keys(sections).await;
        let room = Self::of(anteroom, name);
        room.sees_all(&sections.replace(":name", &room.name)).await;
        room
    }

    /// The same, behind an admission of the test's own with this environment.
    pub async fn behind_own_admission(sections: &str, env: &[(&str, &str)]) -> Self {
        let mut room = Self::shared(sections).await;
        room.anteroom.admission = Part::Own(room.anteroom.deployment.admission_with(env).await);
        room.anteroom.admission.until_ready().await;
        room.sees_all(&sections.replace(":name", &room.name)).await;
        room
    }

    /// The entities of this name in the services that have keys.
    pub async fn with_keys(name: &str) -> Self {
        Self::of(shared::with_keys().await, name.to_owned())
    }

    /// These services, which other tests use as well.
    pub fn of(anteroom: &'static Anteroom, name: String) -> Self {
        let Anteroom { deployment, admission, scheduler } = anteroom;
        let (deployment, admission) = (Part::Shared(deployment), Part::Shared(admission));
        let anteroom = Services { deployment, admission, scheduler: Part::Shared(scheduler) };
        // A client has connections of the test's runtime, so each test has its own.
        Self { anteroom, name, http: client() }
    }

    /// Waits until admission knows the state of these queues.
    async fn sees_all(&self, sections: &str) {
        for name in sections.split("[queues.").skip(1).filter_map(|rest| rest.split(']').next()) {
            let path = format!("/v1/queues/{name}");
            until(&path, PATIENCE, async || self.get(&path).send().await.status == 200).await;
        }
    }

    /// A text in which `:name` is the room's.
    pub fn text(&self, template: &str) -> String {
        template.replace(":name", &self.name)
    }

    /// The cookie that carries a token.
    pub fn cookie(&self, token: &str) -> String {
        format!("__Host-anteroom_{}={token}", self.name)
    }

    /// The address of a port: public, service, metrics, scheduler.
    pub fn url(&self, port: &str) -> String {
        let Services { admission, scheduler, .. } = &self.anteroom;
        if port == "scheduler" { scheduler.url("metrics") } else { admission.url(port) }
    }

    /// Writes another configuration, which the services take over.
    pub fn reconfigure(&self, sections: &str) {
        assert!(matches!(self.anteroom.deployment, Part::Own(_)), "other tests use it");
        self.anteroom.deployment.write(&self.text(sections));
    }

    /// A call to a port: public, service. A path may hold `:name`.
    pub fn call(&self, port: &str, method: Method, path: &str) -> Call {
        self.call_at(&self.anteroom.admission.url(port), method, path)
    }

    /// A call to any admission, such as a second one.
    pub fn call_at(&self, base: &str, method: Method, path: &str) -> Call {
        let is_head = method == Method::HEAD;
        let url = format!("{base}{}", self.text(path));
        Call { request: self.http.request(method, url), is_head }
    }

    /// GET on the public port.
    pub fn get(&self, path: &str) -> Call {
        self.call("public", Method::GET, path)
    }

    /// POST on the public port.
    pub fn post(&self, path: &str) -> Call {
        self.call("public", Method::POST, path)
    }

    /// A join by a new visitor.
    pub async fn join(&self) -> Answer {
        self.post("/v1/queues/:name/tokens").json(json!({})).send().await
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
                let is_recent = |age: Value| age.as_u64().is_some_and(|age| age <= 10_000);
                assert!(age.is_some_and(is_recent), "{shown}");
            }
            let is_shown = is_this(&shown);
            last.replace(shown);
            is_shown
        })
        .await;
        last.into_inner()
    }

    /// The answer to a GET on the service port.
    pub async fn service(&self, path: &str) -> Answer {
        self.call("service", Method::GET, path).send().await
    }

    /// The answer to a POST on the service port.
    pub async fn post_json(&self, path: &str, body: Value) -> Answer {
        self.call("service", Method::POST, path).json(body).send().await
    }

    /// The answer to a PATCH on the service port.
    pub async fn patch_json(&self, path: &str, body: Value) -> Answer {
        self.call("service", Method::PATCH, path).json(body).send().await
    }

    /// The holder of the token leaves, or finishes its visit.
    pub async fn leave(&self, token: &str) -> Answer {
        self.call("public", Method::DELETE, "/v1/queues/:name/token").token(token).send().await
    }

    /// The gate's answer to a token.
    pub async fn authorize(&self, token: &str) -> Answer {
        self.get("/v1/queues/:name/authorize").token(token).send().await
    }

    /// Waits until the place of the token has this status.
    pub async fn becomes(&self, token: &str, status: &str) {
        until(&format!("the place is {status}"), PATIENCE, async || {
            let answer = self.get("/v1/queues/:name/token").token(token).send().await;
            // A test polls more often than a place may.
            let patient = answer.status == 429;
            !patient && answer.is(200).json()["status"] == status
        })
        .await;
    }

    /// The text of a port's `/metrics`: `metrics` (admission's) or `scheduler`.
    pub async fn metrics(&self, port: &str) -> String {
        let Services { admission, scheduler, .. } = &self.anteroom;
        let service = if port == "scheduler" { scheduler } else { admission };
        service.get("/metrics").await.1
    }

    /// The audit lines about what the room's name begins, in their order.
    pub fn audit(&self) -> Vec<Value> {
        let log = self.anteroom.admission.process.stdout();
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let is_ours = |line: &Value| {
            let names = ["queue", "event", "pool", "limit"].map(|kind| line[kind].as_str());
            names.iter().flatten().any(|name| name.starts_with(&self.name))
        };
        lines.filter(|line| line["target"] == "audit" && is_ours(line)).collect()
    }

    /// How much the series of a counter of admission have come to; 0 before there is one.
    pub async fn count(&self, selector: &str) -> u64 {
        self.anteroom.admission.metric(&self.text(selector)).await.unwrap_or(0.0) as u64
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

    /// The cookie of a browser, in a request of its own page.
    pub fn cookie(self, cookie: &str) -> Self {
        self.header("cookie", cookie).browser()
    }

    /// The header of every browser of today in its own page's requests.
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
