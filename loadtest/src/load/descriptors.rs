//! File descriptors: each user has a connection of its own, and each connection takes one.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::progress::say;

/// What the program needs besides connections.
const BESIDES: u64 = 100;

/// Raises the soft limit on open files to the hard one; returns how many connections it allows.
pub fn raise() -> u64 {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return 1024 - BESIDES };
    let raised = setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok();
    (if raised { hard } else { soft }).saturating_sub(BESIDES)
}

/// Says what to raise where this many connections at once are not allowed.
pub fn check(connections: u64) {
    let allowed = raise();
    if connections > allowed {
        say(&format!(
            "{connections} users need as many file descriptors, and {allowed} are allowed: \
             raise the limit, such as with `ulimit -n {}`, or some will find no connection",
            connections + BESIDES
        ));
    }
}
