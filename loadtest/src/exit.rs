//! How a command ends.

use crate::own_limit::OwnLimit;

/// An objective was missed, or no plan was found.
pub const MISSED: u8 = 1;
/// An argument or a file is wrong (`EX_USAGE`).
pub const USAGE: u8 = 64;
/// The run could not be done, such as when the target does not answer (`EX_SOFTWARE`).
pub const FAILED: u8 = 70;
/// This program, or its machine, was the limit: the run says nothing of the service
/// (`EX_TEMPFAIL`).
pub const OWN_LIMIT: u8 = 75;

/// The result of a run that could be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All objectives were met.
    Held,
    /// An objective was missed.
    Missed,
}

/// A mistake in the call: which argument or file, which line, which rule.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// The exit code of an error.
pub fn code(error: &anyhow::Error) -> u8 {
    if error.is::<Usage>() {
        USAGE
    } else if error.is::<OwnLimit>() {
        OWN_LIMIT
    } else {
        FAILED
    }
}
