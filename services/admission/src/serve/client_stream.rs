//! The bytes of one connection, between the socket and hyper.
//!
//! Three things are seen here that hyper does not show. Whether anything has come since the last
//! answer. That a client which has shut down its sending side still wants the answer to what it has
//! sent: the end is kept back until the answer is there, for hyper would drop the request; where a
//! body is awaited, until its handler has seen what came before. And that a head is too large for
//! hyper's usual bounds (see [`super::large_head`]).

use std::future::Future as _;
use std::io::{Error, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};
use tokio_io_timeout::TimeoutWriter;

use super::activity::{Activity, ConnectionState};

/// How long a handler may take to see the rest of a body that has come. Only where the body was cut
/// off does anybody wait for so long.
const UNSEEN: Duration = Duration::from_millis(100);

/// A connection's bytes.
#[derive(Debug)]
pub struct ClientStream<S> {
    /// A write that makes no progress for long fails, and the connection with it.
    stream: Pin<Box<TimeoutWriter<S>>>,
    activity: Activity,
    /// What is read before anything else.
    unread: Bytes,
    /// The client has shut down its sending side, and that was kept back.
    kept_end: bool,
    /// Until when it is kept back for a body that may be whole, unseen by its handler.
    unseen_body: Option<Pin<Box<Sleep>>>,
    large_head: LargeHead,
}

/// Whether a head was too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LargeHead {
    /// None was.
    No,
    /// One was, and has not been refused yet.
    Met,
    /// The bounds are those of large heads: what passes these is refused.
    Refused,
}

impl<S: AsyncRead + AsyncWrite + Unpin> ClientStream<S> {
    /// The bytes of `stream`, of which each write may take `write_timeout`.
    pub fn new(stream: S, write_timeout: Duration, activity: Activity) -> Self {
        let mut stream = TimeoutWriter::new(stream);
        stream.set_timeout(Some(write_timeout));
        Self {
            stream: Box::pin(stream),
            activity,
            unread: Bytes::new(),
            kept_end: false,
            unseen_body: None,
            large_head: LargeHead::No,
        }
    }

    /// The same from `read` on, for a second parse, if it ended at a head that is too large.
    pub fn again(self, read: Bytes) -> Option<Self> {
        let met = self.large_head == LargeHead::Met;
        met.then(|| Self { unread: read, large_head: LargeHead::Refused, ..self })
    }

    /// Whether what is awaited may have come, with the end behind it.
    fn may_have_unseen_body(&mut self, context: &mut Context<'_>) -> bool {
        if !matches!(self.activity.state(), ConnectionState::AwaitsBody { .. }) {
            return false;
        }
        let unseen = self.unseen_body.get_or_insert_with(|| Box::pin(sleep(UNSEEN)));
        unseen.as_mut().poll(context).is_pending()
    }
}

/// hyper's own answer to a head past its bounds; none of ours has this status.
fn is_431(answer: &[u8]) -> bool {
    answer.starts_with(b"HTTP/1.") && answer.get(8..13) == Some(b" 431 ")
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for ClientStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        if !self.unread.is_empty() {
            let most = self.unread.len().min(buffer.remaining());
            buffer.put_slice(&self.unread.split_to(most));
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        ready!(self.stream.as_mut().poll_read(context, buffer))?;
        if buffer.filled().len() > before {
            self.activity.heard();
        } else if self.activity.state() == ConnectionState::Busy
            || self.may_have_unseen_body(context)
        {
            self.kept_end = true;
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for ClientStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        if is_431(bytes) && self.large_head != LargeHead::Refused {
            self.large_head = LargeHead::Met;
            return Poll::Ready(Err(Error::other("a large head")));
        }
        if self.kept_end {
            // The answer is there: now the end may be read.
            self.kept_end = false;
            context.waker().wake_by_ref();
        }
        self.stream.as_mut().poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        self.stream.as_mut().poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        // Then all that is written passes `poll_write`.
        false
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.stream.as_mut().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.stream.as_mut().poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use futures_util::FutureExt as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
    use tokio::time::{Instant, sleep};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(1);

    /// A client that has said all and shut down its sending side, while it is answered.
    fn half_closed_behind_a_request() -> (ClientStream<DuplexStream>, Activity) {
        let (client, server) = duplex(64);
        let activity = Activity::new();
        let stream = ClientStream::new(server, LIMIT, activity.clone());
        drop(client);
        assert!(activity.received());
        (stream, activity)
    }

    #[tokio::test]
    async fn the_end_is_kept_back_while_an_answer_is_being_made_only() {
        let (mut stream, activity) = half_closed_behind_a_request();
        let mut bytes = [0; 8];
        assert!(stream.read(&mut bytes).now_or_never().is_none(), "the request is in flight");
        activity.streams();
        let read = stream.read(&mut bytes).now_or_never().expect("ready").expect("read");
        assert_eq!(read, 0, "no client is left to send events to");
        assert!(activity.received());
        activity.answered();
        assert_eq!(stream.read(&mut bytes).await.expect("read"), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_behind_a_body_is_kept_back_until_its_handler_has_seen_the_body() {
        let (mut stream, activity) = half_closed_behind_a_request();
        let mut bytes = [0; 8];
        activity.awaits_body(Instant::now());
        assert!(stream.read(&mut bytes).now_or_never().is_none(), "the body may be there");
        assert!(activity.received(), "it was");
        sleep(LIMIT).await;
        assert!(stream.read(&mut bytes).now_or_never().is_none(), "the request is in flight");
        activity.awaits_body(Instant::now());
        assert_eq!(stream.read(&mut bytes).await.expect("read"), 0, "the rest will never come");
    }

    #[tokio::test]
    async fn a_head_too_large_is_read_once_more_and_then_refused() {
        const REFUSAL: &[u8] = b"HTTP/1.1 431 Request Header Fields Too Large\r\n\r\n";
        let (mut client, server) = duplex(1_024);
        let mut stream = ClientStream::new(server, LIMIT, Activity::new());
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.expect("written");
        stream.write_all(REFUSAL).await.expect_err("not yet");
        let mut stream = stream.again(Bytes::from_static(b"GET /")).expect("met");
        client.write_all(b" HTTP/1.1").await.expect("sent");
        let mut head = [0; 14];
        stream.read_exact(&mut head).await.expect("read");
        assert_eq!(&head, b"GET / HTTP/1.1");
        stream.write_all(REFUSAL).await.expect("this time it is meant");
        assert!(stream.again(Bytes::new()).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_let_go() {
        let (_client, server) = duplex(4);
        let mut server = ClientStream::new(server, LIMIT, Activity::new());
        let error = server.write_all(b"more than fits").await.expect_err("a time-out");
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_client_that_takes_something_is_served() {
        let (mut client, server) = duplex(4);
        let mut server = ClientStream::new(server, LIMIT, Activity::new());
        let reader = tokio::spawn(async move {
            let mut all = Vec::new();
            let mut bytes = [0; 4];
            while let Ok(count @ 1..) = client.read(&mut bytes).await {
                all.extend_from_slice(&bytes[..count]);
                sleep(LIMIT / 2).await;
            }
            all
        });
        server.write_all(b"sixteen letters!").await.expect("taken");
        drop(server);
        assert_eq!(reader.await.expect("no panic"), b"sixteen letters!");
    }
}
