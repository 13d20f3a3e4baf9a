//! A WebSocket needs a place at its handshake, and is the service's own from then on.

use anteroom_testkit::PATIENCE;
use axum::body::Bytes;
use http::{Method, Request, Response};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper::ext::Protocol;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::timeout;

use crate::program::Program;
use crate::raw;
use crate::shop::GREETING;
use crate::site::{Plan, Site};
use crate::tls::Tls;

/// Asks for a WebSocket, with the key of the standard's example (RFC 6455, 1.3). Returns the head
/// of the answer and the connection.
async fn handshake<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    host: &str,
    connection: &str,
    token: &str,
) -> (String, S) {
    let token = if token.is_empty() { "" } else { &format!("X-Anteroom-Token: {token}\r\n") };
    let request = format!(
        "GET /live HTTP/1.1\r\nHost: {host}\r\nConnection: {connection}\r\n\
         Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{token}\r\n"
    );
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let byte = timeout(PATIENCE, stream.read_u8()).await.expect("an answer in time");
        head.push(byte.expect("the whole head"));
    }
    (String::from_utf8(head).expect("ASCII").to_ascii_lowercase(), stream)
}

pub async fn a_websocket_needs_a_place(program: Program) {
    let site = Site::of(program).await;
    let (passes, waits) = (site.token().await, site.token().await);
    let host = site.url.trim_start_matches("http://");
    let ask = async |connection: &str, token: &str| {
        handshake(raw::connect(host).await, host, connection, token).await
    };
    for (token, status) in [("", 401), (&*waits, 403)] {
        let (head, _) = ask("Upgrade", token).await;
        assert!(head.starts_with(&format!("http/1.1 {status} ")), "{head}");
    }
    assert!(site.shop.arrivals().is_empty());

    // A client names headers of ours as those of its connection, which proxies remove.
    for connection in ["Upgrade", "Upgrade, X-Anteroom-Visitor, X-Anteroom-Place"] {
        let before = site.shop.arrivals().len();
        let (head, stream) = ask(connection, &passes).await;
        if connection != "Upgrade" && !head.starts_with("http/1.1 101 ") {
            assert_eq!(site.shop.arrivals().len(), before, "{head}");
            continue;
        }
        assert!(head.starts_with("http/1.1 101 "), "{head}");
        assert!(head.contains("\r\nsec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="), "{head}");
        let arrival = site.shop.last();
        assert_eq!(arrival.header("x-anteroom-visitor"), ["1"]);
        assert!(arrival.header("x-anteroom-token").is_empty());
        assert!(arrival.place().len() > 20);
        // A proxy behind would remove what is named there.
        assert_eq!(arrival.header("connection").concat().to_ascii_lowercase(), "upgrade");

        carries(stream).await;
    }
}

/// The service is the first to speak. Then each byte goes there and comes back.
async fn carries(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let mut greeting = [0; GREETING.len()];
    timeout(PATIENCE, stream.read_exact(&mut greeting)).await.expect("in time").expect("whole");
    assert_eq!(greeting, GREETING.as_bytes());
    let sent: Vec<u8> = (0..=u8::MAX).cycle().take(300_000).collect();
    let mut returned = vec![0; sent.len()];
    let (mut reads, mut writes) = tokio::io::split(stream);
    let both = async {
        let sends = async {
            writes.write_all(&sent).await?;
            writes.flush().await
        };
        tokio::try_join!(sends, reads.read_exact(&mut returned))
    };
    timeout(PATIENCE, both).await.expect("in time").expect("both ways");
    assert!(returned == sent, "the bytes came back changed");
}

/// As a browser does: over HTTP/2 if the gateway offers that, and over HTTP/1.1 otherwise.
pub async fn a_websocket_over_tls_needs_a_place(program: Program) {
    let site = Site::of(Plan::over_tls(program)).await;
    let (passes, waits) = (site.token().await, site.token().await);
    let tls = site.tls.as_ref().expect("TLS");
    let over_http2 = raw::takes_websockets(tls.connect().await.expect("TLS")).await;
    let host = site.origin.trim_start_matches("https://");
    for (token, status) in [("", 401), (&*waits, 403), (&*passes, 200)] {
        let stream: Option<Box<dyn Stream>> = if over_http2 {
            let answer = connect(tls, &format!("{}/live", site.origin), token).await;
            assert_eq!(answer.status(), status, "{answer:?}");
            let upgrade = async || hyper::upgrade::on(answer).await.expect("a WebSocket");
            if status == 200 { Some(Box::new(TokioIo::new(upgrade().await))) } else { None }
        } else {
            let stream = tls.connect_http1().await.expect("TLS");
            let (head, stream) = handshake(stream, host, "Upgrade", token).await;
            let status = if status == 200 { 101 } else { status };
            assert!(head.starts_with(&format!("http/1.1 {status} ")), "{head}");
            if status == 101 { Some(Box::new(stream)) } else { None }
        };
        assert_eq!(site.shop.arrivals().len(), usize::from(stream.is_some()));
        if let Some(stream) = stream {
            let arrival = site.shop.last();
            assert_eq!(arrival.header("x-anteroom-visitor"), ["1"]);
            assert!(!format!("{:?}", arrival.headers).contains("art1."), "{arrival:?}");
            carries(stream).await;
        }
    }
}

trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl<T: AsyncRead + AsyncWrite + Unpin> Stream for T {}

/// Asks for a WebSocket over HTTP/2 (RFC 8441).
async fn connect(tls: &Tls, url: &str, token: &str) -> Response<Incoming> {
    let stream = TokioIo::new(tls.connect().await.expect("TLS"));
    let handshake = http2::handshake(TokioExecutor::new(), stream).await;
    let (mut gateway, connection) = handshake.expect("HTTP/2");
    tokio::spawn(connection);
    let request = Request::builder().method(Method::CONNECT).uri(url);
    let request = request.extension(Protocol::from_static("websocket"));
    let mut request = request.header("sec-websocket-version", "13");
    if !token.is_empty() {
        request = request.header("x-anteroom-token", token);
    }
    let request = request.body(Empty::<Bytes>::new()).expect("a request");
    let answer = timeout(PATIENCE, gateway.send_request(request)).await;
    answer.expect("an answer in time").expect("an answer")
}
