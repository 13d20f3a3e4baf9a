//! Requests byte by byte, in both versions of HTTP: a client would trim or refuse their values.

use anteroom_testkit::PATIENCE;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;

type Headers<'a> = &'a [(&'a str, &'a str)];

/// A connection without TLS.
pub async fn connect(address: &str) -> TcpStream {
    TcpStream::connect(address).await.expect("a connection")
}

/// HTTP/1.1. Returns when the answer has ended.
pub async fn http1(address: &str, path: &str, headers: Headers<'_>) {
    let mut text = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    for (name, value) in headers {
        text += &format!("{name}:{value}\r\n");
    }
    let mut stream = connect(address).await;
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

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Whether a server takes WebSockets over HTTP/2 (RFC 8441). Its first frame says so.
pub async fn takes_websockets(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> bool {
    let hello = [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat();
    stream.write_all(&hello).await.expect("sent");
    let first = async {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await.expect("a frame");
        let mut settings = vec![0; usize::from(u16::from_be_bytes([head[1], head[2]]))];
        stream.read_exact(&mut settings).await.expect("the whole frame");
        settings
    };
    let settings = tokio::time::timeout(PATIENCE, first).await.expect("in time");
    settings.chunks(6).any(|setting| setting == [0, 8, 0, 0, 0, 1])
}

/// HTTP/2 (RFC 9113) on a connection of its own, with headers that may be none. Returns the status
/// when the answer has ended; nothing if the server refuses the request or the connection.
pub async fn http2(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    headers: Headers<'_>,
) -> Option<u16> {
    let mut block = Vec::new();
    for (name, value) in headers {
        // A literal that is not indexed, with its name in full (RFC 7541, 6.2.2).
        block.push(0);
        for text in [name, value] {
            block.extend(length(text.len()));
            block.extend(text.bytes());
        }
    }
    let mut bytes = PREFACE.to_vec();
    bytes.extend(frame(SETTINGS, 0, 0, &[]));
    bytes.extend(frame(HEADERS, END_STREAM | END_HEADERS, 1, &block));
    stream.write_all(&bytes).await.expect("sent");
    let answer = async {
        let mut found = None;
        loop {
            let mut head = [0; 9];
            // An end without an answer is a refusal.
            stream.read_exact(&mut head).await.ok()?;
            let [a, b, c, kind, flags, ..] = head;
            let size = usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c);
            let mut payload = vec![0; size];
            stream.read_exact(&mut payload).await.ok()?;
            if kind == HEADERS && found.is_none() {
                found = Some(status(&payload));
            }
            match kind {
                DATA | HEADERS if flags & END_STREAM != 0 => return found,
                RST_STREAM | GOAWAY => return found,
                _ => {}
            }
        }
    };
    tokio::time::timeout(PATIENCE, answer).await.expect("in time")
}

/// The status, which is the first header of an answer (RFC 7541, 6 and appendix A).
fn status(block: &[u8]) -> u16 {
    const INDEXED: [u16; 7] = [200, 204, 206, 304, 400, 404, 500];
    // Changes of the table's size may come first.
    let at = block.iter().position(|byte| byte >> 5 != 1).expect("a header");
    match block[at..] {
        [first @ 0x88..=0x8e, ..] => INDEXED[usize::from(first - 0x88)],
        [0x08..=0x0e | 0x48..=0x4e, 3, a, b, c, ..] => digits(&[a, b, c]),
        // Digits in Huffman's code (appendix B): 0 to 2 have five bits, the others six.
        [0x08..=0x0e | 0x48..=0x4e, size, ..] if size > 0x80 => {
            let end = at + 2 + usize::from(size - 0x80);
            let bits: Vec<u8> = block[at + 2..end]
                .iter()
                .flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1))
                .collect();
            let number = |bits: &[u8]| bits.iter().fold(0, |sum, bit| sum << 1 | bit);
            let (mut rest, mut text) = (&bits[..], Vec::new());
            while text.len() < 3 {
                let short = number(&rest[..5]);
                let (digit, size) =
                    if short < 3 { (short, 5) } else { (number(&rest[..6]) - 0x16, 6) };
                text.push(b'0' + digit);
                rest = &rest[size..];
            }
            digits(&text)
        }
        _ => panic!("no status: {block:02x?}"),
    }
}

fn digits(text: &[u8]) -> u16 {
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).expect("a number")
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
