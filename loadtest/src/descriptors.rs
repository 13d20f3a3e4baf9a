//! File descriptors: each user has a connection of its own, each connection takes one, and a run
//! that is out of them measures itself.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::progress::say;

/// Kept for the program itself: standard streams, the runtime, reports.
const RESERVE: u64 = 100;

/// Raises the limit of this process to what it may be raised to, and returns how many connections
/// it may have open at once.
///
/// # Errors
///
/// When the limits cannot be read.
pub fn connections() -> std::io::Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    // What cannot be raised is as it was.
    let limit = setrlimit(Resource::RLIMIT_NOFILE, hard, hard).map_or(soft, |()| hard);
    Ok(limit.saturating_sub(RESERVE))
}

/// Says what to raise where so many connections at once are not allowed.
///
/// # Errors
///
/// When the limits cannot be read.
pub fn check(connections: u64) -> std::io::Result<()> {
    let allowed = self::connections()?;
    if connections > allowed {
        say(&format!(
            "{connections} users need as many file descriptors, and {allowed} are allowed: raise \
             the limit, such as with `ulimit -n {}`, or some will find no connection",
            connections + RESERVE
        ));
    }
    Ok(())
}
