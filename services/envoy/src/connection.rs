//! The connections of the port: not more than the process has descriptors for, and none that is
//! silent. Answers that are ready at the same time share a write.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::{Stream, stream};
use tokio::io::{AsyncRead, AsyncWrite, BufWriter, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_io_timeout::TimeoutStream;
use tonic::transport::server::Connected;

/// How often an idle connection must show that its other end is still there.
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
/// So long a connection may send nothing: it has missed an answer to the keepalive, or never was
/// HTTP/2.
const SILENCE: Duration = Duration::from_secs(60);
/// After a failure to accept, such as no descriptor being left.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// A connection, and its part of the most that there may be.
pub struct Connection {
    stream: Pin<Box<BufWriter<TimeoutStream<TcpStream>>>>,
    /// Whether other tasks have had their turn since the first of what is to be written.
    has_yielded: bool,
    _permit: OwnedSemaphorePermit,
}

/// The connections that come. Past the most, others wait until one ends.
pub fn incoming(listener: TcpListener, most: usize) -> impl Stream<Item = io::Result<Connection>> {
    let permits = Arc::new(Semaphore::new(most));
    stream::unfold((listener, permits), async |(listener, permits)| {
        // Never closed.
        let permit = permits.clone().acquire_owned().await.ok()?;
        let stream = accept(&listener).await;
        // Answers are small. A connection that refuses this is about to end.
        let _ = stream.set_nodelay(true);
        let mut stream = TimeoutStream::new(stream);
        stream.set_read_timeout(Some(SILENCE));
        let stream = Box::pin(BufWriter::new(stream));
        let connection = Connection { stream, has_yielded: false, _permit: permit };
        Some((Ok(connection), (listener, permits)))
    })
}

/// The next connection. Without a pause after a failure, a full process would only try to accept.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => {
                tracing::debug!(%error, "no connection accepted");
                tokio::time::sleep(ACCEPT_AGAIN).await;
            }
        }
    }
}

impl Connected for Connection {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_read(task, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.stream.as_mut().poll_write(task, bytes)
    }

    /// One call of Redis answers many callers, who are ready one after the other. A write for each
    /// would take a quarter of the processor time.
    fn poll_flush(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.has_yielded && !self.stream.buffer().is_empty() {
            self.has_yielded = true;
            task.waker().wake_by_ref();
            return Poll::Pending;
        }
        let flushed = ready!(self.stream.as_mut().poll_flush(task));
        self.has_yielded = false;
        Poll::Ready(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_shutdown(task)
    }
}
