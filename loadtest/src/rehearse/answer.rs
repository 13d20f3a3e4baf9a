//! What comes of a request.

use std::fmt;

use hyper::{HeaderMap, body::Bytes};

/// Why there was no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// Nobody took the connection.
    Connect,
    /// The harness has no descriptor left.
    Descriptors,
    /// The connection ended before the answer did.
    Cut,
    /// The visitor gave up.
    Timeout,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "no connection",
            Self::Descriptors => "no descriptor left",
            Self::Cut => "connection cut",
            Self::Timeout => "no answer in time",
        })
    }
}

/// A whole answer.
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}
