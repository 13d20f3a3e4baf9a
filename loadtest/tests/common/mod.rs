//! What the tests share: the program, what it leaves, and HTTP services.
#![allow(dead_code, clippy::unwrap_used, reason = "no test needs all of it, and fails by panic")]

use std::{
    convert::Infallible,
    net::SocketAddr,
    path::Path,
    process::{Command, Output},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
};

use http_body_util::Full;
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

pub type Answer = Response<Full<Bytes>>;

/// The program with these arguments, between which are spaces.
pub fn program(args: &str) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_anteroom-loadtest"));
    program.args(args.split_whitespace()).env_remove("ANTEROOM_KEY");
    program
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn stderr(output: &Output) -> String {
    text(&output.stderr)
}

/// A file of JSON.
pub fn json(file: impl AsRef<Path>) -> Value {
    let (file, text) = (file.as_ref(), std::fs::read(file.as_ref()));
    let text = text.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_slice(&text).unwrap()
}

pub fn answer(status: u16, body: impl ToString) -> Answer {
    Response::builder().status(status).body(Full::new(body.to_string().into())).unwrap()
}

/// Serves on a free port until the test ends. Returns the address and the number of connections.
pub async fn serve<F, A>(tls: Option<TlsAcceptor>, answer: F) -> (SocketAddr, Arc<AtomicU64>)
where
    F: Fn(Request<Incoming>) -> A + Clone + Send + Sync + 'static,
    A: Future<Output = Answer> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counted.fetch_add(1, SeqCst);
            let (tls, answer) = (tls.clone(), answer.clone());
            let handler = service_fn(move |request| {
                let answer = answer(request);
                async move { Ok::<_, Infallible>(answer.await) }
            });
            tokio::spawn(async move {
                let server = http1::Builder::new();
                // How a connection ends, the program under test reports.
                if let Some(tls) = tls {
                    let Ok(stream) = tls.accept(stream).await else { return };
                    let _ = server.serve_connection(TokioIo::new(stream), handler).await;
                } else {
                    let _ = server.serve_connection(TokioIo::new(stream), handler).await;
                }
            });
        }
    });
    (address, connections)
}
