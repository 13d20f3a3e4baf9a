//! The callers of the service port, and their permissions.
//!
//! Operators can make all calls. Backends cannot call `/v1/admin`. Viewers can only read. Scopes
//! such as `queues:shop` restrict a key to what they name. The page of the console sends a cookie
//! instead of a key, the proof that its user signed in with one. A key in the request takes
//! precedence. If no keys are configured, the port needs none.

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

/// The parts of a request's head that identify the caller.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'a> {
    pub method: &'a Method,
    pub uri: &'a Uri,
    pub headers: &'a HeaderMap,
    /// The address of the other end of the connection. Only a test calls without it.
    pub peer: Option<IpAddr>,
}

impl<'a> RequestHead<'a> {
    /// The host of the request, with its port. A whole address in the request line takes precedence
    /// over `Host`. `None` if the request has several.
    pub fn host(&self) -> Option<&'a str> {
        if let Some(authority) = self.uri.authority() {
            return Some(Authority::as_str(authority));
        }
        let mut hosts = self.headers.get_all(http::header::HOST).iter();
        let host = hosts.next()?.to_str().ok()?;
        hosts.next().is_none().then_some(host)
    }
}
