//! As much of HTTP/1.1 as the load generator needs.

use anyhow::{Context as _, ensure};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// No answer has more.
const MOST_HEADERS: usize = 32;

/// The head of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its status.
    pub status: u16,
    /// Where the body begins.
    pub body: usize,
    /// Length of the whole answer, when the head has it.
    pub whole: Option<usize>,
    /// Whether the connection ends with it.
    pub closes: bool,
}

impl Head {
    /// Reads the head once it is complete.
    pub fn parse(bytes: &[u8]) -> anyhow::Result<Option<Self>> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut answer = httparse::Response::new(&mut headers);
        let end = match answer.parse(bytes)? {
            httparse::Status::Complete(end) => end,
            httparse::Status::Partial => return Ok(None),
        };
        let status = answer.code.context("no status")?;
        let mut whole = (status == 204).then_some(end);
        let mut closes = false;
        for header in answer.headers {
            let is_connection = header.name.eq_ignore_ascii_case("connection");
            closes |= is_connection && header.value.eq_ignore_ascii_case(b"close");
            if header.name.eq_ignore_ascii_case("content-length") {
                let length: usize = std::str::from_utf8(header.value)?.parse()?;
                whole = Some(end + length);
            }
        }
        Ok(Some(Self { status, body: end, whole, closes }))
    }
}

/// Sends a request on a connection that stays open; status and body of the answer.
pub async fn exchange(stream: &mut TcpStream, request: &[u8]) -> anyhow::Result<(u16, Vec<u8>)> {
    stream.write_all(request).await?;
    let mut answer = Vec::with_capacity(1024);
    loop {
        if let Some(head) = Head::parse(&answer)? {
            let whole = head.whole.context("an answer of unknown length")?;
            if answer.len() >= whole {
                let body = answer.split_off(head.body);
                return Ok((head.status, body));
            }
        }
        let read = stream.read_buf(&mut answer).await?;
        ensure!(read > 0, "the connection was closed after {} bytes of an answer", answer.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_head_and_body_are() {
        let whole = b"HTTP/1.1 201 Created\r\nContent-Length: 5\r\nx: y\r\n\r\nhello";
        let head =
            Head { status: 201, body: whole.len() - 5, whole: Some(whole.len()), closes: false };
        for end in 0..whole.len() {
            let parsed = Head::parse(&whole[..end]).expect("well-formed");
            assert_eq!(parsed, (end >= whole.len() - 5).then_some(head), "{end}");
        }
        let none = b"HTTP/1.1 204 No Content\r\n\r\n";
        let head = Head { status: 204, body: none.len(), whole: Some(none.len()), closes: false };
        assert_eq!(Head::parse(none).expect("well-formed"), Some(head));
        let chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nConnection: close\r\n\r\n";
        let head = Head { status: 200, body: chunked.len(), whole: None, closes: true };
        assert_eq!(Head::parse(chunked).expect("well-formed"), Some(head));
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for bad in [
            "FTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n",
        ] {
            assert!(Head::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
