//! Load shedding: the connection past `max_connections`, while all others are being served, gets a
//! 503 and is closed.
//!
//! Its task lives a second at most. Past so many such tasks the connection is closed without an
//! answer.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use anteroom_authorize::problem::retry::PendingRetries;
use anteroom_authorize::problem::{Code, Problem};
use axum::response::{IntoResponse as _, Response};
use http::Request;
use http::header::{CACHE_CONTROL, HeaderValue};
use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use prometheus::IntCounter;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::http::shell::{REQUEST_ID, new_id};

/// The longest that one refusal may take.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Refuses connections.
pub struct LoadShed {
    tasks: Arc<Semaphore>,
    refused: IntCounter,
    retries: Arc<PendingRetries>,
}

impl LoadShed {
    /// Answers at most so many at a time, and counts all in `refused`.
    pub fn new(most: usize, refused: IntCounter, retries: Arc<PendingRetries>) -> Self {
        Self { tasks: Arc::new(Semaphore::new(most)), refused, retries }
    }

    /// Answers 503 and closes.
    pub fn refuse(&self, stream: TcpStream) {
        self.refused.inc();
        let Ok(permit) = self.tasks.clone().try_acquire_owned() else { return };
        let retry_after = self.retries.schedule_default();
        tokio::spawn(async move {
            let _permit = permit;
            let service = service_fn(async |_: Request<Incoming>| refusal(retry_after));
            let mut http = Builder::new();
            let http = http.header_read_timeout(None).keep_alive(false);
            // Whatever goes wrong here, the connection ends.
            let _ = timeout(TIMEOUT, http.serve_connection(TokioIo::new(stream), service)).await;
        });
    }
}

fn refusal(retry_after: Duration) -> Result<Response, Infallible> {
    let problem = Problem::new(Code::OVERLOADED).retry_after(retry_after);
    let mut response = problem.into_response();
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REQUEST_ID, new_id());
    Ok(response)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn the_answer_is_a_whole_problem() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut client = TcpStream::connect(address).await.expect("a connection");
        let (stream, _) = listener.accept().await.expect("a connection");
        let refused = IntCounter::new("refused", "refused").expect("a name");
        LoadShed::new(1, refused.clone(), Arc::default()).refuse(stream);
        client.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.expect("sent");
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        assert!(head.starts_with("HTTP/1.1 503 "), "{head}");
        let after = head.split("retry-after: ").nth(1).and_then(|rest| rest.split("\r\n").next());
        let after: u64 = after.and_then(|after| after.parse().ok()).expect("seconds");
        assert!((1..=15).contains(&after), "{head}");
        assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{head}");
        for header in ["cache-control: no-store\r\n", "x-request-id: ", "connection: close\r\n"] {
            assert!(head.contains(header), "{head}");
        }
        let body: serde_json::Value = serde_json::from_str(body).expect("JSON");
        assert_eq!(body["code"], "overloaded");
        assert_eq!(refused.get(), 1);
    }
}
