//! The connection of a visitor: HTTP/1.1, kept alive, with TLS or without.
//!
//! The task that waits for an answer also drives the connection. A task of its own for each
//! connection would be woken for each request, which costs about as much as the request.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::CONTENT_TYPE;
use hyper::{HeaderMap, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;

use super::{Fault, Route};

/// A request as it goes out.
pub type Outgoing = Request<Full<Bytes>>;

/// A complete answer.
pub struct Answer {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// The first [`LONGEST_BODY`] of its body.
    pub body: Bytes,
}

/// What is kept of a body; the rest is read and dropped.
const LONGEST_BODY: usize = 4 << 20;
/// Read at a time: answers are short, and each connection keeps a buffer of this size.
const READ: usize = 2 << 10;

type Stream = TokioIo<Either<TcpStream, Box<TlsStream<TcpStream>>>>;

/// One connection at most. It is opened by the first request, and again when the server has closed
/// it.
pub struct Connection {
    route: Arc<Route>,
    open: Option<Box<Open>>,
}

struct Open {
    sender: SendRequest<Full<Bytes>>,
    driver: http1::Connection<Stream, Full<Bytes>>,
    /// Whether the driver has come to its end.
    ended: bool,
}

/// The body of an event stream, on the connection that it came on. Dropped, both are closed.
pub struct EventBody {
    open: Box<Open>,
    body: Incoming,
}

impl Connection {
    /// A connection that is not open yet.
    pub fn new(route: &Arc<Route>) -> Self {
        Self { route: Arc::clone(route), open: None }
    }

    /// Where it leads.
    pub fn route(&self) -> &Route {
        &self.route
    }

    /// Closes it.
    pub fn close(&mut self) {
        self.open = None;
    }

    /// Sends a request once and takes the complete answer. It is closed when that fails.
    pub async fn send(&mut self, request: Outgoing, within: Duration) -> Result<Answer, Fault> {
        // In memory of its own while it lasts: a visitor who thinks takes a third of it.
        let exchange = Box::pin(self.exchange(request));
        timeout(within, exchange).await.unwrap_or(Err(Fault::Timeout))
    }

    /// Sends a request once. If the answer is an event stream, its body is to be read; else this
    /// reads the complete answer, as [`Connection::send`] does.
    pub async fn open(
        &mut self,
        request: Outgoing,
        within: Duration,
    ) -> Result<(Answer, Option<EventBody>), Fault> {
        let opens = Box::pin(async {
            let (mut open, answer) = self.begin(request).await?;
            let (head, body) = answer.into_parts();
            let kind = head.headers.get(CONTENT_TYPE);
            if kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
                let (status, headers) = (head.status, head.headers);
                let answer = Answer { status, headers, body: Bytes::new() };
                return Ok((answer, Some(EventBody { open, body })));
            }
            let answer = open.rest(Response::from_parts(head, body)).await?;
            self.open = Some(open);
            Ok((answer, None))
        });
        timeout(within, opens).await.unwrap_or(Err(Fault::Timeout))
    }

    async fn exchange(&mut self, request: Outgoing) -> Result<Answer, Fault> {
        let (mut open, answer) = self.begin(request).await?;
        let answer = open.rest(answer).await?;
        self.open = Some(open);
        Ok(answer)
    }

    /// Sends a request, on an open connection or a new one, and reads the head of the answer.
    async fn begin(&mut self, request: Outgoing) -> Result<(Box<Open>, Response<Incoming>), Fault> {
        // Taken out, so it is dropped when this is.
        let kept = match self.open.take() {
            Some(open) => open.still().await,
            None => None,
        };
        let was_kept = kept.is_some();
        let mut open = match kept {
            Some(open) => open,
            None => self.connect().await?,
        };
        let answer = match open.begin(request).await {
            // The server closed a kept connection meanwhile. The request was not sent.
            Err(Some(unsent)) if was_kept => {
                open = self.connect().await?;
                open.begin(unsent).await
            }
            answer => answer,
        };
        Ok((open, answer.map_err(|_| Fault::Broken)?))
    }

    async fn connect(&self) -> Result<Box<Open>, Fault> {
        let stream = self.route.stream().await.map_err(|error| Fault::of_connect(&error))?;
        Open::new(stream).await.map(Box::new).map_err(|_| Fault::Connect)
    }
}

impl Route {
    pub(super) async fn stream(&self) -> std::io::Result<Stream> {
        let turn = self.turn.fetch_add(1, Relaxed);
        let stream = self.sources.connect(self.address, turn).await?;
        self.opened.fetch_add(1, Relaxed);
        // Without it small requests wait for the acknowledgement of those before. A connection
        // that is closed already fails by itself.
        let _ = stream.set_nodelay(true);
        Ok(TokioIo::new(match &self.tls {
            Some((tls, name)) => Either::Right(Box::new(tls.connect(name.clone(), stream).await?)),
            None => Either::Left(stream),
        }))
    }
}

impl Open {
    async fn new(stream: Stream) -> hyper::Result<Self> {
        let mut client = http1::Builder::new();
        client.read_buf_exact_size(Some(READ));
        let (sender, driver) = client.handshake(stream).await?;
        Ok(Self { sender, driver, ended: false })
    }

    /// This one, if the server has not closed it.
    async fn still(mut self: Box<Self>) -> Option<Box<Self>> {
        if !self.ended {
            let mut driver = Pin::new(&mut self.driver);
            self.ended = poll_fn(|cx| Poll::Ready(driver.as_mut().poll(cx).is_ready())).await;
        }
        (!self.ended && self.sender.is_ready()).then_some(self)
    }

    /// Sends a request and reads the head of the answer.
    ///
    /// # Errors
    ///
    /// The request, if it was not sent.
    async fn begin(&mut self, request: Outgoing) -> Result<Response<Incoming>, Option<Outgoing>> {
        let Self { sender, driver, ended } = self;
        let sends = async {
            let sent = sender.try_send_request(request).await;
            sent.map_err(|mut error| error.take_message())
        };
        driven(driver, ended, sends).await
    }

    /// Reads the rest of an answer.
    async fn rest(&mut self, answer: Response<Incoming>) -> Result<Answer, Fault> {
        let (head, mut pieces) = answer.into_parts();
        let reads = async {
            let mut body = Vec::new();
            while let Some(piece) = pieces.frame().await {
                if let Ok(piece) = piece.map_err(|_| Fault::Broken)?.into_data() {
                    let room = LONGEST_BODY - body.len();
                    body.extend_from_slice(&piece[..piece.len().min(room)]);
                }
            }
            Ok(Answer { status: head.status, headers: head.headers, body: body.into() })
        };
        driven(&mut self.driver, &mut self.ended, reads).await
    }
}

impl EventBody {
    /// The next piece; none at the end.
    ///
    /// # Errors
    ///
    /// [`Fault::Broken`] if the connection ends before the stream does.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, Fault> {
        let Self { open, body } = self;
        let reads = async {
            while let Some(frame) = body.frame().await {
                if let Ok(piece) = frame.map_err(|_| Fault::Broken)?.into_data() {
                    return Ok(Some(piece));
                }
            }
            Ok(None)
        };
        driven(&mut open.driver, &mut open.ended, reads).await
    }
}

/// Polls a future, and the connection that it waits for.
async fn driven<T>(
    driver: &mut http1::Connection<Stream, Full<Bytes>>,
    ended: &mut bool,
    future: impl Future<Output = T>,
) -> T {
    let (mut driver, mut future) = (Pin::new(driver), pin!(future));
    poll_fn(|cx| {
        // What the driver reads in this turn is taken in this turn.
        let ready = future.as_mut().poll(cx);
        if ready.is_ready() {
            return ready;
        }
        *ended = *ended || driver.as_mut().poll(cx).is_ready();
        future.as_mut().poll(cx)
    })
    .await
}
