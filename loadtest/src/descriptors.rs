//! File descriptors: a connection takes one, and a run that is out of them measures itself.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Kept for the program itself: standard streams, the runtime, reports.
const RESERVE: u64 = 100;

/// Raises the limit of this process to what it may be raised to, and returns how many connections
/// it may have open at once.
///
/// # Errors
///
/// When the limits cannot be read.
pub fn connections() -> std::io::Result<usize> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    // What cannot be raised is as it was.
    let limit = setrlimit(Resource::RLIMIT_NOFILE, hard, hard).map_or(soft, |()| hard);
    Ok(usize::try_from(limit.saturating_sub(RESERVE)).unwrap_or(usize::MAX))
}
