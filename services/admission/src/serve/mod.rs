//! The connections of one port: accepted, bounded, timed, and drained.
//!
//! axum's accept loop has none of these bounds, so this one is made from hyper's parts: a client
//! that connects and says nothing, sends its head by drops, takes no answer, or is one too many, is
//! disconnected.
//!
//! On drain everything goes on for `drain_delay`, but each answer says `Connection: close`,
//! so that clients reconnect elsewhere at a time of their own choice. Then no more connections are
//! accepted, idle ones are closed, and requests in flight are answered.

mod activity;
mod client_stream;
mod connections;
mod handshakes;
mod large_head;
mod load_shed;
mod request_body;
mod when_woken;

use std::convert::Infallible;
use std::future::{Future, pending};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use anteroom_runtime::Readiness;
use anteroom_runtime::descriptors::Share;
use axum::response::Response;
use futures_util::FutureExt as _;
use futures_util::future::Either;
use http::header::CONNECTION;
use http::{HeaderValue, Request};
use hyper::body::{Body as _, Incoming};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::activity::{Activity, ConnectionState};
use self::client_stream::ClientStream;
use self::connections::{Connections, Full, LOOK_AGAIN};
use self::handshakes::stop_handshakes;
use self::large_head::Serving;
use self::load_shed::LoadShed;
use self::request_body::request_body;
use self::when_woken::WhenWoken;
use crate::app::App;
use crate::http::extract::Peer;
use crate::http::shell::ResponseFuture;
use crate::ports::PortService;

/// Descriptors ran out, or the like: a pause lets some come free.
const PAUSE: Duration = Duration::from_millis(50);
/// What a client has sent by the end of `drain_delay` has come within this time, and is answered.
/// On a busy machine the kernel, too, is late.
const LAST_LOOK: Duration = Duration::from_millis(250);
/// How long the last connections may take to accept, should new ones keep coming.
const LAST_ACCEPTS: Duration = Duration::from_secs(1);

/// One port that is ready to serve.
pub struct Server {
    listener: TcpListener,
    port: Arc<PortService>,
    app: Arc<App>,
    connections: Arc<Connections>,
    load_shed: LoadShed,
    first_byte_timeout: Duration,
    header_timeout: Duration,
    write_timeout: Duration,
    serving: Serving,
    readiness: Readiness,
    /// The connections that have not ended.
    open: TaskTracker,
}

impl Server {
    /// A port with the bounds of the configuration at the start.
    pub fn new(
        listener: TcpListener,
        port: PortService,
        app: Arc<App>,
        share: Share,
        readiness: Readiness,
    ) -> Self {
        let config = app.live().config.clone();
        let admission = &config.admission;
        let (closed, refused) = (&app.metrics.connections_closed, &app.metrics.connections_refused);
        Self {
            listener,
            port: Arc::new(port),
            connections: Connections::new(share.connections, closed.clone()),
            load_shed: LoadShed::new(share.refusals, refused.clone(), app.retries.clone()),
            first_byte_timeout: admission.first_byte_timeout,
            header_timeout: admission.header_timeout,
            write_timeout: admission.write_timeout,
            serving: Serving::new(),
            readiness,
            open: TaskTracker::new(),
            app,
        }
    }

    /// Serves until the process stops; then requests in flight get `drain_timeout` to end.
    pub async fn run(self) {
        let stop = &self.app.stopping;
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                accepted = self.listener.accept() => self.accepted(accepted).await,
            }
        }
        // Those whose handshake has begun have sent their request, or are about to.
        stop_handshakes(&self.listener);
        accept_last(async || self.accepted(self.listener.accept().await).await).await;
        drop(self.listener);
        self.open.close();
        let drain_timeout = self.app.live().config.admission.drain_timeout;
        if timeout(drain_timeout, self.open.wait()).await.is_err() {
            let connections = self.open.len();
            tracing::warn!(connections, "drain_timeout is over: connections are cut");
        }
    }

    async fn accepted(&self, accepted: std::io::Result<(TcpStream, SocketAddr)>) {
        match accepted {
            Ok((stream, peer)) => self.take(stream, peer).await,
            Err(error) => self.accept_failed(&error).await,
        }
    }

    async fn take(&self, stream: TcpStream, peer: SocketAddr) {
        while let Err(full) = self.connections.make_room() {
            // At the end there is no time to wait for room.
            if full == Full::Served || self.app.stopping.is_cancelled() {
                self.app.operations.record(false);
                return self.load_shed.refuse(stream);
            }
            sleep(LOOK_AGAIN).await;
        }
        // An answer is one small write: waiting to fill a packet would only delay it.
        let _ = stream.set_nodelay(true);
        let activity = Activity::new();
        let service = ConnectionService(Arc::new(ConnectionContext {
            port: self.port.clone(),
            peer: Peer(peer),
            activity: activity.clone(),
            readiness: self.readiness.clone(),
        }));
        let (first_byte, header_timeout) = (self.first_byte_timeout, self.header_timeout);
        let (serving, write_timeout) = (self.serving.clone(), self.write_timeout);
        let stop = self.app.stopping.clone();
        let served = activity.clone();
        let connection = self.open.track_future(async move {
            if !spoke(&stream, first_byte, &stop).await {
                return;
            }
            let stream = ClientStream::new(stream, write_timeout, activity.clone());
            let end = WhenWoken::new(ends(&stop, &activity, header_timeout));
            // An error here is the client's: it went away, took no answer, or spoke no HTTP.
            if let Err(error) = serving.serve(stream, service, end).await {
                tracing::trace!(%error, "connection ended");
            }
        });
        self.connections.open(served, connection);
    }

    async fn accept_failed(&self, error: &std::io::Error) {
        use std::io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
        // The client went away between its call and ours.
        if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
            return;
        }
        tracing::warn!(%error, "cannot accept connections");
        sleep(PAUSE).await;
    }
}

/// Accepts until [`LAST_LOOK`] is over and no connection waits any more, but not for longer than
/// [`LAST_ACCEPTS`].
async fn accept_last(accept: impl AsyncFn()) {
    let last = last_look();
    tokio::pin!(last);
    let all = async {
        loop {
            tokio::select! {
                biased;
                () = accept() => {}
                () = &mut last => break,
            }
        }
    };
    // Whatever still waits is reset.
    let _ = timeout(LAST_ACCEPTS, all).await;
}

/// Whether the client sends anything in time. Until then, hyper's buffers are not allocated.
async fn spoke(stream: &TcpStream, within: Duration, stop: &CancellationToken) -> bool {
    let mut byte = [0; 1];
    tokio::select! {
        // A process that got no processor time looks only when both have happened.
        biased;
        peeked = timeout(within, stream.peek(&mut byte)) => matches!(peeked, Ok(Ok(1))),
        () = stopped(stop) => false,
    }
}

/// The process stops, and what was sent until then has come.
async fn stopped(stop: &CancellationToken) {
    stop.cancelled().await;
    last_look().await;
}

/// Ends after [`LAST_LOOK`], when the runtime has looked at the sockets once more.
///
/// In each round the runtime reads the events of sockets first and timers second. A thread that
/// loses the processor between the two sees that the time is over, but not what came meanwhile. The
/// second timer ends in a later round, so the events of sockets were read again.
async fn last_look() {
    sleep(LAST_LOOK).await;
    sleep(Duration::from_millis(1)).await;
}

/// Why Anteroom ends a connection.
enum End {
    /// The process stops: after the answer in flight.
    Stop,
    /// The client has sent no whole head in time: at once.
    SlowHead,
}

async fn ends(stop: &CancellationToken, activity: &Activity, header_timeout: Duration) -> End {
    tokio::select! {
        () = silent_at_the_end(stop, activity) => End::Stop,
        () = activity.head_timeout(header_timeout) => End::SlowHead,
    }
}

/// Ends when the process stops and nothing has come from the client. One of whom something has come
/// is answered first, and the answer says that it is the last.
async fn silent_at_the_end(stop: &CancellationToken, activity: &Activity) {
    stopped(stop).await;
    if !matches!(activity.state(), ConnectionState::AwaitsHead { begun: false, .. }) {
        pending::<()>().await;
    }
}

/// Gives each request of a connection to the port, with the peer's address.
struct ConnectionService(Arc<ConnectionContext>);

/// What the requests of a connection share.
struct ConnectionContext {
    port: Arc<PortService>,
    peer: Peer,
    activity: Activity,
    readiness: Readiness,
}

impl hyper::service::Service<Request<Incoming>> for ConnectionService {
    type Response = Response;
    type Error = Infallible;
    type Future = ConnectionResponse;

    fn call(&self, request: Request<Incoming>) -> ConnectionResponse {
        let ConnectionContext { port, peer, activity, .. } = &*self.0;
        let answer = if activity.received() {
            port.answer(request.map(|body| request_body(body, activity, &port.in_flight)), *peer)
        } else {
            // The connection was evicted, and its task is about to end.
            Either::Right(pending().boxed())
        };
        ConnectionResponse { answer, context: self.0.clone() }
    }
}

/// An answer that is being made.
struct ConnectionResponse {
    answer: ResponseFuture,
    context: Arc<ConnectionContext>,
}

impl Future for ConnectionResponse {
    type Output = Result<Response, Infallible>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let mut response = ready!(Pin::new(&mut self.answer).poll(task));
        let is_whole = response.body().size_hint().exact().is_some();
        // The end of a stream is not seen here, so its connection ends with it.
        if !is_whole || self.context.readiness.is_draining() {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if is_whole {
            self.context.activity.answered();
        } else {
            self.context.activity.streams();
        }
        Poll::Ready(Ok(response))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::poll;
    use tokio::io::AsyncWriteExt as _;
    use tokio::task::consume_budget;

    use super::*;

    /// The thread is blocked from before the request to after [`LAST_LOOK`].
    #[tokio::test]
    async fn what_came_in_time_is_seen_by_a_process_that_looks_late() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let stop = CancellationToken::new();
        stop.cancel();
        for _ in 0..8 {
            let mut client = TcpStream::connect(address).await.expect("a connection");
            let (stream, _) = listener.accept().await.expect("a connection");
            let mut spoke = std::pin::pin!(spoke(&stream, LAST_ACCEPTS, &stop));
            assert!(poll!(&mut spoke).is_pending());
            client.write_all(b"GET ").await.expect("sent");
            std::thread::sleep(LAST_LOOK * 2);
            assert!(spoke.await);
        }
    }

    /// As in a flood, on a system without the filter of [`stop_handshakes`].
    #[tokio::test]
    async fn connections_that_never_stop_coming_do_not_delay_the_end() {
        let accepted = timeout(20 * LAST_ACCEPTS, accept_last(consume_budget));
        accepted.await.expect("the end");
    }
}
