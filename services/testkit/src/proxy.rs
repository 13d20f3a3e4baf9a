//! A TCP proxy that can be broken in every way a network breaks.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

/// What the proxy does to the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing: all bytes pass.
    Pass,
    /// Connections stay open and nothing comes through, in either direction, until it ends: then
    /// what was sent meanwhile comes, as after a partition.
    Blackhole,
    /// Open connections are reset, and new ones at once.
    Refuse,
    /// Replies come so much later.
    Delay(Duration),
    /// Replies come byte by byte, so far apart.
    Trickle(Duration),
}

/// When the link breaks, for one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The server never hears of the request.
    Before,
    /// It was executed, and no answer arrives.
    After,
    /// It was executed, and half of the reply comes.
    Amid,
    /// It was executed, the reply comes, and the link is refused from then on.
    Behind,
    /// The server gets the request only with [`Proxy::pass_held`].
    Held,
}

/// A proxy on a port of its own. Dropping it closes everything.
pub struct Proxy {
    port: u16,
    state: Arc<State>,
    task: JoinHandle<()>,
}

struct State {
    upstream: Mutex<SocketAddr>,
    fault: watch::Sender<Fault>,
    /// Connections numbered lower than this are silent for ever: half-open.
    silent_below: AtomicU64,
    next_number: AtomicU64,
    /// The next request that holds these bytes loses its connection.
    cut: Mutex<Option<(Vec<u8>, Cut)>>,
    cuts: AtomicUsize,
    /// A request that is held, and its connection to the server.
    held: Mutex<Option<(TcpStream, Vec<u8>)>>,
}

impl Proxy {
    /// Starts a proxy to a port of the loopback.
    ///
    /// # Panics
    /// When there is no port for it.
    pub async fn start(upstream: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let port = listener.local_addr().expect("a bound address").port();
        let state = Arc::new(State {
            upstream: Mutex::new(([127, 0, 0, 1], upstream).into()),
            fault: watch::Sender::new(Fault::Pass),
            silent_below: AtomicU64::new(0),
            next_number: AtomicU64::new(0),
            cut: Mutex::new(None),
            cuts: AtomicUsize::new(0),
            held: Mutex::new(None),
        });
        let task = tokio::spawn(accept(listener, state.clone()));
        Self { port, state, task }
    }

    /// Its port on the loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its address as that of a Redis.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Breaks every connection in this way from now on.
    pub fn set(&self, fault: Fault) {
        self.state.fault.send_replace(fault);
    }

    /// New connections lead to another port of the loopback.
    pub fn redirect(&self, upstream: u16) {
        *lock(&self.state.upstream) = ([127, 0, 0, 1], upstream).into();
    }

    /// The connections open now go silent for ever; new ones work.
    pub fn silence_open(&self) {
        let next = self.state.next_number.load(Ordering::SeqCst);
        self.state.silent_below.store(next, Ordering::SeqCst);
    }

    /// The next request that holds `bytes` is passed on, and when its reply comes the connection
    /// is reset instead: it was executed, and no answer arrives.
    pub fn cut_reply_to(&self, bytes: &[u8]) {
        self.cut(bytes, Cut::After);
    }

    /// The connection of the next request that holds `bytes` is reset, so early or late.
    pub fn cut(&self, bytes: &[u8], cut: Cut) {
        *lock(&self.state.cut) = Some((bytes.to_vec(), cut));
    }

    /// How many requests were cut.
    pub fn cuts(&self) -> usize {
        self.state.cuts.load(Ordering::SeqCst)
    }

    /// How many connections it has taken so far.
    pub fn connections(&self) -> u64 {
        self.state.next_number.load(Ordering::SeqCst)
    }
}

impl Proxy {
    /// The server gets the request of [`Cut::Held`]; returns when it has replied.
    ///
    /// # Panics
    /// When no request is held.
    pub async fn pass_held(&self) {
        let (mut server, request) = lock(&self.state.held).take().expect("a request is held");
        server.write_all(&request).await.expect("the server gets it");
        server.read_u8().await.expect("the server replies");
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let Ok((client, _)) = listener.accept().await else { continue };
        if *state.fault.borrow() == Fault::Refuse {
            let _ = client.set_zero_linger();
            continue;
        }
        let number = state.next_number.fetch_add(1, Ordering::SeqCst);
        connections.spawn(serve(client, state.clone(), number));
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(mut client: TcpStream, state: Arc<State>, number: u64) {
    let upstream = *lock(&state.upstream);
    let Ok(mut server) = TcpStream::connect(upstream).await else {
        let _ = client.set_zero_linger();
        return;
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let wire = Wire { state, number, cut: Mutex::new(None), held: Mutex::new(None) };
    let reset = {
        let (from_client, to_client) = client.split();
        let (from_server, to_server) = server.split();
        tokio::select! {
            biased;
            reset = wire.requests(from_client, to_server) => reset,
            reset = wire.replies(from_server, to_client) => reset,
            () = wire.refused() => true,
        }
    };
    if reset {
        let _ = client.set_zero_linger();
    }
    if let Some(request) = lock(&wire.held).take() {
        *lock(&wire.state.held) = Some((server, request));
    }
}

/// One connection.
struct Wire {
    state: Arc<State>,
    number: u64,
    /// The next reply is to be cut in this way.
    cut: Mutex<Option<Cut>>,
    /// The request that is held.
    held: Mutex<Option<Vec<u8>>>,
}

impl Wire {
    /// False when it is silent for ever.
    async fn passes(&self) -> bool {
        let mut fault = self.state.fault.subscribe();
        // The sender lives in the state that this holds.
        let _ = fault.wait_for(|fault| *fault != Fault::Blackhole).await;
        self.number >= self.state.silent_below.load(Ordering::SeqCst)
    }

    /// True when the client is to see a reset.
    async fn requests(
        &self,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
    ) -> bool {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(read) = from.read(&mut buffer).await
            && read > 0
        {
            let bytes = &buffer[..read];
            let armed = lock(&self.state.cut).take_if(|(cut, _)| {
                bytes.windows(cut.len()).any(|window| window == cut.as_slice())
            });
            if let Some((_, cut)) = armed {
                self.state.cuts.fetch_add(1, Ordering::SeqCst);
                if cut == Cut::Held {
                    *lock(&self.held) = Some(bytes.to_vec());
                }
                if matches!(cut, Cut::Before | Cut::Held) {
                    return true;
                }
                *lock(&self.cut) = Some(cut);
            }
            if self.passes().await && to.write_all(bytes).await.is_err() {
                return false;
            }
        }
        false
    }

    /// True when the client is to see a reset.
    async fn replies(
        &self,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
    ) -> bool {
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(read) = from.read(&mut buffer).await
            && read > 0
        {
            let cut = *lock(&self.cut);
            if cut == Some(Cut::Amid) {
                let _ = to.write_all(&buffer[..read / 2]).await;
            }
            if cut == Some(Cut::Behind) {
                let _ = to.write_all(&buffer[..read]).await;
                self.state.fault.send_replace(Fault::Refuse);
            }
            if cut.is_some() {
                // An orderly end: a reset can overtake the reply.
                return cut != Some(Cut::Behind);
            }
            if !self.passes().await {
                continue;
            }
            let fault = *self.state.fault.borrow();
            let sent = match fault {
                Fault::Trickle(gap) => trickle(&buffer[..read], gap, &mut to).await,
                Fault::Delay(delay) => {
                    tokio::time::sleep(delay).await;
                    to.write_all(&buffer[..read]).await
                }
                Fault::Pass | Fault::Blackhole | Fault::Refuse => {
                    to.write_all(&buffer[..read]).await
                }
            };
            if sent.is_err() {
                return false;
            }
        }
        // A killed server resets its connections; so does this.
        true
    }

    async fn refused(&self) {
        let mut fault = self.state.fault.subscribe();
        // The sender lives in the state that this holds.
        let _ = fault.wait_for(|fault| *fault == Fault::Refuse).await;
    }
}

async fn trickle(
    bytes: &[u8],
    gap: Duration,
    to: &mut (impl AsyncWrite + Unpin),
) -> std::io::Result<()> {
    for byte in bytes {
        to.write_all(&[*byte]).await?;
        tokio::time::sleep(gap).await;
    }
    Ok(())
}
