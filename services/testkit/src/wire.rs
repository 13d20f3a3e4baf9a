//! A connection by hand, for what an HTTP client would not do.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use crate::PATIENCE;

/// A connection, and what came on it and was not read yet.
pub struct Wire {
    stream: TcpStream,
    text: String,
}

impl Wire {
    /// A connection to the host of an address.
    ///
    /// # Panics
    /// When nothing listens.
    pub async fn connect(url: &str) -> Self {
        Self::try_connect(url).await.expect("a connection")
    }

    /// Nothing when nothing listens.
    pub async fn try_connect(url: &str) -> Option<Self> {
        let stream = TcpStream::connect(host(url)).await.ok()?;
        Some(Self { stream, text: String::new() })
    }

    /// Whether something listens.
    pub async fn is_open(url: &str) -> bool {
        Self::try_connect(url).await.is_some()
    }

    /// Sends a text as it is.
    ///
    /// # Panics
    /// When the other side has closed.
    pub async fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.expect("sent");
    }

    /// Reads until `needle` has come; returns everything from the last call on, up to its end.
    ///
    /// # Panics
    /// When the end comes first, or nothing for [`PATIENCE`].
    pub async fn read(&mut self, needle: &str) -> String {
        let read = self.try_read(needle).await;
        read.unwrap_or_else(|| panic!("the end came before {needle:?}: {}", self.text))
    }

    /// As [`Self::read`]; nothing when the end comes first.
    ///
    /// # Panics
    /// When nothing comes for [`PATIENCE`].
    pub async fn try_read(&mut self, needle: &str) -> Option<String> {
        loop {
            if let Some(at) = self.text.find(needle) {
                let rest = self.text.split_off(at + needle.len());
                return Some(std::mem::replace(&mut self.text, rest));
            }
            if !self.more().await {
                return None;
            }
        }
    }

    /// Reads until the other side closes, orderly or not; returns what was still to come.
    pub async fn end(mut self) -> String {
        while self.more().await {}
        self.text
    }

    async fn more(&mut self) -> bool {
        let mut bytes = [0; 4_096];
        let read = timeout(PATIENCE, self.stream.read(&mut bytes)).await;
        let count = read.unwrap_or_else(|_| panic!("nothing comes after {:?}", self.text));
        let count = count.unwrap_or(0);
        self.text.push_str(std::str::from_utf8(&bytes[..count]).expect("ASCII"));
        count > 0
    }
}

fn host(url: &str) -> &str {
    url.trim_start_matches("http://")
}
