//! Small HTTP services with a known ceiling.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// A service; it ends when dropped.
pub struct Service {
    address: SocketAddr,
    connections: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

/// What a service was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    pub method: String,
}

impl Service {
    /// Answers each request with a status and a body.
    pub async fn start<F, A>(answer: F) -> Self
    where
        F: Fn(Asked) -> A + Send + Sync + 'static,
        A: Future<Output = (u16, String)> + Send + 'static,
    {
        Self::start_with(None, answer).await
    }

    /// The same, with TLS if there is somebody to do it.
    pub async fn start_with<F, A>(tls: Option<TlsAcceptor>, answer: F) -> Self
    where
        F: Fn(Asked) -> A + Send + Sync + 'static,
        A: Future<Output = (u16, String)> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicU64::new(0));
        let (answer, counted) = (Arc::new(answer), Arc::clone(&connections));
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                counted.fetch_add(1, SeqCst);
                let answer = Arc::clone(&answer);
                let handler = service_fn(move |request| {
                    let answer = Arc::clone(&answer);
                    async move {
                        let (status, body) = answer(read(request).await).await;
                        let body = Full::new(Bytes::from(body));
                        let answer = Response::builder().status(status).body(body).unwrap();
                        Ok::<_, Infallible>(answer)
                    }
                });
                let (tls, server) = (tls.clone(), http1::Builder::new());
                tokio::spawn(async move {
                    // How it ends is the visitor's to tell.
                    let _ = match tls {
                        None => server.serve_connection(TokioIo::new(stream), handler).await,
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => {
                                server.serve_connection(TokioIo::new(stream), handler).await
                            }
                            Err(_) => Ok(()),
                        },
                    };
                });
            }
        });
        Self { address, connections, task }
    }

    /// Where it answers.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Connections that were made so far.
    pub fn connections(&self) -> u64 {
        self.connections.load(SeqCst)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn read(request: Request<Incoming>) -> Asked {
    let (head, body) = request.into_parts();
    // Who leaves a body unread breaks the connection.
    let _ = body.collect().await;
    Asked { method: head.method.to_string() }
}
