//! What can go wrong with a request, by kind.

use serde::Serialize;

use crate::scenario::Failure;

/// Why a request brought nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// No connection.
    Connect,
    /// This process has no file descriptor left: the load is at fault, not the service.
    Descriptors,
    /// No whole answer in time.
    Timeout,
    /// The connection ended before the whole answer was there.
    Broken,
    /// A status that the step does not expect.
    Status,
    /// Tried again as often as the step allows.
    Retries,
    /// A value was not in the answer, or cannot stand where it is used.
    Value,
}

impl Fault {
    /// What reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connect => "no connection",
            Self::Descriptors => "out of file descriptors here",
            Self::Timeout => "timeout",
            Self::Broken => "connection broken",
            Self::Status => "unexpected status",
            Self::Retries => "retries used up",
            Self::Value => "value missing",
        }
    }

    /// What an error of a connection means: `otherwise`, unless descriptors have run out.
    pub(super) fn of(error: &(dyn std::error::Error + 'static), otherwise: Self) -> Self {
        let mut cause = Some(error);
        while let Some(error) = cause {
            let system = error.downcast_ref::<std::io::Error>().and_then(|io| io.raw_os_error());
            if let Some(nix::libc::EMFILE | nix::libc::ENFILE) = system {
                return Self::Descriptors;
            }
            cause = error.source();
        }
        otherwise
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
