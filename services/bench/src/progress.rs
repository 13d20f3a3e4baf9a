//! Lines on standard error while it runs.

use std::io::Write as _;

/// Says it.
pub fn say(line: &str) {
    // A closed terminal is no failure: the report has all.
    let _ = writeln!(std::io::stderr(), "{line}");
}
