//! Requests byte by byte, in both versions of HTTP: a client would trim or refuse their values.

use anteroom_testkit::PATIENCE;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

type Headers<'a> = &'a [(&'a str, &'a str)];

/// HTTP/1.1. Returns when the answer has ended.
pub async fn http1(address: &str, path: &str, headers: Headers<'_>) {
    let mut text = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    for (name, value) in headers {
        text += &format!("{name}:{value}\r\n");
    }
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(format!("{text}\r\n").as_bytes()).await.expect("sent");
    let mut answer = Vec::new();
    let end = stream.read_to_end(&mut answer);
    tokio::time::timeout(PATIENCE, end).await.expect("in time").expect("an answer");
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// HTTP/2 without TLS (RFC 9113). Returns when the answer has ended.
pub async fn http2(address: &str, path: &str, headers: Headers<'_>) {
    let mut block = Vec::new();
    let own = [(":method", "GET"), (":scheme", "http"), (":authority", address), (":path", path)];
    for (name, value) in own.iter().chain(headers) {
        // A literal that is not indexed, with its name in full (RFC 7541, 6.2.2).
        block.push(0);
        for text in [name, value] {
            block.extend(length(text.len()));
            block.extend(text.bytes());
        }
    }
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(frame(SETTINGS, 0, 0, &[]));
    bytes.extend(frame(HEADERS, END_STREAM | END_HEADERS, 1, &block));
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(&bytes).await.expect("sent");
    let answer = async {
        loop {
            let mut head = [0; 9];
            stream.read_exact(&mut head).await.expect("a frame");
            let [a, b, c, kind, flags, ..] = head;
            let size = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
            stream.read_exact(&mut vec![0; size]).await.expect("what the frame holds");
            match kind {
                DATA | HEADERS if flags & END_STREAM != 0 => break,
                RST_STREAM => break,
                GOAWAY => panic!("the connection is refused"),
                _ => {}
            }
        }
    };
    tokio::time::timeout(PATIENCE, answer).await.expect("in time");
}

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let size = u16::try_from(payload.len()).expect("a small frame").to_be_bytes();
    [&[0, size[0], size[1], kind, flags, 0, 0, 0, stream], payload].concat()
}

/// The length of a text that is not compressed: a prefix of seven bits (RFC 7541, 5.1).
fn length(text: usize) -> Vec<u8> {
    let byte = |number: usize| u8::try_from(number).expect("a byte");
    if text < 127 {
        return vec![byte(text)];
    }
    let (mut rest, mut bytes) = (text - 127, vec![127]);
    while rest >= 128 {
        bytes.push(byte(rest % 128) | 128);
        rest /= 128;
    }
    bytes.push(byte(rest));
    bytes
}
