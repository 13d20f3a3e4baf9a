//! The connections of one port: accepted, bounded, timed, and drained.
//!
//! The framework's own accept loop has none of these bounds, so this one is made from its parts: a
//! client that connects and says nothing, sends its head by drops, takes no answer, or is one too
//! many, is let go.

mod crowded;
mod write_timeout;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anteroom_runtime::config::AdmissionConfig;
use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tower::Service as _;

use self::crowded::Crowded;
use self::write_timeout::WriteTimeout;
use crate::app::App;
use crate::http::extract::Peer;

/// Descriptors ran out, or the like: a pause lets some come free.
const PAUSE: Duration = Duration::from_millis(50);

/// One port that is ready to serve.
pub struct Server {
    listener: TcpListener,
    router: Router,
    app: Arc<App>,
    connections: Arc<Semaphore>,
    crowded: Crowded,
    first_byte_timeout: Duration,
    write_timeout: Duration,
    builder: http1::Builder,
}

impl Server {
    /// A port with the bounds of the configuration at the start.
    pub fn new(listener: TcpListener, router: Router, app: Arc<App>) -> Self {
        let config = app.live().config.clone();
        let admission = &config.admission;
        Self {
            listener,
            router,
            connections: Arc::new(Semaphore::new(admission.max_connections)),
            crowded: Crowded::new(app.metrics.connections_refused.clone()),
            first_byte_timeout: admission.first_byte_timeout,
            write_timeout: admission.write_timeout,
            builder: builder(admission),
            app,
        }
    }

    /// Serves until the process stops; then requests under way get `drain_timeout` to end.
    pub async fn run(self) {
        let stop = &self.app.stopping;
        let graceful = GracefulShutdown::new();
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, peer)) => self.take(stream, peer, &graceful),
                    Err(error) => self.accept_failed(&error).await,
                },
            }
        }
        drop(self.listener);
        let left = graceful.count();
        let drain_timeout = self.app.live().config.admission.drain_timeout;
        if tokio::time::timeout(drain_timeout, graceful.shutdown()).await.is_err() {
            tracing::warn!(connections = left, "drain_timeout is over: connections are cut");
        }
    }

    fn take(&self, stream: TcpStream, peer: SocketAddr, graceful: &GracefulShutdown) {
        let Ok(permit) = self.connections.clone().try_acquire_owned() else {
            self.app.operations.record(false);
            return self.crowded.turn_away(stream);
        };
        // An answer is one small write: waiting to fill a packet would only delay it.
        let _ = stream.set_nodelay(true);
        let service = Connection { router: self.router.clone(), peer: Peer(peer) };
        let (builder, watcher) = (self.builder.clone(), graceful.watcher());
        let (first_byte, write_timeout) = (self.first_byte_timeout, self.write_timeout);
        let stop = self.app.stopping.clone();
        tokio::spawn(async move {
            let _permit: OwnedSemaphorePermit = permit;
            if !spoke(&stream, first_byte, &stop).await {
                return;
            }
            let io = TokioIo::new(WriteTimeout::new(stream, write_timeout));
            let connection = builder.serve_connection(io, service);
            // An error here is the client's: it went away, was too slow, or spoke no HTTP.
            if let Err(error) = watcher.watch(connection).await {
                tracing::trace!(%error, "connection ended");
            }
        });
    }

    async fn accept_failed(&self, error: &std::io::Error) {
        use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
        // The client went away between its call and ours.
        if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
            return;
        }
        tracing::warn!(%error, "cannot accept connections");
        tokio::time::sleep(PAUSE).await;
    }
}

/// Whether the client sends anything in time. The protocol is told from the first bytes, and that
/// wait has no time-out of its own.
async fn spoke(stream: &TcpStream, within: Duration, stop: &CancellationToken) -> bool {
    let mut byte = [0; 1];
    tokio::select! {
        () = stop.cancelled() => false,
        peeked = tokio::time::timeout(within, stream.peek(&mut byte)) => {
            matches!(peeked, Ok(Ok(1)))
        }
    }
}

/// HTTP/1 only: gateways speak it, and an idle HTTP/2 connection has no time-out that a client's own
/// pings do not reset.
fn builder(config: &AdmissionConfig) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(config.header_timeout)
        .max_buf_size(32 * 1024);
    builder
}

/// Gives each request of a connection to the router, with the peer's address.
struct Connection {
    router: Router,
    peer: Peer,
}

impl hyper::service::Service<Request<Incoming>> for Connection {
    type Response = Response;
    type Error = Infallible;
    type Future = axum::routing::future::RouteFuture<Infallible>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(self.peer);
        // A router is always ready, and its clone is a counted reference.
        self.router.clone().call(request)
    }
}
