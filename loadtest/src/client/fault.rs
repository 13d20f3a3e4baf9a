//! What can go wrong with a request, by kind.

use std::io;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why a request failed, as reports name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The service accepted no connection.
    #[error("no connection")]
    Connect,
    /// No complete answer in time.
    #[error("timeout")]
    Timeout,
    /// The connection ended before the complete answer was there.
    #[error("connection broken")]
    Broken,
    /// A status that the step does not expect.
    #[error("unexpected status")]
    Status,
    /// The visit retried as often as the step allows.
    #[error("retries used up")]
    Retries,
    /// A value was not in the answer, or cannot be used in the place where the scenario puts it.
    #[error("value missing")]
    Value,
    /// This process had no file descriptor left.
    #[error("no file descriptor left here")]
    Descriptors,
    /// No local port was left for a connection to this address.
    #[error("no local port left here")]
    Ports,
    /// The kernel had no memory for a connection.
    #[error("no memory left here")]
    Memory,
}

impl Fault {
    /// Whether this machine caused it. The service had no request then.
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
