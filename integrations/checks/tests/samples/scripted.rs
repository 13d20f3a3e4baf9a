//! A gateway check that answers as a test wants, for what the real one does not do.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// What happens to one request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A status, and lines of headers.
    Status(u16, &'static [&'static str]),
    /// The connection breaks.
    Break,
    /// No answer, and the connection stays open.
    Silence,
    /// A 200 whose body comes byte by byte, and takes longer than a try.
    Trickle,
}

/// A server that answers from a list. It ends with this guard.
pub struct Scripted {
    pub url: String,
    state: Arc<State>,
    _tasks: JoinSet<()>,
}

#[derive(Default)]
struct State {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<String>>,
}

impl Scripted {
    pub async fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::<State>::default();
        let shared = state.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, shared.clone()));
            }
        });
        Self { url, state, _tasks: tasks }
    }

    /// What comes next.
    pub fn replies(&self, replies: &[Reply]) {
        *self.state.replies.lock().unwrap() = replies.iter().cloned().collect();
    }

    /// The heads of the requests since the last call.
    pub fn requests(&self) -> Vec<String> {
        std::mem::take(&mut *self.state.requests.lock().unwrap())
    }
}

async fn serve(mut stream: TcpStream, state: Arc<State>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let Ok(byte) = stream.read_u8().await else { return };
        head.push(byte);
    }
    state.requests.lock().unwrap().push(String::from_utf8(head).unwrap());
    let reply = state.replies.lock().unwrap().pop_front();
    match reply {
        Some(Reply::Status(status, headers)) => {
            let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
            let empty = if status == 204 { "" } else { "content-length: 0\r\n" };
            let answer =
                format!("HTTP/1.1 {status} Scripted\r\n{headers}{empty}connection: close\r\n\r\n");
            // An error is a client that has gone.
            let _ = stream.write_all(answer.as_bytes()).await;
        }
        Some(Reply::Break) => {}
        Some(Reply::Trickle) => {
            let head = "HTTP/1.1 200 Scripted\r\ncontent-length: 40\r\n\r\n";
            let mut written = stream.write_all(head.as_bytes()).await;
            for _ in 0..40 {
                if written.is_err() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
                written = stream.write_all(b" ").await;
            }
        }
        Some(Reply::Silence) => std::future::pending().await,
        // The test then finds one request too many.
        None => {}
    }
}
