//! The admissions as visitors reach them: an address each, and connections that are used again.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use http_body_util::{BodyExt as _, Full};
use hyper::{
    HeaderMap, Request, StatusCode,
    body::Bytes,
    client::conn::http1::{SendRequest, handshake},
};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpStream, time::timeout};

/// A request as it goes out.
pub type Out = Request<Full<Bytes>>;

/// The public ports of some admissions. A clone leads to the same.
#[derive(Clone)]
pub struct Doors {
    doors: Arc<Vec<Mutex<Door>>>,
}

#[derive(Default)]
struct Door {
    /// `host:port`
    address: String,
    idle: Vec<SendRequest<Full<Bytes>>>,
}

impl Doors {
    /// Doors at these addresses (`http://host:port`).
    pub fn new<A: AsRef<str>>(urls: impl IntoIterator<Item = A>) -> Self {
        let door = |url: A| Mutex::new(Door { address: address(url.as_ref()), idle: Vec::new() });
        Self { doors: Arc::new(urls.into_iter().map(door).collect()) }
    }

    /// How many there are.
    pub fn count(&self) -> u8 {
        u8::try_from(self.doors.len()).unwrap_or(u8::MAX)
    }

    /// A door is elsewhere from now on: its admission was restarted.
    pub fn moved(&self, door: u8, url: &str) {
        *self.door(door) = Door { address: address(url), idle: Vec::new() };
    }

    /// Sends a request once, and reads the whole answer.
    ///
    /// # Errors
    /// When none came in time, in words.
    pub async fn send(
        &self,
        door: u8,
        request: Out,
        within: Duration,
    ) -> Result<(StatusCode, HeaderMap, Bytes), String> {
        let exchange = async {
            let (address, mut connection) = self.connection(door).await?;
            let answer = connection.send_request(request).await.map_err(|it| it.to_string())?;
            let (head, body) = answer.into_parts();
            let body = body.collect().await.map_err(|it| it.to_string())?.to_bytes();
            if connection.ready().await.is_ok() {
                let mut door = self.door(door);
                if door.address == address {
                    door.idle.push(connection);
                }
            }
            Ok((head.status, head.headers, body))
        };
        timeout(within, exchange).await.unwrap_or_else(|_| Err("no answer in time".to_owned()))
    }

    async fn connection(&self, door: u8) -> Result<(String, SendRequest<Full<Bytes>>), String> {
        let address = {
            let mut door = self.door(door);
            while let Some(connection) = door.idle.pop() {
                if connection.is_ready() {
                    return Ok((door.address.clone(), connection));
                }
            }
            door.address.clone()
        };
        let stream = TcpStream::connect(&address).await.map_err(|it| it.to_string())?;
        let _ = stream.set_nodelay(true);
        let (connection, driver) =
            handshake(TokioIo::new(stream)).await.map_err(|it| it.to_string())?;
        tokio::spawn(driver);
        Ok((address, connection))
    }

    fn door(&self, door: u8) -> MutexGuard<'_, Door> {
        self.doors[usize::from(door)].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn address(url: &str) -> String {
    url.trim_start_matches("http://").to_owned()
}
