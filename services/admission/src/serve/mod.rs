//! The connections of one port: accepted, bounded, timed, and drained.
//!
//! The framework's own accept loop has none of these bounds, so this one is made from its parts: a
//! client that connects and says nothing, sends its head by drops, takes no answer, or is one too
//! many, is let go.

mod awaited;
mod connections;
mod crowded;
pub mod descriptors;
mod idle;
mod write_timeout;

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::response::Response;
use http::header::CONNECTION;
use http::{HeaderValue, Request};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use self::awaited::awaited;
use self::connections::{Connections, Full};
use self::crowded::Crowded;
use self::descriptors::Share;
use self::idle::Idle;
use self::write_timeout::WriteTimeout;
use crate::app::App;
use crate::http::Port;
use crate::http::extract::Peer;
use crate::http::shell::Answering;

/// Descriptors ran out, or the like: a pause lets some come free.
const PAUSE: Duration = Duration::from_millis(50);
/// When to ask again for room.
const SOON: Duration = Duration::from_millis(5);

/// One port that is ready to serve.
pub struct Server {
    listener: TcpListener,
    port: Arc<Port>,
    app: Arc<App>,
    connections: Arc<Connections>,
    crowded: Crowded,
    first_byte_timeout: Duration,
    header_timeout: Duration,
    write_timeout: Duration,
    builder: http1::Builder,
}

impl Server {
    /// A port with the bounds of the configuration at the start.
    pub fn new(listener: TcpListener, port: Port, app: Arc<App>, share: Share) -> Self {
        let config = app.live().config.clone();
        let admission = &config.admission;
        let (closed, refused) = (&app.metrics.connections_closed, &app.metrics.connections_refused);
        Self {
            listener,
            port: Arc::new(port),
            connections: Connections::new(share.connections, closed.clone()),
            crowded: Crowded::new(share.farewells, refused.clone(), app.returning.clone()),
            first_byte_timeout: admission.first_byte_timeout,
            header_timeout: admission.header_timeout,
            write_timeout: admission.write_timeout,
            builder: builder(),
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
                    Ok((stream, peer)) => self.take(stream, peer, &graceful).await,
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

    async fn take(&self, stream: TcpStream, peer: SocketAddr, graceful: &GracefulShutdown) {
        let place = loop {
            match self.connections.enter() {
                Ok(place) => break place,
                Err(Full::Soon) => tokio::time::sleep(SOON).await,
                Err(Full::Served) => {
                    self.app.operations.record(false);
                    return self.crowded.turn_away(stream);
                }
            }
        };
        // An answer is one small write: waiting to fill a packet would only delay it.
        let _ = stream.set_nodelay(true);
        let idle = place.idle.clone();
        let service = Connection { port: self.port.clone(), peer: Peer(peer), idle: idle.clone() };
        let (builder, watcher) = (self.builder.clone(), graceful.watcher());
        let (first_byte, write_timeout) = (self.first_byte_timeout, self.write_timeout);
        let header_timeout = self.header_timeout;
        let stop = self.app.stopping.clone();
        place.serve(async move {
            if !spoke(&stream, first_byte, &stop).await {
                return;
            }
            let io = TokioIo::new(WriteTimeout::new(stream, write_timeout));
            let connection = builder.serve_connection(io, service);
            tokio::select! {
                // An error here is the client's: it went away, took no answer, or spoke no HTTP.
                ended = watcher.watch(connection) => if let Err(error) = ended {
                    tracing::trace!(%error, "connection ended");
                },
                () = idle.too_long(header_timeout) => tracing::trace!("no whole head in time"),
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
fn builder() -> http1::Builder {
    let mut builder = http1::Builder::new();
    // `Idle` sees to slow heads. Answers are short: to copy the body behind the head costs less than two
    // pieces cost the kernel.
    builder.header_read_timeout(None).max_buf_size(32 * 1024).writev(false);
    builder
}

/// Gives each request of a connection to the port, with the peer's address.
struct Connection {
    port: Arc<Port>,
    peer: Peer,
    idle: Idle,
}

impl hyper::service::Service<Request<Incoming>> for Connection {
    type Response = Response;
    type Error = Infallible;
    type Future = Answered;

    fn call(&self, request: Request<Incoming>) -> Answered {
        if !self.idle.over() {
            // The connection has to go, and its task is about to end.
            return Answered { answering: Answering::Now(None), idle: self.idle.clone() };
        }
        let request = request.map(|body| awaited(body, &self.idle, &self.port.under_way));
        Answered { answering: self.port.answer(request, self.peer), idle: self.idle.clone() }
    }
}

/// An answer that is being made.
struct Answered {
    answering: Answering,
    idle: Idle,
}

impl Future for Answered {
    type Output = Result<Response, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut response = ready!(Pin::new(&mut self.answering).poll(context));
        if response.body().size_hint().exact().is_some() {
            self.idle.begin();
        } else {
            // Nobody tells when a stream has ended: its connection ends with it.
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        Poll::Ready(Ok(response))
    }
}
