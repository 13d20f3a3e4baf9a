//! The protected service: a small real HTTP server that remembers what reached it.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::response::{Html, IntoResponse as _, Response};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::header::UPGRADE;
use http::{HeaderMap, HeaderValue, Method};
use hyper::server::conn::http1;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use sha1::{Digest as _, Sha1};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

/// One request as it arrived.
#[derive(Clone, Debug)]
pub struct Arrival {
    pub method: Method,
    /// Path and query.
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Arrival {
    /// All values of a header; none when it did not come.
    pub fn header(&self, name: &str) -> Vec<&str> {
        self.headers.get_all(name).iter().map(|value| value.to_str().expect("ASCII")).collect()
    }

    /// The handle of the place, by the gate's word.
    pub fn place(&self) -> &str {
        let [handle] = self.header("x-anteroom-place")[..] else { panic!("one handle: {self:?}") };
        handle
    }
}

type Arrivals = Arc<Mutex<Vec<Arrival>>>;

/// A running service.
pub struct Shop {
    address: String,
    arrivals: Arrivals,
    task: JoinHandle<()>,
}

impl Shop {
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let arrivals = Arrivals::default();
        let router = Router::new().fallback(answer).with_state(arrivals.clone());
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.expect("a connection");
                let service = TowerToHyperService::new(router.clone());
                let mut server = http1::Builder::new();
                // A gateway adds its own to those of a client.
                let server =
                    server.max_headers(200).serve_connection(TokioIo::new(stream), service);
                connections.spawn(server.with_upgrades());
            }
        });
        Self { address, arrivals, task }
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn port(&self) -> u16 {
        let (_, port) = self.address.split_once(':').expect("host and port");
        port.parse().expect("a port")
    }

    /// Everything that has arrived.
    pub fn arrivals(&self) -> Vec<Arrival> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What arrived last.
    pub fn last(&self) -> Arrival {
        self.arrivals().pop().expect("something has arrived")
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A page that pushes older cookies out of the browser's jar, as one of a sibling host can, and
/// then leads to the waiting page.
pub const CROWDS_THE_JAR: &str = "/public/crowds-the-jar";
const CROWD: &str = r#"<!doctype html><script>
for (let i = 0; i < 400; i++) document.cookie = `crowd${i}=1; Path=/; Secure; Max-Age=3600`;
location.replace("/queues/concert");
</script>"#;

/// The first thing that a WebSocket says, before it returns each byte that comes.
pub const GREETING: &str = "open";

/// The answer to the key of a request for a WebSocket (RFC 6455, 4.2.2).
fn accepts(key: &HeaderValue) -> String {
    let key = [key.as_bytes(), b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"].concat();
    BASE64_STANDARD.encode(Sha1::digest(key))
}

/// What has become of a connection that was a request for a WebSocket.
async fn echo(upgrade: OnUpgrade) {
    let socket = TokioIo::new(upgrade.await.expect("a WebSocket"));
    let (mut reads, mut writes) = tokio::io::split(socket);
    if writes.write_all(GREETING.as_bytes()).await.is_ok() {
        // Until the client ends it.
        let _ = tokio::io::copy(&mut reads, &mut writes).await;
    }
}

/// Careless on purpose: everything may be cached publicly, with a session's cookie on it.
/// `/answers/STATUS` answers that status.
async fn answer(State(arrivals): State<Arrivals>, mut request: Request) -> Response {
    let is_socket = request.headers().get(UPGRADE).is_some_and(|to| to == "websocket");
    let upgrade = is_socket.then(|| hyper::upgrade::on(&mut request));
    let accept = request.headers().get("sec-websocket-key").map(accepts);
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, 16 << 20).await.expect("the whole body");
    let path = parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    if path == CROWDS_THE_JAR {
        return Html(CROWD).into_response();
    }
    let visitor = parts.headers.get("x-anteroom-visitor").cloned();
    let status = path.strip_prefix("/answers/").and_then(|status| status.parse().ok());
    let number = {
        let mut arrivals = arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        arrivals.push(Arrival { method: parts.method, path, headers: parts.headers, body });
        arrivals.len()
    };
    if let Some(upgrade) = upgrade {
        tokio::spawn(echo(upgrade));
        return Response::builder()
            .status(101)
            .header("connection", "upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-accept", accept.unwrap_or_default())
            .body(Body::empty())
            .expect("an answer");
    }
    let visitor = visitor.as_ref().and_then(|visitor| visitor.to_str().ok()).unwrap_or("unknown");
    Response::builder()
        .status(status.unwrap_or(200))
        .header("cache-control", "public, max-age=600")
        .header("surrogate-control", "max-age=600")
        .header("cdn-cache-control", "max-age=600")
        .header("expires", "Thu, 01 Jan 2099 00:00:00 GMT")
        .header("set-cookie", format!("session={number}"))
        .body(Body::from(format!("hello {visitor}")))
        .expect("an answer")
}
