//! HTTP/1 on one connection, with heads as large as a proxy in front lets through.
//!
//! HTTP/1 only: gateways speak it, and an idle HTTP/2 connection has no time-out that a client's
//! own pings do not reset.
//!
//! hyper parses up to a hundred headers on the stack; room for all that a head can hold would cost
//! each request more than everything else. But its refusal of more, 431, is an error to a gateway,
//! which only knows 200, 401 and 403. So a head that exceeds the usual limits is parsed again with
//! wide ones, and its connection ends with the answer.

use std::pin::{Pin, pin};

use futures_util::FutureExt as _;
use futures_util::future::{Either, FusedFuture, select};
use hyper::server::conn::http1::{Builder, Connection as Http1, Parts};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::client_stream::ClientStream;
use super::{ConnectionService, End};

/// What a head may have usually, in bytes.
const USUAL_HEAD: usize = 32 * 1024;
/// NGINX takes 32 KiB of a client, and adds the address again and headers of its own.
const LARGE_HEAD: usize = 64 * 1024;
/// The shortest header there is: `a:` and the end of its line.
const SHORTEST_HEADER: usize = 4;

/// How a connection is served.
#[derive(Clone)]
pub struct Serving {
    usual: Builder,
    large: Builder,
}

impl Serving {
    /// With the bounds of this module.
    pub fn new() -> Self {
        let mut usual = Builder::new();
        // `Activity` times slow heads out. Answers are short: to copy the body behind the head
        // costs less than two pieces cost the kernel.
        usual.header_read_timeout(None).max_buf_size(USUAL_HEAD).writev(false);
        let mut large = usual.clone();
        large.max_buf_size(LARGE_HEAD).max_headers(LARGE_HEAD / SHORTEST_HEADER).keep_alive(false);
        Self { usual, large }
    }

    /// Serves a connection until its client or `end` ends it.
    pub async fn serve(
        self,
        stream: ClientStream<TcpStream>,
        service: ConnectionService,
        end: impl Future<Output = End>,
    ) -> hyper::Result<()> {
        let mut end = pin!(end.fuse());
        let mut connection = self.usual.serve_connection(TokioIo::new(stream), service);
        let Err(error) = run(&mut connection, end.as_mut()).await else { return Ok(()) };
        let Parts { io, read_buf, service, .. } = connection.into_parts();
        let Some(stream) = io.into_inner().again(read_buf) else { return Err(error) };
        let mut connection = self.large.serve_connection(TokioIo::new(stream), service);
        run(&mut connection, end).await
    }
}

async fn run(
    connection: &mut Http1<TokioIo<ClientStream<TcpStream>>, ConnectionService>,
    end: Pin<&mut impl FusedFuture<Output = End>>,
) -> hyper::Result<()> {
    match select(&mut *connection, end).await {
        Either::Left((ended, _)) => ended,
        Either::Right((End::SlowHead, _)) => {
            tracing::trace!("no whole head in time");
            Ok(())
        }
        Either::Right((End::Stop, _)) => {
            Pin::new(&mut *connection).graceful_shutdown();
            connection.await
        }
    }
}
