//! How a run ends, for whoever called it: 0 held, 1 an objective was missed, 64 it was called
//! wrongly, 70 it could not be done.

/// An objective was missed.
pub const MISSED: u8 = 1;
/// An argument or a file is wrong (`EX_USAGE`).
pub const USAGE: u8 = 64;
/// The run could not be done, such as when nobody answers at the target (`EX_SOFTWARE`).
pub const FAILED: u8 = 70;

/// What came of a run that could be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything that was asked for held.
    Held,
    /// An objective was missed.
    Missed,
}

/// A mistake of whoever called: which argument or file, which line, which rule.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);
