//! A client that speaks HTTP badly: by hand, on a connection of its own.

use anteroom_testkit::PATIENCE;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use crate::room::Room;

/// A connection, and what replaces `:name` in what it sends.
pub struct Raw(TcpStream, String);

impl Raw {
    /// A connection to the public port.
    pub async fn open(room: &Room) -> Self {
        Self::open_at(room, "public").await
    }

    /// A connection to any port.
    pub async fn open_at(room: &Room, port: &str) -> Self {
        let stream = TcpStream::connect(room.anteroom.admission.address(port)).await;
        Self(stream.expect("a connection"), room.name.clone())
    }

    /// Sends this text as it is, but for the name.
    pub async fn say(mut self, text: &str) -> Self {
        let text = text.replace(":name", &self.1);
        self.0.write_all(text.as_bytes()).await.expect("it is taken");
        self
    }

    /// Half-closes the connection: sends nothing more, and reads on.
    pub async fn end(mut self) -> Self {
        self.0.shutdown().await.expect("it is shut down");
        self
    }

    /// What has come when the head of an answer is complete, or the connection has ended.
    pub async fn head(&mut self) -> String {
        let mut head = Vec::new();
        let whole = |head: &[u8]| head.windows(4).any(|four| four == b"\r\n\r\n");
        let reading = async {
            while !whole(&head) && self.0.read_buf(&mut head).await.is_ok_and(|read| read > 0) {}
        };
        timeout(PATIENCE, reading).await.expect("an answer, or the end");
        String::from_utf8_lossy(&head).into_owned()
    }

    /// All that comes until the connection ends.
    pub async fn rest(&mut self) -> String {
        let mut rest = Vec::new();
        // A reset is an end too.
        let _ = timeout(PATIENCE, self.0.read_to_end(&mut rest)).await.expect("an end");
        String::from_utf8_lossy(&rest).into_owned()
    }
}
