//! Where requests go.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use anyhow::Context as _;
use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use hyper::header::{HOST, HeaderValue};
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use url::Url;

use super::{Fault, Outgoing, Sources};
use crate::exit::Usage;
use crate::own_limit::OwnLimit;
use crate::scenario::Call;

/// A server and the path before all others there.
#[derive(Clone, Debug)]
pub struct Target {
    /// As it was given.
    pub url: Url,
    host: HeaderValue,
    /// Before each path, without a slash at its end.
    base: String,
}

/// Reads an address, `http://` or `https://`; `http://` may be left out.
pub fn address(text: &str) -> Result<Url, String> {
    let rule = "must be an address such as http://127.0.0.1:8090, without user, query and fragment";
    let whole = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let url: Url = whole.parse().map_err(|error| format!("{error}; {rule}"))?;
    let web = matches!(url.scheme(), "http" | "https") && url.has_host();
    let plain = url.username().is_empty() && url.password().is_none();
    // `http:/shop.test` is the address of a host called http.
    let web = web && !matches!(url.host_str(), Some("http" | "https"));
    if web && plain && url.query().is_none() && url.fragment().is_none() {
        return Ok(url);
    }
    Err(rule.to_owned())
}

impl Target {
    /// Reads an [`address`]; its path goes before those of the scenario.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = address(text)?;
        let authority = &url[url::Position::BeforeHost..url::Position::AfterPort];
        let host =
            authority.parse().map_err(|_| "its host is not valid in a request".to_owned())?;
        let base = url.path().trim_end_matches('/').to_owned();
        Ok(Self { url, host, base })
    }

    /// The whole address of a path there.
    pub fn at(&self, path: &str) -> String {
        format!("{}{}{path}", &self.url[..url::Position::BeforePath], self.base)
    }

    /// A request for a path there.
    pub fn request(&self, method: &str, path: &str) -> http::request::Builder {
        let uri = format!("{}{path}", self.base);
        Request::builder().method(method).uri(uri).header(HOST, self.host.clone())
    }

    /// The request of a scenario.
    ///
    /// # Errors
    ///
    /// [`Fault::Value`], when its path cannot be sent.
    pub fn call(&self, call: &Call) -> Result<Outgoing, Fault> {
        let mut request = Request::new(Full::new(Bytes::from(call.body.clone())));
        *request.method_mut() = call.method.clone();
        let path = format!("{}{}", self.base, call.target);
        *request.uri_mut() = path.parse().map_err(|_| Fault::Value)?;
        *request.headers_mut() = call.headers.clone();
        request.headers_mut().entry(HOST).or_insert_with(|| self.host.clone());
        Ok(request)
    }

    /// Finds the way there and makes one connection: a server that does not answer, a certificate
    /// that is not trusted or a source address of another machine is reported before the run.
    ///
    /// # Errors
    ///
    /// [`Usage`] for a source address, [`OwnLimit`] for a name server that does not answer; when
    /// there is no connection in this time.
    pub async fn reach(&self, sources: Sources, within: Duration) -> anyhow::Result<Arc<Route>> {
        let reached = timeout(within, async {
            let route = self.route(sources).await?;
            route.stream().await?;
            Ok(Arc::new(route))
        });
        let reached = reached.await.map_err(anyhow::Error::from).flatten();
        reached.map_err(|error: anyhow::Error| {
            let of_certificate = format!("{error:#}").contains("certificate");
            let remedy = if of_certificate {
                "; set SSL_CERT_FILE to its certificate authority"
            } else {
                ""
            };
            error.context(format!("no answer at {}{remedy}", self.url))
        })
    }

    /// Asks the name server once.
    async fn route(&self, sources: Sources) -> anyhow::Result<Route> {
        // A parsed web address has both.
        let host = self.url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let port = self.url.port_or_known_default().unwrap_or(80);
        let found = tokio::net::lookup_host((host, port)).await;
        let address = found.map_err(|error| OwnLimit::of_lookup(host, error))?.next();
        let address = address.with_context(|| format!("{}: no address", self.url))?;
        let tls = match self.url.scheme() {
            "https" => Some((trusted()?, ServerName::try_from(host.to_owned())?)),
            _ => None,
        };
        let wrong = |why| Usage(format!("--source-addresses: {why}"));
        let (sources, target) = (sources.to(address).map_err(wrong)?, self.clone());
        let (turn, opened) = Default::default();
        Ok(Route { target, turn, opened, address, tls, sources })
    }
}

/// Trusts the certificates that this machine trusts, or those of `SSL_CERT_FILE`.
fn trusted() -> anyhow::Result<TlsConnector> {
    // A file that is not there would be passed over.
    if let Some(file) = std::env::var_os("SSL_CERT_FILE").map(PathBuf::from) {
        std::fs::File::open(&file)
            .map_err(|error| Usage(format!("SSL_CERT_FILE {}: {error}", file.display())))?;
    }
    let provider = Arc::new(ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions()?.with_platform_verifier()?;
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// The way to a target: its address, from where, and with TLS or without.
pub struct Route {
    /// Where it leads.
    pub target: Target,
    pub(super) turn: AtomicUsize,
    pub(super) opened: AtomicU64,
    pub(super) address: SocketAddr,
    pub(super) tls: Option<(TlsConnector, ServerName<'static>)>,
    pub(super) sources: Sources,
}

impl Route {
    /// How many connections were opened.
    pub fn opened(&self) -> u64 {
        self.opened.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_lack_its_scheme() {
        for (text, url) in [
            ("127.0.0.1:8090", "http://127.0.0.1:8090/"),
            ("localhost:8090", "http://localhost:8090/"),
            ("shop.test", "http://shop.test/"),
            ("https://shop.test/base/", "https://shop.test/base/"),
        ] {
            assert_eq!(address(text).expect(text).as_str(), url);
        }
        let (parts, slips) =
            (["http://me:secret@a", "http://a?b", "http://a#b"], ["http:/a", "http//a"]);
        for wrong in ["", "ftp://a", "a b"].into_iter().chain(parts).chain(slips) {
            assert!(address(wrong).expect_err(wrong).contains("must be an address"), "{wrong}");
        }
        let target = Target::parse("shop.test/base/").expect("an address");
        assert_eq!(target.at("/seats"), "http://shop.test/base/seats");
    }
}
