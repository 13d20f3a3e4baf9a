//! Connections: accepted, bounded, timed, and ended when the requests on them are answered.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::App;

/// More wait to be accepted.
const MAX_CONNECTIONS: usize = 20_000;
/// For a head to arrive, and for an idle connection to be used: more than the 60 s after which
/// gateways let go of one.
const HEAD_TIMEOUT: Duration = Duration::from_secs(75);
/// Of a request's head.
const MAX_HEAD: usize = 16 << 10;
/// Descriptors ran out, or the like: a pause lets some come free.
const PAUSE: Duration = Duration::from_millis(50);
/// For the requests that are being worked on at the end.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// Serves until the app is to end, and for `drain_delay` after that; then answers what has
/// come.
pub async fn serve(listener: TcpListener, app: Arc<App>, drain_delay: Duration) {
    let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let graceful = GracefulShutdown::new();
    let end = async {
        app.ending.cancelled().await;
        sleep(drain_delay).await;
    };
    let mut end = std::pin::pin!(end);
    loop {
        let accept = async {
            // It is never closed.
            let permit = connections.clone().acquire_owned().await.ok();
            (permit, listener.accept().await)
        };
        let (permit, accepted) = tokio::select! {
            () = &mut end => break,
            accepted = accept => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(PAUSE).await;
                continue;
            }
        };
        // An answer goes out as it is, without waiting for more.
        let _ = stream.set_nodelay(true);
        let app = app.clone();
        let service = service_fn(move |request| {
            let app = app.clone();
            async move { Ok::<_, Infallible>(app.handle(request).await.map(Full::new)) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_buf_size(MAX_HEAD)
            .serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // What breaks a connection is the client's.
            let _ = connection.await;
            drop(permit);
        });
    }
    drop(listener);
    app.tasks.close();
    let drained = async {
        graceful.shutdown().await;
        app.tasks.wait().await;
    };
    if timeout(DRAIN_TIMEOUT, drained).await.is_err() {
        tracing::warn!("some requests were not answered in time");
    }
}
