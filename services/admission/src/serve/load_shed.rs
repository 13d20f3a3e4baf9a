//! Load shedding: the connection past `max_connections`, while all others are being served, gets a
//! 503 and is closed.
//!
//! The answer is written without reading HTTP, in a task that lives a second at most. Past so many
//! such tasks the connection is closed without an answer.

use std::sync::Arc;
use std::time::Duration;

use axum::response::IntoResponse as _;
use http_body_util::BodyExt as _;
use prometheus::IntCounter;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::durations::whole_seconds;
use crate::http::shell::new_id;
use crate::problem::retry::PendingRetries;
use crate::problem::{Code, Problem};

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
    pub fn refuse(&self, mut stream: TcpStream) {
        self.refused.inc();
        let Ok(permit) = self.tasks.clone().try_acquire_owned() else { return };
        let retry_after = self.retries.schedule_anybody();
        tokio::spawn(async move {
            let _permit = permit;
            let refusal = async {
                // Closing with the request unread would reset the connection, and the answer with
                // it.
                let mut head = [0; 4_096];
                let _ = stream.read(&mut head).await?;
                stream.write_all(&answer(retry_after).await).await?;
                stream.shutdown().await
            };
            // Whatever goes wrong here, the connection ends.
            let _ = tokio::time::timeout(TIMEOUT, refusal).await;
        });
    }
}

async fn answer(retry_after: Duration) -> Vec<u8> {
    let problem = Problem::new(Code::OVERLOADED).retry_after(retry_after).into_response();
    let body = problem.into_body().collect().await.map(http_body_util::Collected::to_bytes);
    let body = body.unwrap_or_default();
    let mut answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\n\
         content-length: {}\r\nretry-after: {}\r\ncache-control: no-store\r\n\
         x-request-id: {}\r\nconnection: close\r\n\r\n",
        body.len(),
        whole_seconds(retry_after),
        new_id().to_str().unwrap_or_default(),
    )
    .into_bytes();
    answer.extend_from_slice(&body);
    answer
}

#[cfg(test)]
mod tests {
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
        let body: serde_json::Value = serde_json::from_str(body).expect("JSON");
        assert_eq!(body["code"], "overloaded");
        assert_eq!(refused.get(), 1);
    }
}
