//! A visitor's own connection, and the bound on all of them.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{
    Request,
    body::Bytes,
    client::conn::http1::{SendRequest, handshake},
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpSocket, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::rehearse::{
    answer::{Answer, Failure},
    delivery::Deliveries,
    histogram::{histogram, record},
    peer::Peer,
};

/// No answer that a visitor reads is longer.
const LONGEST_BODY: usize = 4 << 20;
/// Addresses of the loopback that connections come from.
const SOURCES: u64 = 250;
/// Linux gives a source address so many ports (`ip_local_port_range`), and a few are others'.
const PORTS: usize = 25_000;

/// A request as it goes out.
pub type Out = Request<Full<Bytes>>;

/// The connections of all visitors together.
pub struct Connections {
    permits: Arc<Semaphore>,
    /// Whether each visitor may keep its own between two requests.
    pub kept: bool,
    deliveries: Mutex<Deliveries>,
    opened: AtomicU64,
    /// How long for a permit, in microseconds.
    waited: Mutex<Histogram<u64>>,
}

impl Connections {
    /// For so many visitors, where so many descriptors may be open.
    pub fn new(visitors: u32, descriptors: usize) -> Self {
        let bound = descriptors.min(PORTS);
        // The tabs of some visitors take more than one each.
        let kept = 2 * usize::try_from(visitors).unwrap_or(usize::MAX) <= bound;
        let permits = Arc::new(Semaphore::new(bound));
        let (deliveries, waited) = (Mutex::default(), Mutex::new(histogram()));
        Self { permits, kept, deliveries, opened: AtomicU64::new(0), waited }
    }

    /// So many may be open at once.
    pub fn bound(&self) -> usize {
        self.permits.available_permits()
    }

    /// So many were opened.
    pub fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// How long a visitor waited for one of them, at the 95th percentile, in microseconds.
    pub fn waited_p95(&self) -> u64 {
        self.waited().value_at_quantile(0.95)
    }

    /// What came of all requests so far.
    pub fn deliveries(&self) -> Deliveries {
        self.delivered().clone()
    }

    fn delivered(&self) -> MutexGuard<'_, Deliveries> {
        self.deliveries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waited(&self) -> MutexGuard<'_, Histogram<u64>> {
        self.waited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn permit(self: &Arc<Self>) -> OwnedSemaphorePermit {
        let asked = Instant::now();
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let waited = u64::try_from(asked.elapsed().as_micros()).unwrap_or(u64::MAX);
        record(&mut self.waited(), waited);
        permit.expect("nobody closes the semaphore")
    }
}

/// One connection at most, opened when it is needed.
pub struct Connection {
    peer: Peer,
    all: Arc<Connections>,
    /// Whether it stays open between two requests.
    kept: bool,
    open: Option<SendRequest<Full<Bytes>>>,
    /// For the next one.
    permit: Option<OwnedSemaphorePermit>,
}

impl Connection {
    /// To this peer, not open yet; kept between two requests if all may be.
    pub fn new(peer: &Peer, all: &Arc<Connections>, kept: bool) -> Self {
        let kept = kept && all.kept;
        Self { peer: peer.clone(), all: Arc::clone(all), kept, open: None, permit: None }
    }

    /// To whom it leads.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Waits until the harness may open it: that is no latency of whoever answers.
    pub async fn ready(&mut self) {
        if self.permit.is_none() && !self.open.as_ref().is_some_and(SendRequest::is_ready) {
            self.permit = Some(self.all.permit().await);
        }
    }

    /// Sends a request once and reads the whole answer.
    pub async fn send(&mut self, request: Out, within: Duration) -> Result<Answer, Failure> {
        let answer = timeout(within, self.exchange(request)).await;
        let answer = answer.unwrap_or(Err(Failure::Timeout));
        let mut delivered = self.all.delivered();
        let Deliveries { kept, new } = &mut *delivered;
        (if self.kept { kept } else { new }).add(&answer);
        drop(delivered);
        if answer.is_err() || !self.kept {
            self.close();
        }
        answer
    }

    /// Closes it.
    pub fn close(&mut self) {
        self.open = None;
    }

    async fn exchange(&mut self, request: Out) -> Result<Answer, Failure> {
        let mut request = request;
        let sent = loop {
            let (open, is_new) = match self.open.take().filter(SendRequest::is_ready) {
                Some(open) => (open, false),
                None => (self.connect().await?, true),
            };
            let open = self.open.insert(open);
            match open.try_send_request(request).await {
                Ok(answer) => break answer,
                // The other side had closed the connection that was kept: not sent.
                Err(mut error) => match error.take_message().filter(|_| !is_new) {
                    Some(unsent) => request = unsent,
                    None => return Err(Failure::Cut),
                },
            }
        };
        let (head, body) = sent.into_parts();
        let body = Limited::new(body, LONGEST_BODY).collect().await;
        let body = body.map_err(|_| Failure::Cut)?.to_bytes();
        Ok(Answer { status: head.status.as_u16(), headers: head.headers, body })
    }

    async fn connect(&mut self) -> Result<SendRequest<Full<Bytes>>, Failure> {
        let permit = match self.permit.take() {
            Some(permit) => permit,
            None => self.all.permit().await,
        };
        let opened = self.all.opened.fetch_add(1, Ordering::Relaxed);
        let stream = connect(self.peer.authority(), opened).await.map_err(|error| {
            let out_of_files = [nix::libc::EMFILE, nix::libc::ENFILE, nix::libc::EADDRNOTAVAIL];
            let is_ours = error.raw_os_error().is_some_and(|code| out_of_files.contains(&code));
            if is_ours { Failure::Descriptors } else { Failure::Connect }
        })?;
        // A connection without it is as good, only slower.
        let _ = stream.set_nodelay(true);
        let (open, driver) = handshake(TokioIo::new(stream)).await.map_err(|_| Failure::Cut)?;
        tokio::spawn(async move {
            // How it ends is told to whoever waits for an answer.
            let _ = driver.await;
            drop(permit);
        });
        Ok(open)
    }
}

/// Connects from one of many addresses of the loopback, where it leads to the loopback: the kernel
/// looks long for a free port where one address has used up many.
async fn connect(authority: &str, number: u64) -> io::Result<TcpStream> {
    match authority.parse() {
        Ok(SocketAddr::V4(address)) if address.ip().is_loopback() => {
            let last = u8::try_from(number % SOURCES).unwrap_or(0) + 1;
            let socket = TcpSocket::new_v4()?;
            socket.bind((Ipv4Addr::new(127, 0, 1, last), 0).into())?;
            socket.connect(address.into()).await
        }
        _ => TcpStream::connect(authority).await,
    }
}
