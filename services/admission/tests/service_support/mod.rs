//! The two ports as routers over a private store, with keys of every kind.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anteroom_admission::{AdmissionMetrics, App, Peer, PortService, digest, public, service};
use anteroom_core::queue::{Epoch, PlaceId, PlaceRef, TokenKeys};
use anteroom_core::store::Store;
use anteroom_runtime::{Config, Operations};
use anteroom_testkit::{PATIENCE, Redis, until};
use axum::body::Body;
use axum::response::Response;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use prometheus::Registry;
use serde_json::Value;
use tokio_util::sync::{CancellationToken, DropGuard};

pub const BACKEND: &str = "ark1.backend-key";
pub const OPERATOR: &str = "ark1.operator-key";
/// An operator's key for another queue only.
pub const NARROW: &str = "ark1.narrow-key";

const SECRET: &str = "a-secret-of-thirty-two-bytes-and-more";

pub struct World {
    pub redis: Redis,
    service: PortService,
    public: PortService,
    _stop: DropGuard,
}

impl World {
    pub async fn start() -> Self {
        let key = |name: &str, key: &str, role: &str, scopes: &str| {
            let digest: String = digest(key).iter().map(|b| format!("{b:02x}")).collect();
            format!(
                "[keys.{name}]\ndigest = \"sha256:{digest}\"\nrole = \"{role}\"\nscopes = [{scopes}]\n"
            )
        };
        let keys = [
            key("back", BACKEND, "backend", ""),
            key("ops", OPERATOR, "operator", ""),
            key("narrow", NARROW, "operator", "\"queues:other\""),
        ];
        Self::with(&keys.concat()).await
    }

    pub async fn without_keys() -> Self {
        Self::with("").await
    }

    async fn with(keys: &str) -> Self {
        let redis = Redis::start().await;
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("anteroom.toml");
        let secrets = directory.path().join("secrets");
        std::fs::write(&secrets, SECRET).expect("written");
        let (url, secrets) = (redis.url(), secrets.display());
        let text = format!(
            "[store]\nurl = \"{url}\"\n[admission]\ntoken_secrets_file = \"{secrets}\"\n\
             [queues.shop]\ncapacity = 100\n{keys}"
        );
        std::fs::write(&file, text).expect("written");
        let config = Arc::new(Config::load(Some(&file)).expect("a configuration"));
        let registry = Registry::new();
        let store =
            Store::open(&config.store(), &anteroom_core::scripts(), &registry).expect("a store");
        let metrics = AdmissionMetrics::register(&registry).expect("metrics");
        let stop = CancellationToken::new();
        let app = App::new(config, store, metrics, Operations::new(), 1_000, stop.clone());
        until("the store is up", PATIENCE, async || app.store.is_up()).await;
        let world =
            Self { redis, service: service(&app), public: public(&app), _stop: stop.drop_guard() };
        // The store gets its rules, and this process its first snapshot.
        app.queue("shop").expect("a queue").queue.snapshot().await.expect("a snapshot");
        world
    }

    /// Calls the service port from this machine.
    pub async fn call(
        &self,
        key: &str,
        method: &str,
        path: &str,
        body: Value,
    ) -> (StatusCode, Value) {
        self.send(self.request(key, method, path, &body)).await
    }

    /// Calls it with one header more.
    pub async fn call_with(
        &self,
        key: &str,
        method: &str,
        path: &str,
        header: &'static str,
    ) -> (StatusCode, Value) {
        let mut request = self.request(key, method, path, &Value::Null);
        request.headers_mut().insert(header, http::HeaderValue::from_static("x"));
        self.send(request).await
    }

    fn request(&self, key: &str, method: &str, path: &str, body: &Value) -> Request<Body> {
        let mut request = Request::builder().method(method).uri(path).header(HOST, "localhost");
        if !key.is_empty() {
            request = request.header(AUTHORIZATION, format!("Bearer {key}"));
        }
        let body = match body {
            Value::Null => Body::empty(),
            body => {
                request = request.header(CONTENT_TYPE, "application/json");
                Body::from(body.to_string())
            }
        };
        request.body(body).expect("a request")
    }

    async fn send(&self, request: Request<Body>) -> (StatusCode, Value) {
        let response = self.service.answer(request, peer()).await;
        let status = response.status();
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }

    /// Asks the gate.
    pub async fn authorize(&self, token: &str) -> Response {
        let request = Request::get("/v1/queues/shop/authorize").header("x-anteroom-token", token);
        let request = request.header(HOST, "localhost").body(Body::empty()).expect("a request");
        self.public.answer(request, peer()).await
    }

    /// A handle in the right form of a place that nobody holds.
    pub fn handle_of_nobody(&self) -> String {
        PlaceRef { epoch: Epoch([1; 8]), id: PlaceId([2; 14]), ticket: 3 }.to_handle()
    }

    /// The handle of the place that a token proves, as the gate would give it.
    pub fn handle(&self, token: &str) -> String {
        let keys = TokenKeys::new(&[SECRET.into()]).expect("a secret");
        keys.verify("shop", token).expect("a token of ours").place.to_handle()
    }
}

fn peer() -> Peer {
    Peer(SocketAddr::from(([127, 0, 0, 1], 4711)))
}

/// What was logged.
#[derive(Clone, Default)]
pub struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The lines of the audit log.
    pub fn audit(&self) -> Vec<Value> {
        let lines = self.text();
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        lines.filter(|line| line["target"] == "audit").collect()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Catches what this process logs from now on, at every level.
pub fn log() -> Log {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .json()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).expect("the first subscriber");
    log
}
