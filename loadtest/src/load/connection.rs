//! The one connection of a visitor (HTTP/1.1, kept alive, with TLS or without), and where it leads.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{HOST, HeaderValue};
use hyper_util::rt::TokioIo;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use url::Url;

use super::Fault;
use super::walk::{Answer, Body};
use crate::scenario::Call;

/// The service that is measured.
#[derive(Clone, Debug)]
pub struct Target {
    /// As it was given.
    pub url: Url,
    host: HeaderValue,
    /// Before the paths of the scenario, without a slash at its end.
    base: String,
}

impl Target {
    /// Reads an address, `http://` or `https://`, with a path that goes before those of the
    /// scenario.
    ///
    /// # Errors
    ///
    /// Why it is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url: Url = text.parse().map_err(|error| format!("{error}"))?;
        let web = matches!(url.scheme(), "http" | "https");
        let plain = url.username().is_empty() && url.password().is_none();
        if !(web && plain && url.query().is_none() && url.fragment().is_none()) {
            return Err("an address such as http://127.0.0.1:8090, without user and query".into());
        }
        let authority = &url[url::Position::BeforeHost..url::Position::AfterPort];
        let host = authority.parse().map_err(|_| "its host cannot be sent".to_owned())?;
        let base = url.path().trim_end_matches('/').to_owned();
        Ok(Self { url, host, base })
    }

    /// The whole address of a path of the scenario.
    pub(super) fn address(&self, target: &str) -> String {
        format!("{}{}{target}", &self.url[..url::Position::BeforePath], self.base)
    }

    /// Makes a connection: a service that nobody answers at, or whose certificate is not trusted,
    /// is told before the run, not after it.
    ///
    /// # Errors
    ///
    /// When there is none in this time.
    pub async fn reach(&self, within: Duration) -> anyhow::Result<()> {
        let reached = timeout(within, async { self.route().await?.connect().await }).await;
        let reached = reached.map_err(anyhow::Error::from).flatten();
        reached.map(drop).with_context(|| format!("nobody answers at {}", self.url))
    }

    /// Where connections go; asks the resolver once.
    ///
    /// # Errors
    ///
    /// When its name leads nowhere, or the machine has no certificates to trust.
    pub(super) async fn route(&self) -> anyhow::Result<Route> {
        // A parsed web address has both.
        let host = self.url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let port = self.url.port_or_known_default().unwrap_or(80);
        let mut found = tokio::net::lookup_host((host, port)).await?;
        let address = found.next().with_context(|| format!("{}: no address", self.url))?;
        let tls = match self.url.scheme() {
            "https" => Some((trusted()?, ServerName::try_from(host.to_owned())?)),
            _ => None,
        };
        Ok(Route { address, tls })
    }
}

/// Speaks TLS with whom this machine trusts, or `SSL_CERT_FILE` says.
fn trusted() -> anyhow::Result<TlsConnector> {
    let provider = Arc::new(ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions()?.with_platform_verifier()?;
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// An address, and how it is spoken to.
#[derive(Clone)]
pub(super) struct Route {
    address: SocketAddr,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

impl Route {
    async fn connect(&self) -> anyhow::Result<Box<dyn Stream>> {
        let stream = TcpStream::connect(self.address).await?;
        // Without it small requests wait for the acknowledgement of those before; a connection
        // that is closed already tells so itself.
        let _ = stream.set_nodelay(true);
        Ok(match &self.tls {
            Some((tls, name)) => Box::new(tls.connect(name.clone(), stream).await?),
            None => Box::new(stream),
        })
    }
}

/// A visitor's connection; made when it is first needed, and anew when the service has closed it.
pub struct Connection {
    target: Arc<Target>,
    route: Route,
    /// For a connection and a request, each.
    timeout: Duration,
    sender: Option<SendRequest<Full<Bytes>>>,
}

impl Connection {
    pub(super) fn new(target: &Arc<Target>, route: &Route, timeout: Duration) -> Self {
        Self { target: Arc::clone(target), route: route.clone(), timeout, sender: None }
    }

    /// Sends a request and takes the whole answer.
    pub async fn send(&mut self, call: &Call) -> Result<Answer, Fault> {
        let answer = timeout(self.timeout, self.exchange(call)).await;
        let answer = answer.unwrap_or(Err(Fault::Timeout));
        if answer.is_err() {
            self.sender = None;
        }
        answer
    }

    async fn exchange(&mut self, call: &Call) -> Result<Answer, Fault> {
        let mut sender = self.ready().await?;
        let request = self.request(call)?;
        let answer = match sender.try_send_request(request).await {
            Ok(answer) => Ok(answer),
            // A kept connection may have been closed meanwhile; what was not sent is sent anew.
            Err(mut error) => match error.take_message() {
                Some(request) => {
                    sender = self.connect().await?;
                    sender.send_request(request).await
                }
                None => Err(error.into_error()),
            },
        };
        let broken = |error: hyper::Error| Fault::of(&error, Fault::Broken);
        let (head, mut pieces) = answer.map_err(broken)?.into_parts();
        let mut body = Body::default();
        while let Some(piece) = pieces.frame().await {
            if let Ok(piece) = piece.map_err(broken)?.into_data() {
                body.add(&piece);
            }
        }
        self.sender = Some(sender);
        Ok(Answer { status: head.status, headers: head.headers, body: body.into_bytes() })
    }

    async fn ready(&mut self) -> Result<SendRequest<Full<Bytes>>, Fault> {
        if let Some(mut sender) = self.sender.take()
            && sender.ready().await.is_ok()
        {
            return Ok(sender);
        }
        self.connect().await
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, Fault> {
        let connect = |error: &(dyn std::error::Error + 'static)| Fault::of(error, Fault::Connect);
        let stream = self.route.connect().await.map_err(|error| connect(error.as_ref()))?;
        let handshake = http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = handshake.map_err(|error| connect(&error))?;
        tokio::spawn(connection);
        Ok(sender)
    }

    fn request(&self, call: &Call) -> Result<Request<Full<Bytes>>, Fault> {
        let body = Full::new(Bytes::from(call.body.clone()));
        let mut request = Request::new(body);
        *request.method_mut() = call.method.clone();
        let path = format!("{}{}", self.target.base, call.target);
        *request.uri_mut() = path.parse().map_err(|_| Fault::Value)?;
        *request.headers_mut() = call.headers.clone();
        request.headers_mut().entry(HOST).or_insert_with(|| self.target.host.clone());
        Ok(request)
    }
}
