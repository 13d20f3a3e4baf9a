//! Admission in this process, called on the way that every connection's requests take.
#![allow(dead_code, reason = "each test binary uses its own part")]

pub mod key;

use std::sync::Arc;

use anteroom_admission::{AdmissionMetrics, App, Peer, PortService};
use anteroom_config::Config;
use anteroom_core::store::Store;
use anteroom_runtime::Operations;
use axum::body::Body;
use axum::response::Response;
use http::Request;
use http_body_util::BodyExt as _;
use prometheus::Registry;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub const SECRET: &str = "a-secret-of-thirty-two-bytes-and-more";

/// The state over a store that is not there, with `more` lines in the section `[admission]` and the
/// queue `shop`.
pub fn app(more: &str) -> Arc<App> {
    let shop = "[queues.shop]\ncapacity = 1\npublic_url = \"https://shop.example\"";
    app_on("unix:///nowhere/no-store", &format!("{more}\n{shop}\n"), CancellationToken::new())
}

/// The state over this store; the first of `more` lines are in the section `[admission]`.
pub fn app_on(store: &str, more: &str, stop: CancellationToken) -> Arc<App> {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("anteroom.toml");
    let secrets = directory.path().join("secrets");
    std::fs::write(&secrets, SECRET).expect("written");
    let text = format!(
        "[store]\nurl = \"{store}\"\n[admission]\ntoken_secrets_file = \"{}\"\n{more}",
        secrets.display(),
    );
    std::fs::write(&file, text).expect("written");
    let config = Arc::new(Config::load(Some(&file)).expect("a configuration"));
    let registry = Registry::new();
    let store =
        Store::open(&config.store(), &anteroom_core::scripts(), &registry).expect("a store");
    let metrics = AdmissionMetrics::register(&registry).expect("metrics");
    App::new(config, store, metrics, Operations::new(), 1_000, stop)
}

/// What a port answers, on the way that every connection's requests take.
pub async fn ask(port: &PortService, request: Request<Body>) -> Response {
    port.answer(request, Peer(([127, 0, 0, 1], 4711).into())).await
}

/// A request without a body.
pub fn request(method: &str, path: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path).header("host", "shop.example");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Body::empty()).expect("a request")
}

/// The body of a problem, after a look at what every answer has.
pub async fn problem(response: Response) -> Value {
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    assert_eq!(response.headers()["cache-control"], "no-store");
    assert!(!response.headers()["x-request-id"].is_empty());
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!(body["status"], status);
    body
}
