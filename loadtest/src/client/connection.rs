//! The connection of a visitor: HTTP/1.1, kept alive, with TLS or without.
//!
//! The task that waits for an answer also drives the connection. A task of its own for each
//! connection would be woken for each request, which costs about as much as the request.

use std::future::{Future as _, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{HeaderMap, Request, StatusCode};
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

    async fn exchange(&mut self, request: Outgoing) -> Result<Answer, Fault> {
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
        let answer = match open.exchange(request).await {
            // The server closed a kept connection meanwhile. The request was not sent.
            Err(Some(unsent)) if was_kept => {
                open = self.connect().await?;
                open.exchange(unsent).await
            }
            answer => answer,
        };
        let answer = answer.map_err(|_| Fault::Broken)?;
        self.open = Some(open);
        Ok(answer)
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
        Ok(Self { sender, driver })
    }

    /// This one, if the server has not closed it.
    async fn still(mut self: Box<Self>) -> Option<Box<Self>> {
        let mut driver = Pin::new(&mut self.driver);
        let ended = poll_fn(|cx| Poll::Ready(driver.as_mut().poll(cx).is_ready())).await;
        (!ended && self.sender.is_ready()).then_some(self)
    }

    /// # Errors
    ///
    /// The request, if it was not sent.
    async fn exchange(&mut self, request: Outgoing) -> Result<Answer, Option<Outgoing>> {
        let Self { sender, driver } = self;
        let mut answer = pin!(async {
            let sent = sender.try_send_request(request).await;
            let (head, mut pieces) = sent.map_err(|mut error| error.take_message())?.into_parts();
            let mut body = Vec::new();
            while let Some(piece) = pieces.frame().await {
                if let Ok(piece) = piece.map_err(|_| None)?.into_data() {
                    let room = LONGEST_BODY - body.len();
                    body.extend_from_slice(&piece[..piece.len().min(room)]);
                }
            }
            Ok(Answer { status: head.status, headers: head.headers, body: body.into() })
        });
        let (mut driver, mut ended) = (Pin::new(driver), false);
        poll_fn(|cx| {
            // What the driver reads in this turn is taken in this turn.
            let ready = answer.as_mut().poll(cx);
            if ready.is_ready() {
                return ready;
            }
            ended = ended || driver.as_mut().poll(cx).is_ready();
            answer.as_mut().poll(cx)
        })
        .await
    }
}
