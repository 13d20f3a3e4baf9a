//! Who may call the service port.
//!
//! Operators may do what backends may, and `/v1/admin` is for operators; viewers may read there.
//! Scopes such as `queues:shop` narrow a key to what they name. The page of the console sends a
//! cookie instead of a key, the proof that its user signed in with one. A key in the request takes
//! precedence. Without any configured key the port asks for none.

pub mod caller;
pub mod keys;
pub mod loopback;
pub mod new_key;
pub mod sender;
pub mod session;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use http::uri::Authority;
use http::{HeaderMap, Method, Uri};

/// The head of a request, as far as it shows the caller.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'a> {
    pub method: &'a Method,
    pub uri: &'a Uri,
    pub headers: &'a HeaderMap,
    /// The address of the other end of the connection; only a test calls without one.
    pub peer: Option<IpAddr>,
}

impl<'a> RequestHead<'a> {
    /// The host that the request names, with its port. A whole address in the request line takes
    /// precedence over `Host`. None if several are named.
    pub fn host(&self) -> Option<&'a str> {
        if let Some(authority) = self.uri.authority() {
            return Some(Authority::as_str(authority));
        }
        let mut hosts = self.headers.get_all(http::header::HOST).iter();
        let host = hosts.next()?.to_str().ok()?;
        hosts.next().is_none().then_some(host)
    }
}
