//! The two ports as routers over a private store, with keys of every kind.
#![allow(dead_code, reason = "each test binary uses its own part")]

#[path = "../support/mod.rs"]
mod support;

use std::net::SocketAddr;

use anteroom_admission::{Peer, PortService, service};
use anteroom_core::queue::{Epoch, PlaceId, PlaceRef};
use anteroom_testkit::{PATIENCE, Redis, until};
use axum::body::Body;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use serde_json::Value;
use tokio_util::sync::{CancellationToken, DropGuard};

use support::app_on;
use support::key::key;

pub const BACKEND: &str = "ark1.backend-key";
pub const OPERATOR: &str = "ark1.operator-key";
pub const VIEWER: &str = "ark1.viewer-key";
/// An operator's key for another queue only.
pub const NARROW: &str = "ark1.narrow-key";

pub struct Ports {
    pub redis: Redis,
    service: PortService,
    _stop: DropGuard,
}

impl Ports {
    pub async fn start() -> Self {
        let keys = [
            key("back", BACKEND, "backend", &[]),
            key("ops", OPERATOR, "operator", &[]),
            key("narrow", NARROW, "operator", &["queues:other"]),
            key("screen", VIEWER, "viewer", &[]),
        ];
        Self::with(&keys.concat()).await
    }

    pub async fn without_keys() -> Self {
        Self::with("").await
    }

    async fn with(keys: &str) -> Self {
        let redis = Redis::start().await;
        let stop = CancellationToken::new();
        let queue = format!("[queues.shop]\ncapacity = 100\n{keys}");
        let app = app_on(&redis.url(), &queue, stop.clone());
        until("the store is up", PATIENCE, async || app.process.store.is_up()).await;
        let ports = Self { redis, service: service(&app), _stop: stop.drop_guard() };
        // The store gets its rules, and this process its first snapshot.
        app.queue("shop").expect("a queue").queue.snapshot().await.expect("a snapshot");
        ports
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

    /// A well-formed handle of a place that does not exist.
    pub fn unknown_handle(&self) -> String {
        PlaceRef { epoch: Epoch([1; 8]), id: PlaceId([2; 14]), ticket: 3 }.to_handle()
    }
}

fn peer() -> Peer {
    Peer(SocketAddr::from(([127, 0, 0, 1], 4711)))
}
