//! A WebSocket needs a place at its handshake, and is the service's own from then on.

use anteroom_testkit::PATIENCE;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::program::Program;
use crate::shop::GREETING;
use crate::site::Site;

/// Asks for a WebSocket, with the key of the standard's example (RFC 6455, 1.3). Returns the head
/// of the answer and the connection.
async fn handshake(site: &Site, connection: &str, token: &str) -> (String, TcpStream) {
    let host = site.url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).await.expect("a connection");
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
    for (token, status) in [("", 401), (&waits, 403)] {
        let (head, _) = handshake(&site, "Upgrade", token).await;
        assert!(head.starts_with(&format!("http/1.1 {status} ")), "{head}");
    }
    assert!(site.shop.arrivals().is_empty());

    // A client names headers of ours as those of its connection, which proxies remove.
    for connection in ["Upgrade", "Upgrade, X-Anteroom-Visitor, X-Anteroom-Place"] {
        let before = site.shop.arrivals().len();
        let (head, mut stream) = handshake(&site, connection, &passes).await;
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

        // The service is the first to speak. Then each byte goes there and comes back.
        let mut greeting = [0; GREETING.len()];
        timeout(PATIENCE, stream.read_exact(&mut greeting)).await.expect("in time").expect("whole");
        assert_eq!(greeting, GREETING.as_bytes());
        let sent: Vec<u8> = (0..=u8::MAX).cycle().take(300_000).collect();
        let mut returned = vec![0; sent.len()];
        let (mut reads, mut writes) = stream.split();
        let both =
            async { tokio::try_join!(writes.write_all(&sent), reads.read_exact(&mut returned)) };
        timeout(PATIENCE, both).await.expect("in time").expect("both ways");
        assert!(returned == sent, "the bytes came back changed");
    }
}
