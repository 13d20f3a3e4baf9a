//! What can go wrong with a request, by kind.

use std::fmt;
use std::io;

use serde::{Deserialize, Serialize};

use crate::scenario::Failure;

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The service accepted no connection.
    Connect,
    /// No complete answer in time.
    Timeout,
    /// The connection ended before the complete answer was there.
    Broken,
    /// A status that the step does not expect.
    Status,
    /// The visit retried as often as the step allows.
    Retries,
    /// A value was not in the answer, or cannot be used in the place where the scenario puts it.
    Value,
    /// This process had no file descriptor left.
    Descriptors,
    /// No local port was left for a connection to this address.
    Ports,
    /// The kernel had no memory for a connection.
    Memory,
}

impl Fault {
    /// Whether this machine caused it. The service was not asked then.
    pub fn is_own(self) -> bool {
        matches!(self, Self::Descriptors | Self::Ports | Self::Memory)
    }

    /// What a failed attempt to connect means.
    pub(super) fn of_connect(error: &io::Error) -> Self {
        use nix::libc::{EADDRINUSE, EADDRNOTAVAIL, EMFILE, ENFILE, ENOBUFS, ENOMEM};
        match error.raw_os_error() {
            Some(EMFILE | ENFILE) => Self::Descriptors,
            Some(EADDRNOTAVAIL | EADDRINUSE) => Self::Ports,
            Some(ENOMEM | ENOBUFS) => Self::Memory,
            _ => Self::Connect,
        }
    }
}

/// As reports name it.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "no connection",
            Self::Timeout => "timeout",
            Self::Broken => "connection broken",
            Self::Status => "unexpected status",
            Self::Retries => "retries used up",
            Self::Value => "value missing",
            Self::Descriptors => "no file descriptor left here",
            Self::Ports => "no local port left here",
            Self::Memory => "no memory left here",
        })
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Status => Self::Status,
            Failure::Retries => Self::Retries,
            Failure::Value => Self::Value,
        }
    }
}
