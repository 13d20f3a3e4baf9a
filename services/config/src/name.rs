//! Names of queues, limits, targets, events, pools and keys.

use crate::error::Fault;

/// Whether a name is `[a-z0-9-]{1,40}`.
pub fn is_name(name: &str) -> bool {
    (1..=40).contains(&name.len())
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

/// Refuses a name that breaks that rule.
pub(crate) fn check_name(name: &str, section: &str) -> Result<(), Fault> {
    let rule = "the name must be 1 to 40 characters of a-z, 0-9 and -";
    Fault::unless(is_name(name), &format!("{section}.{name}"), rule)
}
