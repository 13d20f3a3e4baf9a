//! The metrics port: `/metrics`, `/livez`, `/readyz`, and their description `/openapi.json`.
//!
//! It answers from this process alone: a liveness probe that asked the store would turn an outage
//! of the store into a restart of everything.

use std::{collections::VecDeque, convert::Infallible, net::SocketAddr, time::Duration};

use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use nix::sys::resource::{Resource, getrlimit};
use prometheus::{Registry, TextEncoder};
use tokio::{
    net::{TcpListener, TcpStream},
    task::{self, JoinHandle},
    time::{Instant, sleep, sleep_until},
};

use crate::{Readiness, listen};

/// From the connection, or the last answer, to the end of the next head.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// Enough for probes and a few scrapers. Past it the oldest connection is evicted, so that a client
/// with many connections cannot lock the probes out.
const MAX_CONNECTIONS: usize = 192;

/// At most an eighth of the descriptors too: admission keeps a quarter of them, up to 256, for this
/// port, the store and files.
fn most_connections() -> usize {
    let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX, |(soft, _)| soft);
    usize::try_from(limit / 8).map_or(MAX_CONNECTIONS, |eighth| eighth.min(MAX_CONNECTIONS))
}

/// A connection this young is not evicted, so that it can send its request. While all are that
/// young, the next ones wait in the backlog.
const GRACE: Duration = Duration::from_millis(250);

/// Everything that it answers.
const PATHS: [&str; 4] = ["/metrics", "/livez", "/readyz", "/openapi.json"];
/// The same, described.
const OPENAPI: &str = include_str!("metrics_port.json");

/// What the port answers from.
#[derive(Clone)]
pub(crate) struct MetricsPort {
    registry: Registry,
    readiness: Readiness,
}

/// When each open connection was opened, and its task; the oldest is in front. An answer is made at
/// once, so all of them are idle.
#[derive(Default)]
struct Connections(VecDeque<(Instant, JoinHandle<()>)>);

impl MetricsPort {
    pub fn new(registry: Registry, readiness: Readiness) -> Self {
        Self { registry, readiness }
    }

    /// Binds the address, and serves it until the task is dropped.
    pub fn bind(
        self,
        address: SocketAddr,
    ) -> std::io::Result<(SocketAddr, impl Future<Output = Infallible>)> {
        let listener = listen(address)?;
        Ok((listener.local_addr()?, self.serve(listener)))
    }

    async fn serve(self, listener: TcpListener) -> Infallible {
        let mut open = Connections::default();
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    open.evict(most_connections()).await;
                    let task = tokio::spawn(self.clone().serve_connection(stream));
                    open.0.push_back((Instant::now(), task));
                }
                // Most likely there are no descriptors left; this frees one.
                Err(_) if open.evict(1).await => {}
                Err(error) => {
                    tracing::warn!(%error, "the metrics port cannot accept connections");
                    sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    async fn serve_connection(self, stream: TcpStream) {
        let answer = service_fn(move |request: Request<Incoming>| {
            let port = self.clone();
            async move {
                // Pipelined requests give way to those of all other connections.
                task::yield_now().await;
                let mut response = port.answer(request.method(), request.uri().path());
                if port.readiness.is_draining() {
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                }
                Ok::<_, Infallible>(response)
            }
        });
        // An error here is the client's: it broke off, or was too slow.
        let _ = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADER_TIMEOUT)
            .max_buf_size(16 * 1024)
            .serve_connection(TokioIo::new(stream), answer)
            .await;
    }

    fn answer(&self, method: &Method, path: &str) -> Response<Full<Bytes>> {
        if !PATHS.contains(&path) {
            return problem(StatusCode::NOT_FOUND, "not_found", "no such path on this port");
        }
        if method != Method::GET && method != Method::HEAD {
            let code = StatusCode::METHOD_NOT_ALLOWED;
            let mut response = problem(code, "method_not_allowed", "only GET and HEAD");
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        match path {
            "/metrics" => match TextEncoder::new().encode_to_string(&self.registry.gather()) {
                Ok(body) => text(StatusCode::OK, prometheus::TEXT_FORMAT, body),
                Err(error) => {
                    tracing::error!(%error, "the metrics cannot be written");
                    let code = StatusCode::INTERNAL_SERVER_ERROR;
                    problem(code, "internal", "the metrics cannot be written")
                }
            },
            "/openapi.json" => text(StatusCode::OK, "application/json", OPENAPI.to_owned()),
            "/livez" => text(StatusCode::OK, PLAIN, "alive\n".to_owned()),
            _ => match self.readiness.reason() {
                None => text(StatusCode::OK, PLAIN, "ready\n".to_owned()),
                Some(reason) => text(StatusCode::SERVICE_UNAVAILABLE, PLAIN, format!("{reason}\n")),
            },
        }
    }
}

impl Connections {
    /// Closes the oldest one, when it is not young any more, if `most` or more are open. Returns
    /// whether it did.
    async fn evict(&mut self, most: usize) -> bool {
        self.0.retain(|(_, task)| !task.is_finished());
        if self.0.len() < most {
            return false;
        }
        let Some((opened, task)) = self.0.pop_front() else { return false };
        sleep_until(opened + GRACE).await;
        task.abort();
        // Its descriptor is free when it has ended.
        let _ = task.await;
        true
    }
}

const PLAIN: &str = "text/plain; charset=utf-8";

fn text(status: StatusCode, kind: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// An error as RFC 9457 wants it, of the same types as those of admission's ports.
fn problem(status: StatusCode, code: &str, detail: &str) -> Response<Full<Bytes>> {
    let body = serde_json::json!({
        "type": format!("urn:anteroom:problem:{code}"),
        "title": status.canonical_reason().unwrap_or_default(),
        "status": status.as_u16(),
        "code": code,
        "detail": detail,
    });
    text(status, "application/problem+json", body.to_string())
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    struct Bound {
        address: SocketAddr,
        readiness: Readiness,
        counter: prometheus::IntCounter,
    }

    async fn bound() -> Bound {
        let readiness = Readiness::new();
        let registry = Registry::new();
        let counter = prometheus::IntCounter::new("anteroom_test_total", "A test").expect("valid");
        registry.register(Box::new(counter.clone())).expect("fresh");
        let port = MetricsPort::new(registry, readiness.clone());
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let (address, serving) = port.bind(any).expect("a free port");
        tokio::spawn(serving);
        Bound { address, readiness, counter }
    }

    impl Bound {
        async fn ask(&self, method: &str, path: &str) -> String {
            let head = format!("{method} {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
            self.send(&head).await
        }

        async fn send(&self, bytes: &str) -> String {
            let mut stream = TcpStream::connect(self.address).await.expect("it listens");
            stream.write_all(bytes.as_bytes()).await.expect("written");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.expect("text");
            answer
        }
    }

    #[tokio::test]
    async fn answers_probes_and_scrapers() {
        let port = bound().await;
        let answer = port.ask("GET", "/readyz").await;
        assert!(answer.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{answer}");
        assert!(answer.ends_with("\r\n\r\nstart: the service is starting\n"), "{answer}");
        assert!(port.ask("GET", "/livez").await.starts_with("HTTP/1.1 200 OK\r\n"));
        port.readiness.started();
        assert!(port.ask("GET", "/readyz?verbose").await.ends_with("\r\n\r\nready\n"));
        let answer = port.ask("GET", "/metrics").await;
        assert!(answer.contains("content-type: text/plain; version=0.0.4"), "{answer}");
        assert!(answer.contains("cache-control: no-store"), "{answer}");
        assert!(answer.ends_with("anteroom_test_total 0\n"), "{answer}");
        let answer = port.ask("HEAD", "/livez").await;
        assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("\r\n\r\n"), "{answer}");
    }

    #[tokio::test]
    async fn on_the_way_out_each_answer_is_the_last_of_its_connection() {
        let port = bound().await;
        port.readiness.started();
        port.readiness.drain();
        for path in ["/readyz", "/livez", "/metrics", "/none"] {
            let answer = port.send(&format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n")).await;
            assert!(answer.contains("connection: close\r\n"), "{answer}");
        }
        assert!(port.ask("GET", "/readyz").await.ends_with("drain: shutting down\n"));
    }

    #[tokio::test]
    async fn between_two_answers_everybody_else_has_a_turn() {
        let port = bound().await;
        let counter = port.counter.clone();
        let other = tokio::spawn(async move {
            loop {
                counter.inc();
                task::yield_now().await;
            }
        });
        let one = "GET /metrics HTTP/1.1\r\nhost: a\r\n";
        let many = format!("{one}\r\n").repeat(20);
        let answers = port.send(&format!("{many}{one}connection: close\r\n\r\n")).await;
        other.abort();
        let turns = answers.lines().filter_map(|line| line.strip_prefix("anteroom_test_total "));
        let turns: Vec<f64> = turns.map(|turn| turn.parse().expect("a number")).collect();
        assert_eq!(turns.len(), 21);
        let moved = turns.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!(moved >= 9, "answers between turns: {turns:?}");
    }

    #[tokio::test]
    async fn past_the_cap_the_oldest_is_evicted() {
        let port = bound().await;
        let connect = || async { TcpStream::connect(port.address).await.expect("it listens") };
        let (mut oldest, mut next) = (connect().await, connect().await);
        let mut others = Vec::new();
        for _ in 2..=most_connections() {
            others.push(connect().await);
        }
        assert_eq!(oldest.read(&mut [0]).await.expect("an end"), 0);
        next.write_all(b"HEAD /livez HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("it is open");
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            assert_ne!(next.read_buf(&mut answer).await.expect("it is open"), 0);
        }
    }

    #[tokio::test]
    async fn refuses_the_rest_as_problems() {
        let port = bound().await;
        for (method, path, status, code) in [
            ("GET", "/", "404 Not Found", "not_found"),
            ("POST", "/v1", "404 Not Found", "not_found"),
            ("POST", "/metrics", "405 Method Not Allowed", "method_not_allowed"),
        ] {
            let answer = port.ask(method, path).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{answer}");
            assert!(answer.contains("content-type: application/problem+json"), "{answer}");
            assert!(answer.contains(&format!("\"code\":\"{code}\"")), "{answer}");
            let problem = format!("\"type\":\"urn:anteroom:problem:{code}\"");
            assert!(answer.contains(&problem), "{answer}");
        }
        assert!(port.ask("PUT", "/livez").await.contains("allow: GET, HEAD"));
    }

    #[tokio::test]
    async fn the_description_is_true() {
        let port = bound().await;
        let answer = port.ask("GET", "/openapi.json").await;
        let (_, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        let document: serde_json::Value = serde_json::from_str(body).expect("JSON");
        let paths = document["paths"].as_object().expect("paths");
        assert!(paths.keys().all(|path| PATHS.contains(&path.as_str())));
        assert_eq!(paths.len(), PATHS.len());
        for (path, description) in paths {
            for method in ["GET", "DELETE"] {
                let answer = port.ask(method, path).await;
                let (status, head) = (&answer[9..12], answer.to_ascii_lowercase());
                let mut response = &description["get"]["responses"][status];
                if let Some(name) = response["$ref"].as_str() {
                    response = document.pointer(name.trim_start_matches('#')).expect("defined");
                }
                let kind = response["content"].as_object().and_then(|kinds| kinds.keys().next());
                let kind = kind.unwrap_or_else(|| panic!("{method} {path}: {status}"));
                assert!(head.contains(&format!("content-type: {kind}")), "{answer}");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_head_is_cut() {
        let port = bound().await;
        // Time is paused: it moves on as soon as everybody waits.
        assert_eq!(port.send("GET /livez HTT").await, "");
        assert_eq!(port.send("").await, "");
    }
}
