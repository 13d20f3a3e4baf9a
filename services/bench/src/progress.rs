//! Lines on standard error while it runs.

use std::io::Write as _;

/// Says it.
pub fn say(line: &str) {
    // When nobody reads, the report still tells.
    let _ = writeln!(std::io::stderr(), "{line}");
}
