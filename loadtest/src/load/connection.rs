//! The one connection of a visitor (HTTP/1.1, kept alive), and where it leads.

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
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::Url;

use super::Fault;
use super::walk::Answer;
use crate::exit::Usage;
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

    /// Makes a connection: a service that nobody answers at is told before the run, not after it.
    ///
    /// # Errors
    ///
    /// When there is none in this time.
    pub async fn reach(&self, within: Duration) -> anyhow::Result<()> {
        // A parsed web address has both.
        let host = self.url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let port = self.url.port_or_known_default().unwrap_or(80);
        let reached = timeout(within, TcpStream::connect((host, port))).await;
        reached
            .map_err(anyhow::Error::from)
            .and_then(|stream| Ok(stream?))
            .with_context(|| format!("nobody answers at {}", self.url))?;
        Ok(())
    }

    /// Where connections go; asks the resolver once.
    ///
    /// # Errors
    ///
    /// When it is not HTTP without TLS, or its name leads nowhere.
    pub(super) async fn resolve(&self) -> anyhow::Result<SocketAddr> {
        if self.url.scheme() != "http" {
            let rule = "an open load speaks plain HTTP; ramp without --rate measures https too";
            return Err(Usage(format!("--target {}: {rule}", self.url)).into());
        }
        // A parsed http address has both.
        let host = self.url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let port = self.url.port_or_known_default().unwrap_or(80);
        let mut found = tokio::net::lookup_host((host, port)).await?;
        found.next().ok_or_else(|| anyhow::anyhow!("{}: no address", self.url))
    }
}

/// A visitor's connection; made when it is first needed, and anew when the service has closed it.
pub struct Connection {
    target: Arc<Target>,
    address: SocketAddr,
    /// For a connection and a request, each.
    timeout: Duration,
    sender: Option<SendRequest<Full<Bytes>>>,
}

impl Connection {
    pub fn new(target: &Arc<Target>, address: SocketAddr, timeout: Duration) -> Self {
        Self { target: Arc::clone(target), address, timeout, sender: None }
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
        let (head, body) = answer.map_err(broken)?.into_parts();
        let body = body.collect().await.map_err(broken)?.to_bytes();
        self.sender = Some(sender);
        Ok(Answer { status: head.status, headers: head.headers, body })
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
        let stream = TcpStream::connect(self.address).await;
        let stream = stream.map_err(|error| Fault::of(&error, Fault::Connect))?;
        // Without it small requests wait for the acknowledgement of those before; a connection
        // that is closed already tells so itself.
        let _ = stream.set_nodelay(true);
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| Fault::of(&error, Fault::Connect))?;
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
