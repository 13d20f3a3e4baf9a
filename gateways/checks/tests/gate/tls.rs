//! HTTP/2 with TLS, as browsers connect to a gateway: the cases of the other files over such a
//! connection.

use std::io;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

use anteroom_gateways_checks::tls::BOTH;
use anteroom_testkit::Certificates;
use http::header::{CONNECTION, COOKIE, Entry, HOST, TRANSFER_ENCODING};
use http::{Request, Response, Uri, Version};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::program::Program;
use crate::site::Plan;
use crate::{arrives, attacks, nginx};

/// What a browser offers (ALPN), in this order.
const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// The certificate of a gateway, and what speaks HTTP/2 with TLS for the clients of the tests: they
/// send HTTP/1.1 without TLS to `url`. Each connection becomes one to the gateway.
pub struct Tls {
    folder: TempDir,
    url: String,
    port: u16,
    way: Way,
    task: JoinHandle<()>,
}

/// How to connect to the gateway.
#[derive(Clone)]
struct Way {
    config: Arc<ClientConfig>,
    gate: u16,
}

impl Tls {
    /// For a gateway that serves on this port, now or later.
    pub async fn start(gate: u16) -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let way = Way { config: Arc::new(certify(folder.path())), gate };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let url = format!("http://127.0.0.1:{port}");
        let task = tokio::spawn(pass_on(listener, way.clone()));
        Self { folder, url, port, way, task }
    }

    /// Where the certificate is.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn url(&self) -> &String {
        &self.url
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// A connection to the gateway on which both have agreed on HTTP/2.
    pub async fn connect(&self) -> io::Result<TlsStream<TcpStream>> {
        self.way.connect().await
    }

    /// One of a client that offers HTTP/1.1 only, as browsers do for a WebSocket.
    pub async fn connect_http1(&self) -> io::Result<TlsStream<TcpStream>> {
        let mut config = (*self.way.config).clone();
        config.alpn_protocols = vec![HTTP1.to_vec()];
        Way { config: Arc::new(config), ..self.way }.agree(HTTP1).await
    }
}

impl Drop for Tls {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Way {
    async fn connect(&self) -> io::Result<TlsStream<TcpStream>> {
        self.agree(HTTP2).await
    }

    async fn agree(&self, version: &[u8]) -> io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.gate)).await?;
        let name = ServerName::from(Ipv4Addr::LOCALHOST);
        let stream = TlsConnector::from(self.config.clone()).connect(name, stream).await?;
        let (_, agreed) = stream.get_ref();
        let agreed = agreed.alpn_protocol().map(String::from_utf8_lossy);
        assert_eq!(agreed, Some(String::from_utf8_lossy(version)), "the version of HTTP");
        Ok(stream)
    }
}

/// Writes a certificate for a gateway. Returns how a client that trusts it connects.
fn certify(folder: &Path) -> ClientConfig {
    Certificates::new().write(folder);
    let text = |name| std::fs::read_to_string(folder.join(name)).expect("a file");
    let both = text(Certificates::SERVER) + &text(Certificates::KEY);
    std::fs::write(folder.join(BOTH), both).expect("written");
    let ca = CertificateDer::from_pem_file(folder.join(Certificates::CA));
    let mut roots = RootCertStore::empty();
    roots.add(ca.expect("a certificate")).expect("an authority");
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().expect("versions");
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec()];
    config
}

async fn pass_on(listener: TcpListener, way: Way) {
    let mut connections = JoinSet::new();
    loop {
        let (client, _) = listener.accept().await.expect("a connection");
        // Without a gateway the client sees the end of its connection.
        let Ok(stream) = way.connect().await else { continue };
        connections.spawn(async move {
            let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
            let Ok((gateway, connection)) = handshake.await else { return };
            tokio::spawn(connection);
            let service = service_fn(|request| send(gateway.clone(), way.gate, request));
            let mut server = http1::Builder::new();
            // An end of either side is one for the other.
            let _ = server.max_headers(200).serve_connection(TokioIo::new(client), service).await;
        });
    }
}

/// Sends one request over HTTP/2, where the host is in its address and each cookie in a field of
/// its own.
async fn send(
    mut gateway: http2::SendRequest<Incoming>,
    gate: u16,
    mut request: Request<Incoming>,
) -> hyper::Result<Response<Incoming>> {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let uri: Uri = format!("https://127.0.0.1:{gate}{path}").parse().expect("an address");
    *request.uri_mut() = uri;
    *request.version_mut() = Version::HTTP_2;
    for of_http1 in [HOST, CONNECTION, TRANSFER_ENCODING] {
        request.headers_mut().remove(of_http1);
    }
    // As browsers do (RFC 9113, 8.2.3).
    if let Entry::Occupied(cookies) = request.headers_mut().entry(COOKIE) {
        let (_, lines) = cookies.remove_entry_mult();
        for line in lines.collect::<Vec<_>>() {
            for cookie in line.to_str().expect("ASCII").split("; ") {
                let cookie = cookie.parse().expect("a part of a header");
                request.headers_mut().append(COOKIE, cookie);
            }
        }
    }
    let mut response = gateway.send_request(request).await?;
    assert_eq!(response.version(), Version::HTTP_2);
    *response.version_mut() = Version::HTTP_11;
    Ok(response)
}

pub async fn promise_06_no_visitor_passes_before_its_turn(program: Program) {
    nginx::promise_06_without_a_place_no_visitor_passes(Plan::over_tls(program)).await;
    let waits = nginx::a_visitor_waits_and_passes_when_the_service_finishes_another;
    waits(Plan::over_tls(program)).await;
}

pub async fn the_service_gets_the_request_and_our_headers(program: Program) {
    nginx::get_post_and_options_pass_with_a_place(Plan::over_tls(program)).await;
    nginx::the_service_sees_our_headers_and_never_a_client_s(Plan::over_tls(program)).await;
}

pub async fn promise_6_a_token_in_any_cookie_passes_and_stays_here(program: Program) {
    arrives::promise_6_a_visitor_s_token_never_reaches_the_service(Plan::over_tls(program)).await;
    arrives::promise_4_a_place_is_found_in_each_cookie_line(Plan::over_tls(program)).await;
}

pub async fn no_attack_over_http2_with_tls_passes(program: Program) {
    attacks::no_attack_over_http2(Plan::over_tls(program)).await;
}
