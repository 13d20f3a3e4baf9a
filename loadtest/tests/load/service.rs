//! Small HTTP services with a known ceiling.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

use http_body_util::BodyExt as _;
use hyper::{Method, Request, body::Incoming};
use tokio_rustls::TlsAcceptor;

use super::common;

/// A service, which answers until the test ends.
pub struct Service {
    address: SocketAddr,
    connections: Arc<AtomicU64>,
}

impl Service {
    /// Answers each request with a status and a body.
    pub async fn start<F, A>(answer: F) -> Self
    where
        F: Fn(Method) -> A + Send + Sync + 'static,
        A: Future<Output = (u16, String)> + Send + 'static,
    {
        Self::start_with(None, answer).await
    }

    /// Answers each request with this status after this time.
    pub async fn slow(time: Duration, status: u16) -> Self {
        Self::start(move |_| async move {
            tokio::time::sleep(time).await;
            (status, String::new())
        })
        .await
    }

    /// The same as [`start`](Self::start), behind TLS if it is given.
    pub async fn start_with<F, A>(tls: Option<TlsAcceptor>, answer: F) -> Self
    where
        F: Fn(Method) -> A + Send + Sync + 'static,
        A: Future<Output = (u16, String)> + Send + 'static,
    {
        let answer = Arc::new(answer);
        let answer = move |request: Request<Incoming>| {
            let answer = Arc::clone(&answer);
            async move {
                let (head, body) = request.into_parts();
                // A body that is not read breaks the connection.
                let _ = body.collect().await;
                let (status, body) = answer(head.method).await;
                common::answer(status, body)
            }
        };
        let (address, connections) = common::serve(tls, answer).await;
        Self { address, connections }
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
