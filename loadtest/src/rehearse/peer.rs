//! Whom visitors ask.

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use hyper::{Request, header};
use tokio::{net::TcpStream, time::timeout};
use url::Url;

use crate::exit::Usage;

/// Who does not take a connection in this time answers nobody.
const REACHED_WITHIN: Duration = Duration::from_secs(5);

/// Somebody who answers over HTTP.
#[derive(Clone, Debug)]
pub struct Peer {
    /// `host:port`
    authority: Arc<str>,
    /// Of all addresses there; without a slash at the end.
    base: Arc<str>,
}

impl Peer {
    /// Whom an address names.
    ///
    /// # Errors
    ///
    /// [`Usage`], when it is not `http://HOST[:PORT][/PATH]`.
    pub fn new(argument: &str, url: &Url) -> Result<Self, Usage> {
        let host = url.host_str().filter(|_| url.scheme() == "http" && url.query().is_none());
        let host = host.ok_or_else(|| {
            Usage(format!("{argument} {url}: must be http://HOST[:PORT], without a query"))
        })?;
        let port = url.port_or_known_default().unwrap_or(80);
        let base = url.path().trim_end_matches('/');
        Ok(Self { authority: format!("{host}:{port}").into(), base: base.into() })
    }

    /// `host:port`
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Of all addresses there.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Whether anybody takes a connection there: told before the run, not after it.
    ///
    /// # Errors
    ///
    /// When nobody does.
    pub async fn reach(&self) -> anyhow::Result<()> {
        let reached = timeout(REACHED_WITHIN, TcpStream::connect(&*self.authority)).await;
        let reached = reached.map_err(anyhow::Error::from).and_then(|stream| Ok(stream?));
        reached.map(drop).with_context(|| format!("nobody answers at http://{}", self.authority))
    }

    /// A request to this peer.
    pub fn request(&self, method: &str, path: &str) -> http::request::Builder {
        let uri = format!("{}{path}", self.base);
        Request::builder().method(method).uri(uri).header(header::HOST, &*self.authority)
    }
}
