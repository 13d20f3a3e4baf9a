//! What a connection can do to exhaust a server. Each ends when the server ends it.

use std::io::Result;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy, sink};
use tokio::net::TcpStream;
use tokio::time::sleep;

const JOIN: &str = "POST /v1/queues/concert/tokens HTTP/1.1\r\nhost: room\r\n\
    content-type: application/json\r\n";
/// Between two drops of a slow client.
const DROP: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug)]
pub enum Attack {
    /// Connects, and says nothing.
    Silence,
    /// A head that comes by drops.
    SlowHead,
    /// A body that comes by drops.
    SlowBody,
    /// Asks for answers and takes none.
    NeverReads,
    /// Asks once, properly, and keeps the connection.
    Idle,
    /// One header without an end.
    HugeHead,
    /// Headers without an end.
    ManyHeaders,
    /// A body far past 16 KiB.
    BigBody,
    /// Chunks without an end.
    EndlessChunks,
    /// Requests, one behind the other, without an end.
    Pipeline,
}

impl Attack {
    pub async fn run(self, mut stream: TcpStream) -> Result<()> {
        match self {
            Self::Silence => ended(stream).await,
            Self::SlowHead => {
                stream
                    .write_all(b"GET /v1/queues/concert HTTP/1.1\r\nhost: room\r\nx-slow: ")
                    .await?;
                drops(stream).await
            }
            Self::SlowBody => {
                let head = format!("{JOIN}content-length: 16000\r\n\r\n");
                stream.write_all(head.as_bytes()).await?;
                drops(stream).await
            }
            Self::NeverReads => {
                let ask = b"GET /openapi.json HTTP/1.1\r\nhost: room\r\n\r\n".repeat(64);
                endless(&mut stream, b"", &ask).await
            }
            Self::Idle => {
                stream.write_all(b"GET /v1/queues/concert HTTP/1.1\r\nhost: room\r\n\r\n").await?;
                ended(stream).await
            }
            Self::HugeHead => {
                flood(stream, b"GET / HTTP/1.1\r\nhost: room\r\nx-huge: ", &[b'x'; 4096]).await
            }
            Self::ManyHeaders => {
                flood(stream, b"GET / HTTP/1.1\r\nhost: room\r\n", &b"x-a: b\r\n".repeat(64)).await
            }
            Self::BigBody => {
                let head = format!("{JOIN}content-length: 100000000\r\n\r\n");
                flood(stream, head.as_bytes(), &[b' '; 4096]).await
            }
            Self::EndlessChunks => {
                let head = format!("{JOIN}transfer-encoding: chunked\r\n\r\n");
                flood(stream, head.as_bytes(), &b"1\r\n \r\n".repeat(64)).await
            }
            Self::Pipeline => {
                let ask = b"GET /v1/queues/concert HTTP/1.1\r\nhost: room\r\n\r\n".repeat(64);
                flood(stream, b"", &ask).await
            }
        }
    }
}

/// Waits for the server to end the connection.
async fn ended(mut stream: TcpStream) -> Result<()> {
    copy(&mut stream, &mut sink()).await.map(drop)
}

/// Goes on by drops until the server has had enough.
async fn drops(stream: TcpStream) -> Result<()> {
    let (mut answers, mut requests) = stream.into_split();
    let mut byte = [0];
    loop {
        tokio::select! {
            _ = answers.read(&mut byte) => return Ok(()),
            () = sleep(DROP) => requests.write_all(b" ").await?,
        }
    }
}

/// As much as the server takes, until it ends the connection; the answers are taken too.
async fn flood(stream: TcpStream, begin: &[u8], more: &[u8]) -> Result<()> {
    let (mut answers, mut requests) = stream.into_split();
    let mut nowhere = sink();
    tokio::select! {
        ended = copy(&mut answers, &mut nowhere) => ended.map(drop),
        sent = endless(&mut requests, begin, more) => sent,
    }
}

async fn endless(
    to: &mut (impl tokio::io::AsyncWrite + Unpin),
    begin: &[u8],
    more: &[u8],
) -> Result<()> {
    to.write_all(begin).await?;
    loop {
        to.write_all(more).await?;
    }
}
