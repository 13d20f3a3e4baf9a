//! A receiver of webhooks: it believes what is signed and fresh, and issues once for each
//! Idempotency-Key. What it does beside that is named by the path, for the tests.
//!
//! `RECEIVER_SECRET` is the secret; with `RECEIVER_CERTIFICATE` and `RECEIVER_KEY` (PEM) it speaks
//! TLS. It says where it listens in its first line.
//!
//! | path | answer |
//! |---|---|
//! | `/issue` | 201, and 409 where it had it |
//! | `/again` | 201 always, as receivers do that repeat the first answer |
//! | `/status/NNN` | that status, and `Retry-After: 3`; issues nothing |
//! | `/fails/N` | 503 to the first N attempts of a key, then as `/issue` |
//! | `/silent/N` | issues at once, but resets the connection at the first N attempts |
//! | `/hang` | issues, and never answers |
//! | `/redirect` | 307 to `/issue` |
//! | `/endless` | as `/issue`, with a body that never ends |
//! | `/fickle` | `/issue` to half of all, else one of those above; to the third attempt `/issue` |
//! | `/slow` | as `/issue`, after 2 s |
//! | `GET /issued` | the keys and bodies of what was issued, in order, and all attempts |

use std::{
    collections::{BTreeMap, HashMap},
    convert::Infallible,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use hmac::{Hmac, KeyInit as _, Mac as _};
use http_body_util::{BodyExt as _, Full, combinators::UnsyncBoxBody};
use hyper::{
    Request, Response,
    body::{Body, Bytes, Frame, Incoming},
    header::HeaderValue,
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

/// How far the time of a request may be from ours.
const REPLAY_WINDOW_SECONDS: u64 = 300;

type Answer = Result<Response<UnsyncBoxBody<Bytes, Infallible>>, std::io::Error>;

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    announce(listener.local_addr()?);
    let tls = tls();
    let receiver = Arc::new(Receiver {
        secret: std::env::var("RECEIVER_SECRET").unwrap_or_default(),
        state: Mutex::default(),
    });
    loop {
        let (stream, _) = listener.accept().await?;
        let (receiver, tls) = (receiver.clone(), tls.clone());
        tokio::spawn(async move {
            match tls {
                None => receiver.serve(stream).await,
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        receiver.serve(stream).await;
                    }
                }
            }
        });
    }
}

#[expect(clippy::print_stdout, reason = "its caller reads this")]
fn announce(address: SocketAddr) {
    println!("listening on {address}");
}

fn tls() -> Option<TlsAcceptor> {
    let file = |name| std::env::var(name).ok();
    let certificates = CertificateDer::pem_file_iter(file("RECEIVER_CERTIFICATE")?).ok()?;
    let certificates = certificates.collect::<Result<Vec<_>, _>>().ok()?;
    let key = PrivateKeyDer::from_pem_file(file("RECEIVER_KEY")?).ok()?;
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .ok()?;
    Some(TlsAcceptor::from(Arc::new(config)))
}

struct Receiver {
    secret: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Key and body of what was issued, in order.
    issued: Vec<(String, String)>,
    /// How often each key came.
    attempts: BTreeMap<String, u32>,
    /// The index of each key in `issued`.
    by_key: HashMap<String, usize>,
}

impl State {
    /// Issues; false where that was done before.
    fn issue(&mut self, key: &str, body: &str) -> bool {
        if self.by_key.contains_key(key) {
            return false;
        }
        self.by_key.insert(key.to_owned(), self.issued.len());
        self.issued.push((key.to_owned(), body.to_owned()));
        true
    }
}

impl Receiver {
    async fn serve(self: Arc<Self>, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let service = service_fn(move |request| {
            let receiver = self.clone();
            async move { receiver.answer(request).await }
        });
        // An error is a connection that was reset, by either side.
        let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
    }

    async fn answer(&self, request: Request<Incoming>) -> Answer {
        let (head, body) = request.into_parts();
        let body = body.collect().await.map_err(std::io::Error::other)?.to_bytes();
        let path: Vec<&str> = head.uri.path().split('/').skip(1).collect();
        if path == ["issued"] {
            let state = self.state();
            let all = serde_json::json!({ "issued": state.issued, "attempts": state.attempts });
            return with(200, all.to_string());
        }
        let header = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
        let (Some(key), Some(signature)) =
            (header("idempotency-key"), header("x-anteroom-signature"))
        else {
            return with(400, "a header is missing");
        };
        if !self.believes(signature, &body) {
            return with(401, "the signature does not fit");
        }
        // Only the body is signed: another key would issue to the same visitor once more.
        let signed = serde_json::from_slice::<serde_json::Value>(&body).unwrap_or_default();
        if signed["idempotency_key"] != key {
            return with(400, "the key is not that of the body");
        }
        let body = String::from_utf8_lossy(&body).into_owned();
        let attempt = {
            let mut state = self.state();
            let attempt = state.attempts.entry(key.to_owned()).or_default();
            *attempt += 1;
            *attempt
        };
        let (way, number) = match path.first().copied().unwrap_or_default() {
            "fickle" => (fickle(key, attempt), attempt),
            way => (way, path.get(1).and_then(|text| text.parse().ok()).unwrap_or_default()),
        };
        match way {
            "status" => {
                with(u16::try_from(number).unwrap_or(500), "as you wish").map(|mut answer| {
                    answer.headers_mut().insert("retry-after", HeaderValue::from_static("3"));
                    answer
                })
            }
            "redirect" => with(307, ""),
            "fails" if attempt <= number => with(503, "not yet"),
            "silent" if attempt <= number => {
                self.state().issue(key, &body);
                Err(std::io::Error::other("the connection breaks"))
            }
            "hang" => {
                self.state().issue(key, &body);
                std::future::pending().await
            }
            "endless" => {
                self.state().issue(key, &body);
                Ok(Response::new(Endless.boxed_unsync()))
            }
            "slow" => {
                tokio::time::sleep(Duration::from_secs(2)).await;
                self.issue(key, &body)
            }
            "again" => {
                self.state().issue(key, &body);
                with(201, "")
            }
            "issue" | "fails" | "silent" => self.issue(key, &body),
            _ => with(404, ""),
        }
    }

    fn issue(&self, key: &str, body: &str) -> Answer {
        let is_new = self.state().issue(key, body);
        if is_new { with(201, "issued") } else { with(409, "issued before") }
    }

    /// Whether one of the signatures fits, and its time is ours.
    fn believes(&self, signature: &str, body: &[u8]) -> bool {
        let parts = || signature.split(',').filter_map(|part| part.split_once('='));
        let Some(time) = parts().find(|(name, _)| *name == "t").map(|(_, value)| value) else {
            return false;
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        if time.parse::<u64>().map_or(u64::MAX, |time| time.abs_diff(now)) > REPLAY_WINDOW_SECONDS {
            return false;
        }
        let mut mac = Hmac::<Sha256>::new_from_slice(self.secret.as_bytes())
            .expect("HMAC takes a key of any length");
        mac.update(time.as_bytes());
        mac.update(b".");
        mac.update(body);
        let digest: String =
            mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        parts()
            .filter(|(name, _)| *name == "v1")
            .any(|(_, value)| value.as_bytes().ct_eq(digest.as_bytes()).into())
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What `/fickle` does: as good as a throw of dice, and the same for the same attempt.
fn fickle(key: &str, attempt: u32) -> &'static str {
    let ways = ["issue", "issue", "issue", "again", "fails", "silent", "hang", "redirect"];
    let dice = Sha256::digest(format!("{key} {attempt}"))[0];
    if attempt < 3 { ways[usize::from(dice) % ways.len()] } else { "issue" }
}

fn with(status: u16, body: impl Into<Bytes>) -> Answer {
    Response::builder()
        .status(status)
        .header("location", "/issue")
        .body(Full::new(body.into()).boxed_unsync())
        .map_err(std::io::Error::other)
}

/// A body that goes on for ever.
struct Endless;

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'x'; 4096])))))
    }
}
