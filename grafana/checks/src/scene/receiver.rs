//! The service that an event's webhook leads to: it issues to most, fails now and then, and refuses
//! a few.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// What it answers, by turns.
const ANSWERS: [&str; 5] = [
    "201 Created",
    "503 Service Unavailable",
    "422 Unprocessable Content",
    "201 Created",
    "409 Conflict",
];

/// A running receiver. It ends with this guard.
pub struct Receiver {
    task: JoinHandle<()>,
    url: String,
}

impl Receiver {
    /// Starts it.
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let task = tokio::spawn(async move {
            for answer in ANSWERS.iter().cycle() {
                let Ok((stream, _)) = listener.accept().await else { return };
                // A caller that breaks off tries again.
                let _ = reply(stream, answer).await;
            }
        });
        Self { task, url: format!("http://{address}/issue") }
    }

    /// Where it takes calls.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reads a request, whose body is one object of JSON, and answers it.
async fn reply(mut stream: TcpStream, answer: &str) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.ends_with(b"}") {
        if stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let head = "content-length: 0\r\nconnection: close\r\n\r\n";
    stream.write_all(format!("HTTP/1.1 {answer}\r\n{head}").as_bytes()).await
}
